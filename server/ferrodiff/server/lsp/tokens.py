"""Semantic tokens inside annotations, and nowhere else: ordinary Rust is rust-analyzer's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.local import functions_near
from ferrodiff.analysis.model import Annotation
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import span_of

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

_MACRO, _FUNCTION, _NUMBER, _MEMBER = range(4)
_DECLARATION = 1


def tokens_of(annotation: Annotation) -> Iterator[tuple[Span, int, int]]:
    """Span, index of the type and modifiers of every word of an annotation, in order."""
    found: list[tuple[Span, int, int]] = [(annotation.path_span, _MACRO, 0)]
    if annotation.name_span is not None:
        found.append((annotation.name_span, _FUNCTION, _DECLARATION))
    if annotation.mode_span is not None:
        found.append((annotation.mode_span, _MEMBER, 0))
    if annotation.width_span is not None:
        found.append((annotation.width_span, _NUMBER, 0))
    found += [(item.span, _MEMBER, 0) for item in annotation.arguments if item.activity is not None]
    yield from sorted(found)


def encoded(analysis: FileAnalysis, within: Span, encoding: str) -> list[int]:
    """The protocol's five numbers per token, relative to the token before."""
    spans = [
        token
        for function in functions_near(analysis, within)
        for annotation in function.annotations
        if annotation.span.start <= within.end and annotation.span.end >= within.start
        for token in tokens_of(annotation)
    ]
    data: list[int] = []
    line = character = 0
    for span, kind, modifiers in sorted(set(spans)):
        placed = _placed(analysis.source, span, encoding)
        if placed is None:
            continue
        at_line, at_character, length = placed
        same = at_line == line
        data += [at_line - line, at_character - (character if same else 0), length, kind, modifiers]
        line, character = at_line, at_character
    return data


def _placed(source: SourceText, span: Span, encoding: str) -> tuple[int, int, int] | None:
    """Line, column and length; None for a token over several lines, which most clients cannot show."""
    start, end = source.position(span.start, encoding), source.position(span.end, encoding)
    return (start[0], start[1], end[1] - start[1]) if start[0] == end[0] and end[1] > start[1] else None


def full(server: FerrodiffServer, params: t.SemanticTokensParams) -> t.SemanticTokens | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    return t.SemanticTokens(data=encoded(opened.analysis, opened.source.span, server.encoding))


def ranged(server: FerrodiffServer, params: t.SemanticTokensRangeParams) -> t.SemanticTokens | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    within = span_of(opened.source, params.range, server.encoding)
    return t.SemanticTokens(data=encoded(opened.analysis, within, server.encoding))
