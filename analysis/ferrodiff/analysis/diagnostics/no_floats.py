"""Activity without floats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ferrodiff.analysis.activities import RETURNS, holds_float
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.diagnostics.unknown_callee import is_unknown_code
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.local_types import LocalTypes
from ferrodiff.analysis.model import Activity, Argument, Parameter, shifted

if TYPE_CHECKING:
    from ferrodiff.analysis.document import Chunk

RULE = Rule(
    code="FD021",
    name="activity-without-floats",
    severity=Severity.WARNING,
    says="{activity} has no effect for this type: `{type}` holds no floating-point numbers",
    why="""\
Only floats have derivatives. rustc accepts any activity on integers, text and references to them; the
shadow is then dead weight at best. `Const` says what is meant.
""",
    bad="""#[autodiff_reverse(df, Duplicated, Duplicated, Active)]
fn f(index: &[usize], x: &[f64]) -> f64 { x[index[0]] }
""",
    good="""#[autodiff_reverse(df, Const, Duplicated, Active)]
fn f(index: &[usize], x: &[f64]) -> f64 { x[index[0]] }
""",
)


@dataclass(frozen=True, slots=True)
class _Undecided:
    """An input whose type says nothing by itself; places are relative to the item."""

    subject: Subject
    index: int
    parameter: Parameter
    argument: Argument
    activity: Activity


def _undecided(chunk: Chunk) -> tuple[_Undecided, ...]:
    """Kept with the item."""
    known: tuple[_Undecided, ...] | None = chunk.kept.get(RULE.code)
    if known is None:
        subjects = [Subject(f, a) for f in chunk.found.functions for a in f.annotations]
        known = chunk.kept[RULE.code] = tuple(
            [
                _Undecided(subject, *found)
                for subject in subjects
                if len(subject.annotation.arguments) == subject.expected
                for found in subject.valid_inputs
                if found[-1] is not Activity.CONST and _says_nothing(found[1].type_text)
            ]
        )
    return known


def _says_nothing(written: str) -> bool:
    return not is_unknown_code(written) and holds_float(written) is None


def check_file(file: File) -> Iterator[Diagnostic]:
    """Types defined in the same file: structs, enums and aliases without type parameters."""
    types: LocalTypes | None = None
    for placed in file.annotated:
        for found in _undecided(placed.chunk):
            types = types or LocalTypes(file.analysis)
            function, written = found.subject.function, found.parameter.type_text
            own = function.container_info.self_type
            generic = {g.name for g in (*function.generics, *function.container_info.generics)}
            if types.holds_float(written, generic, own) is False:
                words = {"activity": found.activity.value, "type": written}
                moved = shifted(found.subject.annotation, placed.start)
                fixes = replace_activity(function, moved, found.index, (Activity.CONST,))
                related = (shifted(found.subject.about(found.parameter), placed.start),)
                yield RULE.at(found.argument.span.shifted(placed.start), words, related=related, fixes=fixes)


def check(subject: Subject) -> Iterator[Diagnostic]:
    const = (Activity.CONST,)
    for index, parameter, argument, activity in subject.valid_inputs:
        if activity is Activity.CONST or is_unknown_code(parameter.type_text):
            continue
        if holds_float(parameter.type_text) is False:
            words = {"activity": activity.value, "type": parameter.type_text}
            fixes = replace_activity(subject.function, subject.annotation, index, const)
            yield RULE.at(argument.span, words, related=(subject.about(parameter),), fixes=fixes)
    returned, written = subject.returned, subject.function.return_type
    if returned is None or written is None or returned[1].activity in (None, Activity.CONST, Activity.NONE):
        return
    if returned[1].activity in RETURNS[subject.mode] and holds_float(written) is False:
        words = {"activity": returned[1].activity.value, "type": written}
        fixes = replace_activity(subject.function, subject.annotation, returned[0], const)
        yield RULE.at(returned[1].span, words, related=subject.about_return(), fixes=fixes)
