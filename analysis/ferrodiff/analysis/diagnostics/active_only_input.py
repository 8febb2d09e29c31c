"""Active only input."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import is_indirect
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.model import Activity

RULE = Rule(
    code="FD027",
    name="active-only-input",
    severity=Severity.WARNING,
    says="the gradient of an ActiveOnly parameter is computed and lost",
    why="""\
rustc accepts `ActiveOnly` for a parameter, but its gradient is not part of the return type. `Active`
returns it; `Const` does not compute it.
""",
    bad="""#[autodiff_reverse(df, ActiveOnly, Active)]
fn f(x: f64) -> f64 { x * x }
""",
    good="""#[autodiff_reverse(df, Active, Active)]
fn f(x: f64) -> f64 { x * x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    choices = (Activity.ACTIVE, Activity.CONST)
    for index, parameter, argument, activity in subject.valid_inputs:
        if activity is Activity.ACTIVE_ONLY and not is_indirect(parameter.type_text):
            fixes = replace_activity(subject.function, subject.annotation, index, choices)
            yield RULE.at(argument.span, related=(subject.about(parameter),), fixes=fixes)
