"""Active reference."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import BY_VALUE, is_indirect
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity

RULE = Rule(
    code="FD022",
    name="active-reference",
    severity=Severity.ERROR,
    says="{activity} can not be used for a reference: its gradient has no value to be returned as",
    why="""\
The gradient of an `Active` parameter is returned by value. rustc accepts `Active` on a reference or raw
pointer and crashes later. The gradient of what is behind a reference goes to a shadow: `Duplicated`.
""",
    bad="""#[autodiff_reverse(df, Active, Active)]
fn f(x: &f64) -> f64 { *x }
""",
    good="""#[autodiff_reverse(df, Duplicated, Active)]
fn f(x: &f64) -> f64 { *x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for index, parameter, argument, activity in subject.valid_inputs:
        if activity in BY_VALUE and is_indirect(parameter.type_text):
            fixes = replace_activity(subject.function, subject.annotation, index)
            words = {"activity": activity.value}
            yield RULE.at(argument.span, words, related=(subject.about(parameter),), fixes=fixes)
