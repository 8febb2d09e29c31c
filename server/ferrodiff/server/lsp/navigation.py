"""Definition, references and highlights of derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrodiff.analysis.local import derivatives_called
from ferrodiff.analysis.text import Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import offset_at, range_of
from ferrodiff.server.lsp.places import Part, Place, mentions_in, parameter_of, place_at
from ferrodiff.server.lsp.targets import Target, document_mentions, files_mentioning, target_at

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer


def meant_by(place: Place) -> Span | None:
    """What a part leads to: an activity to its parameter or return type, the rest to the function."""
    if place.annotation is None:
        return None
    if place.part is Part.ACTIVITY and place.index is not None:
        parameter = parameter_of(place.function, place.index)
        return parameter.span if parameter is not None else place.function.return_span
    return place.function.name_span if place.part in (Part.MACRO, Part.NAME) else None


def definition(server: FerrodiffServer, params: t.DefinitionParams) -> list[t.Location] | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    offset = offset_at(opened.source, params.position, server.encoding)
    place = place_at(opened.analysis, offset)
    if place is not None and place.annotation is not None:
        span = meant_by(place)
        return [t.Location(opened.uri, range_of(opened.source, span, server.encoding))] if span else None
    target = target_at(server, opened, offset)
    if target is None:
        return None
    return [
        t.Location(d.uri, range_of(d.source, d.annotation.name_span or d.annotation.span, server.encoding))
        for d in target.derivatives
    ]


def uses(server: FerrodiffServer, target: Target) -> list[tuple[str, t.Range]]:
    """Every use of a derivative in the workspace, without its annotations."""
    return [
        (uri, range_of(analysis.source, mention.span, server.encoding))
        for uri, analysis in files_mentioning(server, [target.name])
        for mention in mentions_in(analysis, [target.name])
    ]


def declarations(server: FerrodiffServer, target: Target) -> list[tuple[str, t.Range]]:
    """The names in the annotations that make it."""
    return [
        (d.uri, range_of(d.source, d.annotation.name_span, server.encoding))
        for d in target.derivatives
        if d.annotation.name_span is not None
    ]


def references(server: FerrodiffServer, params: t.ReferenceParams) -> list[t.Location] | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    target = target_at(server, opened, offset_at(opened.source, params.position, server.encoding))
    if target is None:
        return None
    found = declarations(server, target) if params.context.include_declaration else []
    return [t.Location(uri, range_) for uri, range_ in [*found, *uses(server, target)]]


def highlight(server: FerrodiffServer, params: t.DocumentHighlightParams) -> list[t.DocumentHighlight] | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    offset = offset_at(opened.source, params.position, server.encoding)

    def mark(span: Span, kind: t.DocumentHighlightKind) -> t.DocumentHighlight:
        return t.DocumentHighlight(range_of(opened.source, span, server.encoding), kind)

    place = place_at(opened.analysis, offset)
    if place is not None and place.part is Part.ACTIVITY:
        meant = meant_by(place)
        marks = [mark(place.span, t.DocumentHighlightKind.Text)]
        return marks + ([mark(meant, t.DocumentHighlightKind.Text)] if meant is not None else [])
    target = target_at(server, opened, offset)
    if target is None:
        return None
    marks = [
        mark(annotation.name_span, t.DocumentHighlightKind.Write)
        for _, annotation in derivatives_called(opened.analysis, target.name)
        if annotation.name_span is not None
    ]
    return marks + [
        mark(mention.span, t.DocumentHighlightKind.Read) for mention in document_mentions(opened, target.name)
    ]
