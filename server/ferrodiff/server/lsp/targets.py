"""Which derivative a caret means, across the workspace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.mentions import Mention
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp.convert import path_of, same_uri, uri_of
from ferrodiff.server.lsp.index import Derivative, mentioning_files
from ferrodiff.server.lsp.places import Part, mentions_in, place_at

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer
    from ferrodiff.server.lsp.documents import OpenDocument

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Target:
    """What the caret is on: a derivative's name, and every derivative it may mean."""

    span: Span
    derivatives: tuple[Derivative, ...]
    mention: Mention | None
    """The use under the caret; None in the annotation itself."""

    @property
    def name(self) -> str:
        return self.derivatives[0].name


def word_at(source: SourceText, offset: int) -> tuple[str, Span] | None:
    """The identifier that a caret stands in or touches."""
    line = source.line_span(source.line_of(offset))
    text = source.slice(line)
    at = len(source.slice(Span(line.start, min(max(offset, line.start), line.end))))
    for match in _WORD.finditer(text):
        if match.start() <= at <= match.end():
            start = line.start + len(text[: match.start()].encode("utf-8", "surrogatepass"))
            return match.group(), Span(start, start + len(match.group().encode("utf-8", "surrogatepass")))
    return None


def target_at(server: FerrodiffServer, opened: OpenDocument, offset: int) -> Target | None:
    """The derivative under the caret, in an annotation or where it is used."""
    place = place_at(opened.analysis, offset)
    if place is not None and place.annotation is not None:
        if place.part is not Part.NAME or not place.annotation.name:
            return None
        derivative = Derivative(opened.uri, opened.source, place.function, place.annotation)
        return Target(place.span, (derivative,), None)
    word = word_at(opened.source, offset)
    if word is None:
        return None
    derivatives = server.derivatives_named(word[0], opened.uri)
    if not derivatives:
        return None
    for mention in document_mentions(opened, word[0]):
        if mention.span.touches(offset):
            return Target(mention.span, tuple(derivatives), mention)
    return None


def document_mentions(opened: OpenDocument, name: str) -> tuple[Mention, ...]:
    """Uses of one name in an open file, found once per text."""
    key = f"mentions:{name}"
    known = opened.memo.get(key)
    if isinstance(known, tuple):
        return known
    found = mentions_in(opened.analysis, [name])
    opened.memo[key] = found
    return found


def files_mentioning(server: FerrodiffServer, names: Iterable[str]) -> Iterator[tuple[str, FileAnalysis]]:
    """Open files, then closed ones of the workspace, whose text has one of the names in it."""
    wanted = list(names)
    opened = {same_uri(document.uri) for document in server.documents}
    for document in server.documents:
        if any(name in document.source.text for name in wanted):
            yield document.uri, document.analysis
    folders: list[Path] = list(server.index.folders)
    for path, source in mentioning_files(folders, wanted, server.settings.index_files):
        uri = uri_of(path)
        if same_uri(uri) not in opened:
            yield uri, analyse(source.text)


def declares_same(derivative: Derivative, other: Derivative) -> bool:
    return (
        same_uri(derivative.uri) == same_uri(other.uri)
        and derivative.annotation.span == other.annotation.span
    )


def file_name(uri: str) -> str:
    path = path_of(uri)
    return path.name if path is not None else uri.rsplit("/", 1)[-1]
