"""What there is to say about an annotation, one of its activities, its width or its seed, as pages of data.

A page has a title, paragraphs, notes and a table of the generated function's parameters. `markdown` is the
one place where pages become text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ferrodiff.analysis.activities import BY_VALUE
from ferrodiff.analysis.explain import Explanation, explain, refusal
from ferrodiff.analysis.model import Activity, Annotation, Function, Mode, Parameter
from ferrodiff.analysis.signature import Role, SignatureParameter, derivative_signature, return_activity

_MOST_LANES_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter of the generated function."""

    text: str
    name: str
    role: str
    """``primal``, ``shadow`` or ``seed``."""
    owner: int | None
    """Which primal parameter it belongs to; None for the seed of the returned value."""
    lane: int | None
    """None for primals, seeds and a shadow of all lanes."""
    activity: str
    meaning: str
    """In a few words."""
    documentation: str = ""
    """In sentences, about the place it belongs to."""
    is_receiver: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    """Markdown, one line."""
    signature: str = ""
    """Rust."""
    paragraphs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    has_lanes: bool = False


def rows(function: Function, annotation: Annotation) -> tuple[Row, ...]:
    """The generated function's parameters in order, each with what it is."""
    explained = explain(function, annotation)
    return tuple(
        [
            _row(function, annotation, parameter, explained)
            for parameter in derivative_signature(function, annotation).parameters
        ]
    )


def _row(
    function: Function,
    annotation: Annotation,
    parameter: SignatureParameter,
    explained: Sequence[Explanation],
) -> Row:
    owner = function.parameters[parameter.primal] if parameter.primal is not None else None
    place = parameter.primal if parameter.primal is not None else len(function.parameters)
    return Row(
        text=parameter.text,
        name=parameter.name or parameter.text.partition(":")[0],
        role=parameter.role.value,
        owner=parameter.primal,
        lane=parameter.lane,
        activity=parameter.activity.value if parameter.activity is not None else "",
        meaning=_meaning(function, annotation, parameter, owner),
        documentation=" ".join(explained[place].sentences) if place < len(explained) else "",
        is_receiver=owner is not None and owner.is_self and parameter.role is Role.PRIMAL,
    )


def _meaning(
    function: Function, annotation: Annotation, parameter: SignatureParameter, owner: Parameter | None
) -> str:
    if parameter.role is Role.SEED:
        return f"seed: weight of the returned `{function.return_type}`"
    if parameter.role is Role.PRIMAL:
        return "as for the primal"
    name = owner.name or owner.pattern_text if owner is not None else ""
    what = "tangent" if annotation.mode is Mode.FORWARD else "gradient"
    if parameter.lane is None:
        return f"shadow: {annotation.width} {what}s of `{name}`, one after the other"
    return f"shadow: {what} of `{name}`{f', lane {parameter.lane}' if annotation.width > 1 else ''}"


# -- pages -----------------------------------------------------------------------------------------------


def derivative_page(function: Function, annotation: Annotation, where: str = "") -> Page:
    """Everything about one derivative. `where` is put after its name, as in ``in `file.rs```."""
    width = f", width {annotation.width}" if annotation.width != 1 else ""
    place = f" {where}" if where else ""
    signature = derivative_signature(function, annotation)
    notes = [
        f"`{item.place}`: {' '.join(item.sentences)}"
        if item.index < len(function.parameters)
        else " ".join(item.sentences)
        for item in explain(function, annotation)
        if item.sentences and item.activity is not Activity.CONST
    ]
    if signature.is_unsafe and not function.header.is_unsafe:
        notes.append("`unsafe`, because an `Only` activity leaves the primal's memory unspecified.")
    return Page(
        f"{annotation.mode.title} derivative of `{function.bare_name}`{width}{place}.",
        signature.text,
        notes=tuple(notes),
        rows=rows(function, annotation),
        has_lanes=annotation.width > 1,
    )


