"""A file's functions near a place, or by the name of a derivative, without moving all others to their places.

A large file's facts are kept relative to its top-level items. Questions about one place need one item.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from ferrodiff.analysis.document import FileAnalysis, PlacedChunk
from ferrodiff.analysis.model import Annotation, Function, shifted
from ferrodiff.analysis.text import Span


def _chunks(analysis: FileAnalysis, span: Span) -> tuple[PlacedChunk, ...]:
    """The top-level items that touch a span."""
    starts = [placed.start for placed in analysis.chunks]
    first = max(bisect_right(starts, span.start) - 1, 0)
    # An item that ends where the span starts touches it too.
    if first > 0 and starts[first] == span.start:
        first -= 1
    return analysis.chunks[first : bisect_right(starts, span.end)]


def functions_near(analysis: FileAnalysis, span: Span) -> tuple[Function, ...]:
    """The annotated functions that touch a span, in order."""
    known = analysis.__dict__.get("functions")
    if known is not None:
        return tuple([f for f in known if f.span.start <= span.end and f.span.end >= span.start])
    return _touching(_moved(_chunks(analysis, span)), span)


def every_function_near(analysis: FileAnalysis, span: Span) -> tuple[Function, ...]:
    """The functions that touch a span, annotated or not, in order."""
    known = analysis.__dict__.get("all_functions")
    if known is not None:
        return _touching(known, span)
    chunks = _chunks(analysis, span)
    found = [shifted(f, placed.start) for placed in chunks for f in analysis.every_function(placed)]
    return _touching(found, span)


def _moved(chunks: Iterable[PlacedChunk]) -> Iterator[Function]:
    return (shifted(f, placed.start) for placed in chunks for f in placed.chunk.found.functions)


def _touching(functions: Iterable[Function], span: Span) -> tuple[Function, ...]:
    return tuple([f for f in functions if f.span.start <= span.end and f.span.end >= span.start])


def derivatives_called(analysis: FileAnalysis, name: str) -> list[tuple[Function, Annotation]]:
    """The functions and annotations that make a derivative called `name`."""
    found = []
    for placed in analysis.chunks:
        for function in placed.chunk.found.functions:
            if any(annotation.name == name for annotation in function.annotations):
                moved = shifted(function, placed.start)
                found += [(moved, annotation) for annotation in moved.annotations if annotation.name == name]
    return found


def derivative_names(analysis: FileAnalysis) -> frozenset[str]:
    """The names of a file's derivatives."""
    return frozenset(
        annotation.name
        for placed in analysis.chunks
        for function in placed.chunk.found.functions
        for annotation in function.annotations
        if annotation.name
    )


def function_names(analysis: FileAnalysis) -> frozenset[str]:
    """Bare names of a file's functions and derivatives."""
    own = {f.bare_name for placed in analysis.chunks for f in analysis.every_function(placed)}
    return derivative_names(analysis) | own
