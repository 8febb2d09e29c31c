"""Activity without floats."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import RETURNS, holds_float
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.diagnostics.unknown_callee import is_unknown_code
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.local_types import LocalTypes
from ferrodiff.analysis.model import Activity, shifted

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


def check_file(file: File) -> Iterator[Diagnostic]:
    """Types defined in the same file: structs, enums and aliases without type parameters."""
    types: LocalTypes | None = None
    for located in file.located:
        subject = Subject(located.function, located.annotation)
        if len(located.annotation.arguments) != subject.expected:
            continue
        own = located.function.container_info.self_type
        generic = {g.name for g in (*located.function.generics, *located.function.container_info.generics)}
        for index, parameter, argument, activity in subject.valid_inputs():
            written = parameter.type_text
            if activity is Activity.CONST or is_unknown_code(written) or holds_float(written) is not None:
                continue
            types = types or LocalTypes(file.analysis)
            if types.holds_float(written, generic, own) is False:
                words = {"activity": activity.value, "type": written}
                moved = shifted(located.annotation, located.base)
                fixes = replace_activity(located.function, moved, index, (Activity.CONST,))
                related = (shifted(subject.about(parameter), located.base),)
                yield RULE.at(located.at(argument.span), words, related=related, fixes=fixes)


def check(subject: Subject) -> Iterator[Diagnostic]:
    const = (Activity.CONST,)
    for index, parameter, argument, activity in subject.valid_inputs():
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