def activity_page(function: Function, annotation: Annotation, index: int) -> Page:
    """One activity at its place: a parameter's, or after them the return value's."""
    argument, count = annotation.arguments[index], len(function.parameters)
    if index > count or (index == count and not function.has_return):
        returns = "" if function.has_return else " and no return value"
        number = f"{count} parameter{'' if count == 1 else 's'}{returns}"
        return Page(f"**`{argument.text}`** stands for nothing: `{function.bare_name}` has only {number}.")
    subject = function.parameters[index] if index < count else None
    shown = f"`{subject.text}`" if subject else f"the return value `{function.return_type}`"
    title = f"**`{argument.text}`** for {shown}"
    if argument.activity is None:
        return Page(title, paragraphs=("This is no activity.",))
    refused = refusal(argument.activity, subject, annotation.mode)
    if refused:
        return Page(title, paragraphs=(refused,))
    added = [
        row.text
        for row in rows(function, annotation)
        if row.owner == (index if subject else None) and row.role != Role.PRIMAL
    ]
    seed = seed_page(function, annotation) if subject is None else None
    return Page(
        title,
        ", ".join(added),
        paragraphs=(
            " ".join(explain(function, annotation)[index].sentences),
            *(seed.paragraphs[1:] if seed is not None else ()),
        ),
    )


def width_page(function: Function, annotation: Annotation) -> Page:
    """What the batch width means for this very function."""
    width, forward = annotation.width, annotation.mode is Mode.FORWARD
    what = "tangent" if forward else "gradient"
    several = "" if width == 1 else "s"
    first = f"One call computes {width} {what}{several}. The primal is computed once."
    inputs = len(function.parameters)
    notes = [
        f"`{item.place}`: {item.layout}" if item.index < inputs else f"Return value: {item.layout}"
        for item in explain(function, annotation)
        if item.layout
    ]
    single = [
        f"`{item.place}`" for item in explain(function, annotation)[:inputs] if item.activity in BY_VALUE
    ]
    if single and width > 1:
        verb = "has" if len(single) == 1 else "have"
        notes.append(f"{' and '.join(single)} {verb} one gradient: the width does not reach `Active` inputs.")
    if not forward and width > 1 and return_activity(function, annotation) in BY_VALUE:
        notes.append("`dret` is one seed for all lanes.")
    shadows = tuple([row for row in rows(function, annotation) if row.role == Role.SHADOW])
    return Page(
        f"**Batch width {width}**", paragraphs=(first,), notes=tuple(notes), rows=shadows, has_lanes=True
    )


def seed_page(function: Function, annotation: Annotation) -> Page | None:
    """What ``dret`` is for; None for a derivative without."""
    seeds = tuple([row for row in rows(function, annotation) if row.role == Role.SEED])
    if not seeds:
        return None
    written = function.return_type or ""
    scalar = written in ("f16", "f32", "f64", "f128")
    plain = (
        "`1.0` gives the gradient itself."
        if scalar
        else f"It has a weight for every float of the `{written}`."
    )
    return Page(
        f"**`dret`** seeds the value that `{function.bare_name}` returns",
        seeds[0].text,
        paragraphs=(seeds[0].documentation, f"{plain} rustc's own backend uses 1.0 whatever is passed."),
    )


# -- text ------------------------------------------------------------------------------------------------


def markdown(page: Page) -> str:
    """A page as Markdown."""
    code = f"```rust\n{page.signature}\n```" if page.signature else ""
    # A whole signature comes before what is said about it, added parameters after.
    first, last = (code, "") if "fn " in page.signature else ("", code)
    notes = "\n".join([f"* {note}" for note in page.notes])
    parts = [first, page.title, table(page.rows, page.has_lanes), *page.paragraphs, notes, last]
    return "\n\n".join([part for part in parts if part])


def table(shown: Sequence[Row], has_lanes: bool) -> str:
    """Parameters as a table with role and activity, and with the lane where there are several."""
    if not shown:
        return ""
    heads = ["parameter", "role", *(["lane"] if has_lanes else []), "activity"]
    lines = [_line(heads), "|" + "---|" * len(heads)]
    for group in _grouped(shown):
        first, last = group[0], group[-1]
        role = first.meaning.removesuffix(f", lane {first.lane}")
        text = f"`{first.text}`" if first is last else f"`{first.name}` .. `{last.text}`"
        lane = [_lanes(first, last)] if has_lanes else []
        lines.append(_line([text, role, *lane, first.activity]))
    return "\n".join(lines)


def _grouped(shown: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The rows, the shadows of one parameter together where they are many."""
    for _, found in groupby(shown, key=lambda row: (row.owner, row.role)):
        group = tuple(found)
        yield from [group] if len(group) > _MOST_LANES_SHOWN else [(row,) for row in group]


def _lanes(first: Row, last: Row) -> str:
    if first.role != Role.SHADOW:
        return ""
    if first.lane is None:
        return "all"
    return str(first.lane) if first is last else f"{first.lane} .. {last.lane}"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join([cell.replace("|", "\\|").replace("\n", " ") for cell in cells]) + " |"
