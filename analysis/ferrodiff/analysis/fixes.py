"""Quick fixes as data: titles and edits, made from facts alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ferrodiff.analysis import imports
from ferrodiff.analysis.activities import BY_VALUE, choices_at, expected_count, is_slice
from ferrodiff.analysis.annotation import U32_MAX
from ferrodiff.analysis.diagnostics.core import Edit, Fix
from ferrodiff.analysis.model import Activity, Annotation, Function, Mode, Parameter, ProblemKind
from ferrodiff.analysis.printing import quoted
from ferrodiff.analysis.signature import ONE_LONG_SHADOW, SHADOWS_PER_LANE, derivative_signature
from ferrodiff.analysis.text import SourceText, Span, encode
from ferrodiff.analysis.usage import is_rebound, mentions

if TYPE_CHECKING:
    from ferrodiff.analysis.document import FileAnalysis


def replace_activity(
    function: Function, annotation: Annotation, index: int, choices: Iterable[Activity] | None = None
) -> tuple[Fix, ...]:
    """The activity at `index` by each one of use there, best first."""
    argument = annotation.arguments[index]
    offered = (
        choices if choices is not None else choices_at(function, annotation.mode, index, annotation.width)
    )
    return tuple(
        [
            Fix(
                f"Replace by `{activity.value}`",
                (Edit(argument.span, activity.value),),
                preferred=number == 0,
            )
            for number, activity in enumerate(a for a in offered if a is not argument.activity)
        ]
    )


def missing_activities(function: Function, annotation: Annotation) -> tuple[str, ...]:
    """What has to be appended to the list to complete it."""
    present = len(annotation.arguments)
    places = range(present, expected_count(function))
    return tuple([choices_at(function, annotation.mode, i, annotation.width)[0].value for i in places])


def list_end(annotation: Annotation) -> int | None:
    """Where another argument may be inserted after a comma; None without a name."""
    if annotation.arguments:
        return annotation.arguments[-1].span.end
    last = annotation.width_span or annotation.mode_span or annotation.name_span
    return last.end if last is not None else None


def complete_list(function: Function, annotation: Annotation) -> tuple[Fix, ...]:
    missing = missing_activities(function, annotation)
    end = list_end(annotation)
    if not missing or end is None:
        return ()
    text = ", ".join(missing)
    return (Fix(f"Add `{text}`", (Edit(Span(end, end), f", {text}"),), preferred=True),)


def trim_list(function: Function, annotation: Annotation) -> tuple[Fix, ...]:
    """Drops what stands after the last place."""
    expected = expected_count(function)
    surplus = annotation.arguments[expected:]
    if not surplus:
        return ()
    kept = annotation.arguments[expected - 1].span.end if expected else None
    before = annotation.width_span or annotation.mode_span or annotation.name_span
    start = kept if kept is not None else before.end if before is not None else surplus[0].span.start
    names = ", ".join([a.text for a in surplus])
    return (Fix(f"Remove `{names}`", (Edit(Span(start, surplus[-1].span.end), ""),), preferred=True),)


def rewrite_list(function: Function, annotation: Annotation, activities: Sequence[Activity]) -> Fix | None:
    """All activities at once."""
    end = list_end(annotation)
    if end is None:
        return None
    text = ", ".join([a.value for a in activities])
    if annotation.arguments:
        span = Span(annotation.arguments[0].span.start, end)
        return Fix(f"Use `{text}`", (Edit(span, text),))
    return Fix(f"Use `{text}`", (Edit(Span(end, end), f", {text}"),))


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """`wanted` with the first number that makes it new."""
    known = set(taken)
    number = 2
    while f"{wanted}_{number}" in known:
        number += 1
    return f"{wanted}_{number}"


def rename(annotation: Annotation, new_name: str) -> tuple[Fix, ...]:
    """The derivative's name in the annotation; calls are the editor's to rename."""
    if annotation.name_span is None:
        return ()
    written = quoted(new_name)
    return (Fix(f"Rename to `{written}`", (Edit(annotation.name_span, written),), preferred=True),)


def new_form(annotation: Annotation, analysis: FileAnalysis | None = None) -> tuple[Fix, ...]:
    """``#[autodiff(df, Forward, ..)]`` as ``#[autodiff_forward(df, ..)]``; with `analysis`, its import too."""
    unread = any(problem.kind is ProblemKind.MODE_UNKNOWN for problem in annotation.problems)
    if not annotation.old_form or annotation.mode_span is None or annotation.name_span is None or unread:
        return ()
    path = annotation.mode.macro
    needed: tuple[Edit, ...] = ()
    if "::" in annotation.path:
        path = f"{annotation.path.rpartition('::')[0]}::{path}"
    elif analysis is not None:
        path, needed = imports.for_new_form(analysis, annotation)
    cut = Span(annotation.name_span.end, annotation.mode_span.end)
    edits = (*needed, Edit(annotation.path_span, path), Edit(cut, ""))
    return (Fix(f"Write `{path}({annotation.name}, ..)`", edits, preferred=True),)


