"""Proposes annotations for a function, with the reason of every choice in words.

Everything here is judged from the declaration, from what the body does with each parameter, and from the
types that the same file defines. A proposal is a start for a person to look at, never applied unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ferrodiff.analysis.activities import BY_VALUE, is_indirect, is_slice
from ferrodiff.analysis.diagnostics.core import Edit, Fix
from ferrodiff.analysis.document import FileAnalysis
from ferrodiff.analysis.floats import MANY, Floats
from ferrodiff.analysis.model import Activity, Function, Mode, Parameter
from ferrodiff.analysis.printing import quoted
from ferrodiff.analysis.signature import shadow_names
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.analysis.typetext import ELIDED, split_top_level
from ferrodiff.analysis.usage import Usage, usage

WIDEST = 16
"""Lanes of a proposed batch at most: more tangents than fit in registers only make code larger."""
_WRITABLE = re.compile(r"&(?:'\w+ )?mut |\*mut ")
_CALLABLE = re.compile(r"(?:&(?:'\w+ )?(?:mut )?)?(?:(?:dyn|impl) |Box<dyn )(?:\w+::)*Fn(?:Mut|Once)?\b")
_FUNCTION_POINTERS = ("fn(", "unsafe fn(", "extern ", "unsafe extern ", "for<")
_HEAP = re.compile(r"\b(?:Vec|VecDeque|Box|Rc|Arc|HashMap|BTreeMap|LinkedList|BinaryHeap)\b")
_LANES = {Mode.FORWARD: "tangents", Mode.REVERSE: "gradients"}


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
    """Why this mode and width."""
    width: int = 1

    @property
    def words(self) -> tuple[str, ...]:
        """The items of the list: the name, the width unless it is 1, the activities."""
        width = (str(self.width),) if self.width != 1 else ()
        return (quoted(self.name), *width, *[choice.activity.value for choice in self.choices])

    @property
    def text(self) -> str:
        return f"#[{self.mode.macro}({', '.join(self.words)})]"

    @property
    def title(self) -> str:
        batch = f" in batches of {self.width}" if self.width != 1 else ""
        return f"Generate the {self.mode.value} derivative `{self.name}`{batch} ({self.reason})"


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
    return Floats().count(written)


def propose(
    function: Function, source: SourceText | None = None, analysis: FileAnalysis | None = None
) -> tuple[Proposal, ...]:
    """Annotations for `function`, best first; empty where none can be or nothing is active.

    With `source`, parameters that the body never mentions are left out of the differentiation. With
    `analysis`, the types and names of the file are known too.
    """
    if analysis is not None:
        source = analysis.source
    if not _is_possible(function):
        return ()
    floats = Floats(analysis, function)
    flows = [
        _flow(function, parameter, floats, usage(function, parameter, source) if source else None)
        for parameter in function.parameters
    ]
    inputs = min(sum([flow.inputs for flow in flows]), MANY)
    returned = floats.count(function.return_type) if function.has_return and function.return_type else 0
    outputs = min(sum([flow.outputs for flow in flows]) + returned, MANY)
    if function.return_type == "!" or inputs == 0 or outputs == 0:
        return ()
    taken = _taken(function, analysis)
    proposals = [
        _proposal(function, flows, mode, reason, taken, returned)
        for mode, reason in _modes(inputs, outputs, _owns_memory(flows), floats.guessed)
    ]
    proposals = [p for p in proposals if not _clashes(function, p) and not _loses_lifetime(function, p)]
    if floats.guessed:
        return tuple(proposals)
    return (*proposals, *[b for p in proposals for b in _batched(function, p, flows, inputs, outputs)])


def _is_possible(function: Function) -> bool:
    # A method of a trait's impl has to be declared in the trait, and so has its derivative.
    if function.container in ("extern", "trait_impl") or function.header.is_async or not function.name:
        return False
    return all(p.name is not None and not p.variadic for p in function.parameters)


def _taken(function: Function, analysis: FileAnalysis | None) -> set[str]:
    taken = {a.name for a in function.annotations if a.name is not None}
    taken |= {p.name for p in function.parameters if p.name is not None}
    if analysis is not None:
        for placed in analysis.chunks:
            found = placed.chunk.found
            taken |= {name.name for name in found.names}
            taken |= {a.name for f in found.functions for a in f.annotations if a.name}
            # Inside of impls and modules, only where the function itself stands: reading all takes long.
            if placed.start <= function.span.start < placed.start + len(placed.chunk.text):
                taken |= {f.bare_name for f in analysis.every_function(placed)}
    return taken


# -- parameters ------------------------------------------------------------------------------------------


def _flow(function: Function, parameter: Parameter, floats: Floats, used: Usage | None) -> _Flow:
    inactive = _inactivity(function, parameter, floats, used)
    if inactive:
        return _Flow(parameter, 0, 0, inactive)
    count = floats.count(parameter.type_text)
    if _WRITABLE.match(parameter.type_text) is None:
        return _Flow(parameter, count, 0, "")
    return _Flow(parameter, 0 if _is_output(parameter, used) else count, count, "")


def _is_output(parameter: Parameter, used: Usage | None) -> bool:
    """Whether a mutable reference brings nothing in. Without a body its name has to say so."""
    if used is None:
        return (parameter.name or "").startswith(("out", "res", "dst", "dest"))
    return not used.is_read


def _inactivity(function: Function, parameter: Parameter, floats: Floats, used: Usage | None) -> str:
    written = parameter.type_text
    if _is_callable(function, written):
        return "a function, which has no derivative with respect to itself"
    if floats.holds(written) is False:
        return f"`{floats.shown(written)}` holds no floats"
    if used is not None and not used.is_used:
        return "the body does not use it"
    if used is None and (parameter.name or "").startswith("_"):
        return "its name says that it is not used"
    return ""


def _is_callable(function: Function, written: str) -> bool:
    if written.startswith(_FUNCTION_POINTERS) or _CALLABLE.match(written):
        return True
    name = re.sub(r"^&(?:'\w+ )?(?:mut )?", "", written)
    if not name.isidentifier():
        return False
    owners = (function, function.container_info)
    bounds = [generic.text for owner in owners for generic in owner.generics]
    for owner in owners:
        bounds += split_top_level(owner.where_text.removeprefix("where "))
    return any(re.match(rf"{name}: .*\bFn(?:Mut|Once)?\(", bound) for bound in bounds)


def _owns_memory(flows: Iterable[_Flow]) -> str:
    """The first parameter whose floats are passed by value but kept on the heap, or nothing."""
    for flow in flows:
        written = flow.parameter.type_text
        if not flow.inactive and not is_indirect(written) and _HEAP.search(written):
            return flow.parameter.name or ""
    return ""


# -- modes -----------------------------------------------------------------------------------------------


def _modes(inputs: int, outputs: int, owner: str, guessed: bool) -> list[tuple[Mode, str]]:
    """Both modes, the better one first. Forward costs a call per input, reverse one per output and a tape."""
    counts = f"{'about ' if guessed else ''}{_number(inputs)} in, {_number(outputs)} out"
    if inputs == 1:
        forward = f"{counts}: one call gives every derivative"
    elif inputs == outputs:
        forward = f"{counts}: as many calls as in reverse, and no tape"
    else:
        forward = f"{counts}: one call per input"
    if outputs == 1:
        reverse = f"{counts}: one call gives the whole gradient"
    else:
        reverse = f"{counts}: one call per output"
    both = [(Mode.FORWARD, forward), (Mode.REVERSE, reverse)]
    if owner:
        both[0] = (Mode.FORWARD, f"`{owner}` owns its memory, so its gradient is no plain value")
        return both
    return both if inputs <= outputs else both[::-1]


def _number(count: int) -> str:
    return "many floats" if count >= MANY else "1 float" if count == 1 else f"{count} floats"


# -- whole annotations -----------------------------------------------------------------------------------


def _proposal(
    function: Function, flows: list[_Flow], mode: Mode, reason: str, taken: set[str], returned: int
) -> Proposal:
    choices = [_input_choice(flow, mode) for flow in flows]
    if function.has_return and function.return_type is not None:
        choices.append(_return_choice(function.return_type, mode, returned))
    return Proposal(mode, _name(f"d{function.bare_name}", mode, taken), tuple(choices), reason)


def _name(base: str, mode: Mode, taken: set[str]) -> str:
    suffixed = f"{base}_{'fwd' if mode is Mode.FORWARD else 'rev'}"
    number = 2
    for name in (base, suffixed):
        if name not in taken:
            return name
    while f"{base}_{number}" in taken:
        number += 1
    return f"{base}_{number}"


def _input_choice(flow: _Flow, mode: Mode) -> Choice:
    parameter, written = flow.parameter, flow.parameter.type_text
    if flow.inactive:
        return Choice(parameter.text, Activity.CONST, flow.inactive)
    if mode is Mode.FORWARD:
        what = "slice of floats" if is_slice(written) else f"`{written}`"
        reason = f"{what}: its tangent is passed beside it"
        if flow.outputs:
            reason = "written through: its shadow receives the tangent"
        return Choice(parameter.text, Activity.DUAL, reason)
    if is_indirect(written):
        reason = "behind a reference: its gradient is added to a shadow"
        if flow.outputs:
            reason = "written through: its shadow brings the seed and keeps what flows back"
        return Choice(parameter.text, Activity.DUPLICATED, reason)
    return Choice(parameter.text, Activity.ACTIVE, "passed by value: its gradient is returned")


def _return_choice(written: str, mode: Mode, returned: int) -> Choice:
    place = f"-> {written}"
    if returned == 0:
        return Choice(place, Activity.CONST, f"`{written}` holds no floats")
    if mode is Mode.FORWARD:
        return Choice(place, Activity.DUAL, "the value and its tangent are returned")
    if is_indirect(written):
        return Choice(place, Activity.CONST, "a reference: the shadow behind it holds its seed")
    return Choice(place, Activity.ACTIVE, "the value is returned and seeded by `dret`")


def _clashes(function: Function, proposal: Proposal) -> bool:
    """Whether a generated parameter would have the name of another one."""
    names = {p.name for p in function.parameters}
    inputs = proposal.choices[: len(function.parameters)]
    for parameter, choice in zip(function.parameters, inputs, strict=True):
        shadows = shadow_names(parameter, choice.activity, proposal.mode, proposal.width)
        if not names.isdisjoint(shadows):
            return True
    seeded = any(choice.activity in BY_VALUE for choice in proposal.choices[len(inputs) :])
    return seeded and "dret" in names


def _loses_lifetime(function: Function, proposal: Proposal) -> bool:
    """Whether a returned reference takes its lifetime from the one reference passed, and a shadow is another."""
    if function.return_type is None or not ELIDED.search(function.return_type):
        return False
    if any(p.is_self and is_indirect(p.type_text) for p in function.parameters):
        return False
    inputs = zip(function.parameters, proposal.choices, strict=False)
    return any("&" in p.type_text and choice.activity is not Activity.CONST for p, choice in inputs)


def _batched(
    function: Function, proposal: Proposal, flows: Sequence[_Flow], inputs: int, outputs: int
) -> Iterator[Proposal]:
    """The same with a width, where one call then does what would take several."""
    forward = proposal.mode is Mode.FORWARD
    lanes = inputs if forward else outputs
    if lanes < 2 or any(choice.activity in BY_VALUE for choice in proposal.choices):
        return
    if lanes <= WIDEST:
        what = "input" if forward else "output"
        reason = f"{lanes} {_LANES[proposal.mode]} in one call, one for each {what}"
        batch = replace(proposal, width=lanes, reason=reason)
    elif forward and lanes == MANY and any(not f.inactive and is_slice(f.parameter.type_text) for f in flows):
        batch = replace(
            proposal,
            width=4,
            choices=tuple(_long(function, proposal.choices)),
            reason="4 tangents in one call, one after the other in one long shadow",
        )
    else:
        return
    if not _clashes(function, batch):
        yield batch


def _long(function: Function, choices: Sequence[Choice]) -> Iterator[Choice]:
    """Slices as ``Dualv``."""
    for index, choice in enumerate(choices):
        is_input = index < len(function.parameters)
        if is_input and choice.activity is Activity.DUAL and is_slice(function.parameters[index].type_text):
            yield Choice(choice.place, Activity.DUALV, "a slice: one shadow holds the tangents of all lanes")
        else:
            yield choice


def annotate(function: Function, proposal: Proposal, source: SourceText) -> Fix:
    """The edit that puts a proposal above a function, with the function's indentation."""
    at = function.item_text_span.start
    line = source.line_span(source.line_of(at))
    margin = source.slice(Span(line.start, at))
    separator = f"\n{margin}" if not margin.strip() else " "
    return Fix(proposal.title, (Edit(Span(at, at), proposal.text + separator),))
