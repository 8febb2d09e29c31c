"""Dualv only."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.model import Activity, Mode

RULE = Rule(
    code="FD025",
    name="dualv-only",
    severity=Severity.WARNING,
    says="rustc cannot compile the activity DualvOnly",
    why="""\
rustc accepts `DualvOnly` and then crashes. Ferrodiff treats it as `Dualv` (and as `DualOnly` for a return
value).
""",
    bad="""#[autodiff_forward(df, 2, DualvOnly)]
fn f(x: &mut [f64]) { x[0] = 1.0; }
""",
    good="""#[autodiff_forward(df, 2, Dualv)]
fn f(x: &mut [f64]) { x[0] = 1.0; }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for index, argument in enumerate(subject.annotation.arguments):
        if argument.activity is Activity.DUALV_ONLY and subject.mode is Mode.FORWARD:
            instead = (Activity.DUALV,) if index < len(subject.function.parameters) else (Activity.DUAL_ONLY,)
            fixes = replace_activity(subject.function, subject.annotation, index, instead)
            yield RULE.at(argument.span, fixes=fixes)
