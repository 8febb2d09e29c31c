"""Invalid return activity."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import RETURNS
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.model import Activity

RULE = Rule(
    code="FD008",
    name="invalid-return-activity",
    severity=Severity.ERROR,
    says="invalid return activity {activity} in {mode} Mode",
    why="""\
A return value can be `Const`, `Dual`, `DualOnly`, `Dualv` or `DualvOnly` in forward mode; `Const`, `Active`
or `ActiveOnly` in reverse mode.
""",
    bad="""#[autodiff_reverse(df, Duplicated, Duplicated)]
fn f(x: &f64) -> f64 { *x }
""",
    good="""#[autodiff_reverse(df, Duplicated, Active)]
fn f(x: &f64) -> f64 { *x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    returned = subject.returned
    if (
        returned is None
        or returned[1].activity is None
        or returned[1].activity in (Activity.NONE, *RETURNS[subject.mode])
    ):
        return
    index, argument = returned
    words = {"activity": returned[1].activity.value, "mode": subject.mode.title}
    fixes = replace_activity(subject.function, subject.annotation, index)
    yield RULE.at(argument.span, words, related=subject.about_return(), fixes=fixes)
