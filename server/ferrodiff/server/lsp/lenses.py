"""Code lenses above annotations. Their commands run in the server, so every client can use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrodiff.analysis.model import Annotation, Mode
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import range_of
from ferrodiff.server.lsp.index import derivatives_of
from ferrodiff.server.lsp.names import CHECK, RUN, SHOW_IR, SHOW_TAPE
from ferrodiff.server.lsp.results import Record, is_fresh

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer


def titles(annotation: Annotation, records: list[Record]) -> list[tuple[str, str]]:
    """Title and command of an annotation's lenses; a fresh check's verdict stands in its title."""
    verdicts = {record.kind: record for record in records}
    check = verdicts.get("check")
    mark = "" if check is None else " ✓" if check.ok else " ✗"
    result = [
        (f"▶ Run {annotation.name}", RUN),
        (f"Check gradient{mark}", CHECK),
        ("Show IR", SHOW_IR),
    ]
    if annotation.mode is Mode.REVERSE:
        result.append(("Show tape", SHOW_TAPE))
    return result


def lenses(server: FerrodiffServer, params: t.CodeLensParams) -> list[t.CodeLens]:
    opened = server.documents.get(params.text_document.uri)
    if opened is None or not server.settings.lens_enable:
        return []
    result = []
    for derivative in derivatives_of(opened.uri, opened.analysis):
        fresh = [
            record
            for record in server.results.last(opened.uri, derivative.name)
            if is_fresh(record, opened.source, derivative.function)
        ]
        place = range_of(opened.source, derivative.annotation.span, server.encoding)
        place.end = t.Position(place.start.line, place.start.character)
        argument = {"uri": opened.uri, "derivative": derivative.name}
        result += [
            t.CodeLens(place, t.Command(title=title, command=command, arguments=[argument]))
            for title, command in titles(derivative.annotation, fresh)
        ]
    return result
