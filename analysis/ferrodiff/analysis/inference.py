"""Proposes annotations for a function, with the reason of every choice in words.

Everything here is judged from the declaration and, where the source is given, from the names the body
mentions. A proposal is a start for a person to look at, never applied unseen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ferrodiff.analysis.activities import holds_float, is_indirect, is_slice
from ferrodiff.analysis.diagnostics.core import Edit, Fix
from ferrodiff.analysis.model import Activity, Function, Mode, Parameter
from ferrodiff.analysis.printing import quoted
from ferrodiff.analysis.rewrite.types import (
    array_parts,
    is_shared,
    slice_element,
    split_top_level,
    strip_reference,
)
from ferrodiff.analysis.text import SourceText, Span

MANY = 1000
"""Counts as the number of floats of anything whose length only the running program knows."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One activity of a proposal. `place` is the parameter's text, or ``-> T``."""

    place: str
    activity: Activity
    reason: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A whole annotation."""

    mode: Mode
    name: str
    choices: tuple[Choice, ...]
    reason: str
    """Why this mode."""

    @property
    def text(self) -> str:
        listed = [quoted(self.name)] + [choice.activity.value for choice in self.choices]
        return f"#[{self.mode.macro}({', '.join(listed)})]"


@dataclass(frozen=True, slots=True)
class _Flow:
    """A parameter's part in the computation."""

    parameter: Parameter
    inputs: int
    """How many floats it brings in; 0 when it is inactive."""
    outputs: int
    """How many floats it carries out."""
    inactive: str
    """Why it is ``Const``; empty when it is not."""


def count_floats(written: str) -> int:
    """How many floats a type holds; `MANY` when its length is known at run time only."""
    text = strip_reference(written)
    if holds_float(text) is False:
        return 0
    if slice_element(text) is not None:
        return MANY
    if (array := array_parts(text)) is not None:
        length = int(array[1]) if array[1].isdecimal() and len(array[1]) < 10 else MANY
        return min(count_floats(array[0]) * length, MANY)
    if text.startswith("(") and text.endswith(")"):
        return min(sum([count_floats(part) for part in split_top_level(text[1:-1])]), MANY)
    if text.startswith("*"):
        return MANY
    return MANY if "<" in text else 1 if text in ("f16", "f32", "f64", "f128") else 3


def propose(function: Function, source: SourceText | None = None) -> tuple[Proposal, ...]:
    """Annotations for `function`, the better mode first; empty where none can be or nothing is active.

    With `source`, parameters that the body never mentions are left out of the differentiation.
    """
    if not _is_possible(function):
        return ()
    flows = [_flow(parameter, _body(function, source)) for parameter in function.parameters]
    inputs = sum([flow.inputs for flow in flows])
    outputs = sum([flow.outputs for flow in flows])
    returned = count_floats(function.return_type) if function.has_return and function.return_type else 0
    if function.return_type == "!" or inputs == 0 or outputs + returned == 0:
        return ()
    order = _modes(inputs, outputs + returned)
    taken = {a.name for a in function.annotations if a.name is not None}
    proposals = [_proposal(function, flows, mode, reason, taken) for mode, reason in order]
    return tuple(proposals)


def _is_possible(function: Function) -> bool:
    if function.container == "extern" or function.header.is_async or not function.name:
        return False
    return all(p.name is not None and not p.variadic for p in function.parameters)


def _body(function: Function, source: SourceText | None) -> str | None:
    if source is None or function.body_span is None:
        return None
    return source.slice(function.body_span)


def _flow(parameter: Parameter, body: str | None) -> _Flow:
    inactive = _inactivity(parameter, body)
    if inactive:
        return _Flow(parameter, 0, 0, inactive)
    floats = count_floats(parameter.type_text)
    writable = is_indirect(parameter.type_text) and not is_shared(parameter.type_text)
    writable = writable and not parameter.type_text.startswith("*const ")
    if writable and _only_written(parameter.name or "", body):
        return _Flow(parameter, 0, floats, "")
    return _Flow(parameter, floats, floats if writable else 0, "")


