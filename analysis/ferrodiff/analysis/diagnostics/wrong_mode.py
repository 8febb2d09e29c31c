"""Activity in wrong mode."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import INPUTS
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import other_mode, replace_activity

RULE = Rule(
    code="FD006",
    name="activity-in-wrong-mode",
    severity=Severity.ERROR,
    says="{activity} can not be used in {mode} Mode",
    why="""\
Forward mode knows `Const`, `Dual`, `DualOnly`, `Dualv` and `DualvOnly`; reverse mode `Const`, `Active`,
`ActiveOnly`, `Duplicated` and `DuplicatedOnly`.
""",
    bad="""#[autodiff_forward(df, Active, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for index, parameter, argument in subject.inputs():
        activity = argument.activity
        if activity is None or activity in INPUTS[subject.mode]:
            continue
        words = {"activity": activity.value, "mode": subject.mode.title}
        fixes = replace_activity(subject.function, subject.annotation, index)
        fixes += other_mode(subject.function, subject.annotation)
        yield RULE.at(argument.span, words, related=(subject.about(parameter),), fixes=fixes)
