"""Const return forward."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import holds_float
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.model import Activity, Mode

RULE = Rule(
    code="FD028",
    name="const-return-forward",
    severity=Severity.WARNING,
    says="a Const return value is the tangent, not the primal",
    why="""\
With a `Const` return activity in forward mode rustc asks for exactly the same as with `DualOnly`: a
returned float is the tangent (the first one in a batch). Ferrodiff returns the same. `DualOnly` says so,
`Dual` returns both.
""",
    bad="""#[autodiff_forward(df, Dual, Const)]
fn f(x: f64) -> f64 { x * x }
""",
    good="""#[autodiff_forward(df, Dual, DualOnly)]
fn f(x: f64) -> f64 { x * x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    returned, written = subject.returned, subject.function.return_type
    if returned is None or written is None or subject.mode is not Mode.FORWARD:
        return
    active = any(a is not Activity.CONST for _, _, _, a in subject.valid_inputs)
    if active and returned[1].activity is Activity.CONST and holds_float(written) is True:
        fixes = replace_activity(
            subject.function, subject.annotation, returned[0], (Activity.DUAL_ONLY, Activity.DUAL)
        )
        yield RULE.at(returned[1].span, related=subject.about_return(), fixes=fixes)
