"""Dualv return."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.model import Activity, Mode

RULE = Rule(
    code="FD024",
    name="dualv-return",
    severity=Severity.WARNING,
    says="a {activity} return value has room for one tangent only",
    why="""\
The type of a `Dualv` return value is `(T, T)` whatever the width, so the tangents of the other lanes are
lost; rustc's backend cannot fill it at all. `Dual` returns `[T; N + 1]`, `DualOnly` returns `[T; N]`.
""",
    bad="""#[autodiff_forward(df, 4, Dual, Dualv)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 4, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    returned = subject.returned
    if subject.mode is Mode.FORWARD and returned is not None and returned[1].activity is Activity.DUALV:
        index, argument = returned
        fixes = replace_activity(
            subject.function, subject.annotation, index, (Activity.DUAL, Activity.DUAL_ONLY)
        )
        yield RULE.at(argument.span, {"activity": "Dualv"}, related=subject.about_return(), fixes=fixes)