def set_width(annotation: Annotation, width: int) -> Fix | None:
    anchor = annotation.mode_span or annotation.name_span
    if annotation.width_span is not None:
        return Fix(f"Set the width to {width}", (Edit(annotation.width_span, str(width)),))
    if anchor is None:
        return None
    return Fix(f"Set the width to {width}", (Edit(Span(anchor.end, anchor.end), f", {width}"),))


def drop_width(annotation: Annotation) -> Fix | None:
    anchor = annotation.mode_span or annotation.name_span
    if annotation.width_span is None or anchor is None:
        return None
    edits = (Edit(Span(anchor.end, annotation.width_span.end), ""),)
    return Fix("Remove the width", edits, preferred=not 0 < annotation.width <= U32_MAX)


def widths(
    function: Function, annotation: Annotation, choices: Iterable[int] = (2, 4, 8, 16)
) -> tuple[Fix, ...]:
    """Other batch widths, where something has lanes: ``Active`` has one value and one seed for all of them."""
    offered = [drop_width(annotation)] if annotation.width_span is not None else []
    inputs = annotation.arguments[: len(function.parameters)]
    if any(argument.activity in SHADOWS_PER_LANE | ONE_LONG_SHADOW for argument in inputs):
        offered = [set_width(annotation, width) for width in choices if width != annotation.width] + offered
    return tuple([fix for fix in offered if fix is not None])


def other_mode(
    function: Function, annotation: Annotation, analysis: FileAnalysis | None = None
) -> tuple[Fix, ...]:
    """The same annotation in the other mode, each activity by its counterpart.

    With `analysis`, the macro is written with its path where it is not imported. A width that means nothing
    in the new mode goes.
    """
    if annotation.old_form or len(annotation.arguments) != expected_count(function):
        return ()
    mode = Mode.REVERSE if annotation.mode is Mode.FORWARD else Mode.FORWARD
    path = mode.macro
    if "::" in annotation.path:
        path = f"{annotation.path.rpartition('::')[0]}::{path}"
    elif analysis is not None:
        path = imports.path_to(analysis, annotation, path)
    edits = [Edit(annotation.path_span, path)]
    activities = [argument.activity for argument in annotation.arguments]
    for index, argument in enumerate(annotation.arguments):
        if argument.activity is not Activity.CONST:
            best = choices_at(function, mode, index, annotation.width)[0]
            activities[index] = best
            edits.append(Edit(argument.span, best.value))
    narrow = drop_width(annotation)
    if narrow is not None and not BY_VALUE.isdisjoint(activities):
        edits += narrow.edits
    return (Fix(f"Turn into `{path}`", tuple(edits)),)


