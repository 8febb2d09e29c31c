"""What stands under a caret: a part of an annotation, an annotated function, or a derivative's use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.local import functions_near
from ferrodiff.analysis.mentions import Mention, mentions
from ferrodiff.analysis.model import Annotation, Argument, Function, Parameter
from ferrodiff.analysis.text import Span


class Part(Enum):
    """A part of an annotated function that means something of its own."""

    MACRO = "macro"
    NAME = "name"
    WIDTH = "width"
    ACTIVITY = "activity"
    LIST = "list"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Place:
    """A part under the caret; `annotation` is None for `Part.FUNCTION`."""

    part: Part
    span: Span
    function: Function
    annotation: Annotation | None
    index: int | None = None
    """Of `Part.ACTIVITY`: which one, from 0."""

    @property
    def argument(self) -> Argument | None:
        if self.annotation is None or self.index is None:
            return None
        return self.annotation.arguments[self.index]


def place_at(analysis: FileAnalysis, offset: int) -> Place | None:
    """The part that a caret at `offset` stands in or touches."""
    for function in functions_near(analysis, Span(offset, offset)):
        for annotation in function.annotations:
            if annotation.span.touches(offset):
                return _in_annotation(function, annotation, offset)
        if function.name_span.touches(offset):
            return Place(Part.FUNCTION, function.name_span, function, None)
    return None


def _in_annotation(function: Function, annotation: Annotation, offset: int) -> Place:
    for part, span in (
        (Part.MACRO, annotation.path_span),
        (Part.NAME, annotation.name_span),
        (Part.WIDTH, annotation.width_span),
    ):
        if span is not None and span.touches(offset):
            return Place(part, span, function, annotation)
    for index, argument in enumerate(annotation.arguments):
        if argument.span.touches(offset):
            return Place(Part.ACTIVITY, argument.span, function, annotation, index)
    if annotation.list_span is not None and annotation.list_span.touches(offset):
        return Place(Part.LIST, annotation.list_span, function, annotation)
    return Place(Part.MACRO, annotation.span, function, annotation)


def parameter_of(function: Function, index: int) -> Parameter | None:
    """The parameter that activity number `index` is for; None for the return value's."""
    return function.parameters[index] if index < len(function.parameters) else None


def argument_slot(annotation: Annotation, offset: int) -> int:
    """The position in the list (name first) a caret at `offset` would type into."""
    return sum(1 for comma in annotation.commas if comma < offset)


def activity_slot(annotation: Annotation, offset: int) -> int | None:
    """Which activity a caret types, from 0; None in the name, the old form's mode and the width."""
    slot = argument_slot(annotation, offset)
    first = 1 + (1 if annotation.old_form else 0) + (1 if annotation.width_span is not None else 0)
    return slot - first if slot >= first else None


def mentions_in(analysis: FileAnalysis, names: Iterable[str]) -> tuple[Mention, ...]:
    """Uses of derivatives in a file, outside of annotations."""
    found = mentions(analysis.source, names, lambda: [f.item_text_span for f in analysis.all_functions])
    return tuple(mention for mention in found if not _annotates(analysis, mention.span))


def _annotates(analysis: FileAnalysis, span: Span) -> bool:
    """Whether a span lies in an annotation."""
    return any(
        annotation.span.covers(span)
        for function in functions_near(analysis, span)
        for annotation in function.annotations
    )