def _only_written(name: str, body: str | None) -> bool:
    """Whether a mutable reference is an output only: every mention is the target of a plain assignment.

    Without a body its name has to say so.
    """
    if body is None:
        return name.startswith(("out", "res", "dst", "dest"))
    word = re.escape(name)
    mentions = len(re.findall(rf"\b{word}\b", body))
    indexed = len(re.findall(rf"\b{word}\s*(?:\[[^\[\]]*\]\s*)+=(?!=)", body))
    pointed = len(re.findall(rf"\*\s*{word}\s*=(?!=)", body))
    filled = len(re.findall(rf"\b{word}\s*\.\s*(?:fill|copy_from_slice|clone_from_slice|len)\b", body))
    return mentions == indexed + pointed + filled


def _inactivity(parameter: Parameter, body: str | None) -> str:
    written, name = parameter.type_text, parameter.name or ""
    if written.startswith(("fn(", "unsafe fn(", "extern ", "for<", "&dyn Fn", "impl Fn")):
        return "a function, which has no derivative with respect to itself"
    if holds_float(written) is False:
        return f"`{written}` holds no floats"
    if body is not None and re.search(rf"\b{re.escape(name)}\b", body) is None:
        return "the body does not use it"
    if name.startswith("_") and body is None:
        return "its name says that it is not used"
    return ""


def _modes(inputs: int, outputs: int) -> list[tuple[Mode, str]]:
    forward = (Mode.FORWARD, f"{_number(inputs)} in, {_number(outputs)} out: one tangent per input is cheap")
    reverse = (Mode.REVERSE, f"{_number(inputs)} in, {_number(outputs)} out: one sweep gives every gradient")
    if inputs < outputs:
        return [forward, (Mode.REVERSE, f"{_number(outputs)} out: one sweep per output")]
    if inputs == outputs == 1:
        return [forward, reverse]
    return [reverse, (Mode.FORWARD, f"{_number(inputs)} in: one tangent per direction")]


def _number(count: int) -> str:
    return "many floats" if count >= MANY else "1 float" if count == 1 else f"{count} floats"


def _proposal(function: Function, flows: list[_Flow], mode: Mode, reason: str, taken: set[str]) -> Proposal:
    choices = [_input_choice(flow, mode) for flow in flows]
    if function.has_return and function.return_type is not None:
        choices.append(_return_choice(function.return_type, mode))
    base = f"d{function.bare_name}"
    name = base
    for suffix in ("", "_fwd" if mode is Mode.FORWARD else "_rev", "_2", "_3", "_4"):
        name = base + suffix
        if name not in taken and name not in {p.name for p in function.parameters}:
            break
    return Proposal(mode, name, tuple(choices), reason)


def _input_choice(flow: _Flow, mode: Mode) -> Choice:
    parameter = flow.parameter
    written = parameter.type_text
    if flow.inactive:
        return Choice(parameter.text, Activity.CONST, flow.inactive)
    if mode is Mode.FORWARD:
        if flow.outputs:
            return Choice(parameter.text, Activity.DUAL, "written through: its shadow receives the tangent")
        what = "slice of floats" if is_slice(written) else f"`{written}`"
        return Choice(parameter.text, Activity.DUAL, f"{what}: its tangent is passed beside it")
    if is_indirect(written):
        if flow.outputs:
            why = "written through: its shadow brings the seed and keeps what flows back"
            return Choice(parameter.text, Activity.DUPLICATED, why)
        return Choice(
            parameter.text, Activity.DUPLICATED, "behind a reference: its gradient is added to a shadow"
        )
    return Choice(parameter.text, Activity.ACTIVE, "passed by value: its gradient is returned")


def _return_choice(written: str, mode: Mode) -> Choice:
    place = f"-> {written}"
    if holds_float(written) is False:
        return Choice(place, Activity.CONST, f"`{written}` holds no floats")
    if mode is Mode.FORWARD:
        return Choice(place, Activity.DUAL, "the value and its tangent are returned")
    return Choice(place, Activity.ACTIVE, "the value is returned and seeded by `dret`")


def annotate(function: Function, proposal: Proposal, source: SourceText) -> Fix:
    """The edit that puts a proposal above a function, with the function's indentation."""
    at = function.item_text_span.start
    line = source.line_span(source.line_of(at))
    margin = source.slice(Span(line.start, at))
    separator = f"\n{margin}" if not margin.strip() else " "
    title = f"Generate the {proposal.mode.value} derivative `{proposal.name}` ({proposal.reason})"
    return Fix(title, (Edit(Span(at, at), proposal.text + separator),))