def shadow_layout(function: Function, annotation: Annotation) -> Iterator[Fix]:
    """N shadows to one long one (``Dualv``) and back, for every slice of the annotation."""
    if annotation.mode is not Mode.FORWARD or len(annotation.arguments) < len(function.parameters):
        return
    pairs = ((Activity.DUAL, Activity.DUALV), (Activity.DUALV, Activity.DUAL))
    titles = (
        "Pass all tangents of a slice in one shadow (`Dualv`)",
        "Pass one shadow per lane (`Dual`)",
    )
    for (old, new), title in zip(pairs, titles, strict=True):
        edits = tuple(
            [
                Edit(argument.span, new.value)
                for parameter, argument in zip(function.parameters, annotation.arguments, strict=False)
                if argument.activity is old and is_slice(parameter.type_text)
            ]
        )
        if edits and annotation.width > 1:
            yield Fix(title, edits)


def rust_analyzer_stub(function: Function, annotation: Annotation, margin: str = "") -> Fix | None:
    """Shows rust-analyzer the generated signature instead of the annotation, which it cannot expand.

    The annotation gets its full path, so that rust-analyzer needs no import of the macro either. A build with
    Cargo wants ``cfg(rust_analyzer)`` among the expected ones (``unexpected_cfgs`` in its lints table).
    """
    if annotation.via_cfg_attr or annotation.name is None or not annotation.closed or annotation.old_form:
        return None
    signature = derivative_signature(function, annotation).text
    body = " { unimplemented!() }"
    stub = f"\n\n{margin}#[cfg(rust_analyzer)]\n{margin}#[allow(unused_variables)]\n{margin}{signature}{body}"
    start, end, after = annotation.item_span.start, annotation.item_span.end, function.item_text_span.end
    path = annotation.path if "::" in annotation.path else f"std::autodiff::{annotation.mode.macro}"
    edits = (
        Edit(Span(start, annotation.path_span.end), f"cfg_attr(not(rust_analyzer), {path}"),
        Edit(Span(end, end), ")"),
        Edit(Span(after, after), stub),
    )
    return Fix("Add a stub for rust-analyzer", edits)


def rename_parameter(
    function: Function, parameter: Parameter, new_name: str, source: SourceText
) -> tuple[Fix, ...]:
    """A parameter and its uses in the body under another name; none where that can not be seen to be safe.

    That is where a macro call mentions it, the body has the new name already, or a local variable hides it.
    """
    if parameter.name is None or parameter.is_self or not new_name.isidentifier():
        return ()
    edits = [Edit(_name_within(parameter), new_name)]
    if function.body_span is not None:
        body = source.slice(function.body_span)
        if re.search(rf"\b{re.escape(new_name)}\b", body) or is_rebound(body, parameter.name):
            return ()
        found = [mention for mention in mentions(body) if mention.name == parameter.name]
        if any(mention.in_macro for mention in found):
            return ()
        start = function.body_span.start
        for mention in sorted(found, key=lambda mention: mention.span):
            # `P { x }` names a field as well
            text = f"{parameter.name}: {new_name}" if mention.is_field else new_name
            edits.append(Edit(mention.span.shifted(start), text))
    return (Fix(f"Rename the parameter to `{new_name}`", tuple(edits), preferred=True),)


def _name_within(parameter: Parameter) -> Span:
    """The identifier of a pattern, without ``mut``."""
    written = parameter.pattern_text.removeprefix("mut ")
    end = parameter.pattern_span.end
    return Span(end - len(encode(written)), end)


def alternatives(
    function: Function, annotation: Annotation, margin: str = "", analysis: FileAnalysis | None = None
) -> tuple[Fix, ...]:
    """Other ways to write a correct annotation; with `analysis`, together with the imports they need."""
    found = [*shadow_layout(function, annotation), *other_mode(function, annotation, analysis)]
    found += new_form(annotation, analysis)
    stub = rust_analyzer_stub(function, annotation, margin)
    return tuple(found if stub is None else [*found, stub])
