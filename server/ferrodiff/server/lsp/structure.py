"""Folding of long annotations, and selection that grows from an activity outwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.text import Span
from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.convert import offset_at, range_of
from ferrodiff.server.lsp.places import place_at

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer


def folds(analysis: FileAnalysis) -> list[tuple[int, int]]:
    """First and last line of every annotation, and of every run of annotations, over more than one line."""
    lines: set[tuple[int, int]] = set()
    for function in analysis.functions:
        spans = [annotation.span for annotation in function.annotations]
        for span in spans:
            lines.add((analysis.source.line_of(span.start), analysis.source.line_of(span.end)))
        if len(spans) > 1:
            first, last = min(spans), max(spans)
            lines.add((analysis.source.line_of(first.start), analysis.source.line_of(last.end)))
    return sorted((first, last) for first, last in lines if last > first)


def growing(analysis: FileAnalysis, offset: int) -> list[Span]:
    """From the smallest part of an annotation around the caret to the whole function; empty elsewhere."""
    place = place_at(analysis, offset)
    if place is None or place.annotation is None:
        return []
    annotation = place.annotation
    steps = [place.span]
    if annotation.list_span is not None and annotation.list_span.covers(place.span):
        inner = Span(
            annotation.list_span.start + 1, annotation.list_span.end - (1 if annotation.closed else 0)
        )
        steps += [inner, annotation.list_span]
    steps += [annotation.item_span, annotation.span, place.function.span]
    result: list[Span] = []
    for span in steps:
        if not result or (span != result[-1] and span.covers(result[-1])):
            result.append(span)
    return result


def folding(server: FerrodiffServer, params: t.FoldingRangeParams) -> list[t.FoldingRange] | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    return [
        t.FoldingRange(first, last, kind=t.FoldingRangeKind.Region) for first, last in folds(opened.analysis)
    ]


def selection(server: FerrodiffServer, params: t.SelectionRangeParams) -> list[t.SelectionRange] | None:
    opened = server.documents.get(params.text_document.uri)
    if opened is None:
        return None
    result = []
    for position in params.positions:
        offset = offset_at(opened.source, position, server.encoding)
        selection: t.SelectionRange | None = None
        for span in reversed(growing(opened.analysis, offset)):
            selection = t.SelectionRange(range_of(opened.source, span, server.encoding), selection)
        empty = range_of(opened.source, Span(offset, offset), server.encoding)
        result.append(selection or t.SelectionRange(empty))
    return result
