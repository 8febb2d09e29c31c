"""Hover on annotations, annotated functions and uses of derivatives; nothing on ordinary Rust."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.pages import activity_page, derivative_page, markdown, width_page
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import offset_at, range_of
from ferrodiff.server.lsp.generated import instead_of, signature_of
from ferrodiff.server.lsp.index import Derivative
from ferrodiff.server.lsp.markup import markup
from ferrodiff.server.lsp.places import Part, Place, place_at
from ferrodiff.server.lsp.results import Record, is_fresh
from ferrodiff.server.lsp.targets import file_name, target_at

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer
    from ferrodiff.server.lsp.documents import OpenDocument

_SHOWN_DERIVATIVES = 3


def hover(server: FerrodiffServer, params: t.HoverParams) -> t.Hover | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    offset = offset_at(opened.source, params.position, server.encoding)
    found = hover_at(server, opened, offset)
    if found is None:
        return None
    text, span = found
    content = markup(text, server.abilities.markdown)
    return t.Hover(content, range_of(opened.source, span, server.encoding)) if content is not None else None


def hover_at(server: FerrodiffServer, opened: OpenDocument, offset: int) -> tuple[str, Span] | None:
    """Markdown and what it is about."""
    place = place_at(opened.analysis, offset)
    if place is not None and place.annotation is not None:
        return _annotation_text(server, opened, place, place.annotation), place.span
    if place is not None and place.part is Part.FUNCTION:
        return function_text(opened.source, place.function), place.span
    target = target_at(server, opened, offset)
    if target is None:
        return None
    parts = [
        derivative_text(d, server.results.last(d.uri, d.name), opened.uri)
        for d in target.derivatives[:_SHOWN_DERIVATIVES]
    ]
    return "\n\n---\n\n".join(parts), target.span


def _annotation_text(
    server: FerrodiffServer, opened: OpenDocument, place: Place, annotation: Annotation
) -> str:
    if place.part is Part.ACTIVITY and place.index is not None:
        return activity_text(place.function, annotation, place.index)
    if place.part is Part.WIDTH:
        return markdown(width_page(place.function, annotation))
    derivative = Derivative(opened.uri, opened.source, place.function, annotation)
    return derivative_text(derivative, server.results.last(opened.uri, derivative.name), opened.uri)


def code(rust: str) -> str:
    return f"```rust\n{rust}\n```"


def derivative_text(derivative: Derivative, records: list[Record], here: str) -> str:
    """Everything about one derivative: signature, parameters, notes, last results."""
    where = "" if derivative.uri == here else f"in `{file_name(derivative.uri)}`"
    parts = [_derivative(derivative.function, derivative.annotation, where)]
    parts += [result_text(record, derivative.source, derivative.function) for record in records]
    return "\n\n".join(parts)


@lru_cache(maxsize=256)
def _derivative(function: Function, annotation: Annotation, where: str) -> str:
    return markdown(derivative_page(function, annotation, where))


def result_text(record: Record, source: SourceText, function: Function) -> str:
    stale = "" if is_fresh(record, source, function) else "\n\n*(before the last edit)*"
    return record.details + stale


def function_text(source: SourceText, function: Function) -> str:
    """The primal: which derivatives it has."""
    parts = [f"`{function.bare_name}` has {len(function.annotations)} derivative"]
    parts[0] += "s:" if len(function.annotations) != 1 else ":"
    signatures = [
        signature_of(function, annotation) for annotation in function.annotations if annotation.name
    ]
    return "\n\n".join([*parts, code("\n".join(signatures))]) if signatures else parts[0].rstrip(":") + "."


def activity_text(function: Function, annotation: Annotation, index: int) -> str:
    """What one activity means at its place, and the others that may stand there."""
    page = activity_page(function, annotation, index)
    others = instead_of(function, annotation, index)
    return markdown(replace(page, paragraphs=(*page.paragraphs, *others)))
