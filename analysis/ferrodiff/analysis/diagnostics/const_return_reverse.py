"""Const return reverse."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import holds_float
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.model import Activity, Mode

RULE = Rule(
    code="FD029",
    name="const-return-reverse",
    severity=Severity.WARNING,
    says="a Const return value seeds nothing: gradients come from Duplicated outputs only",
    why="""\
With a `Const` return activity in reverse mode there is no `dret`. rustc leaves the returned value undefined
and seeds it with 1.0. Ferrodiff returns the primal value and seeds nothing, so only what is written through
`Duplicated` references has gradients. `Active` adds the parameter `dret`.
""",
    bad="""#[autodiff_reverse(df, Duplicated, Const)]
fn f(x: &f64) -> f64 { x * x }
""",
    good="""#[autodiff_reverse(df, Duplicated, Active)]
fn f(x: &f64) -> f64 { x * x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    returned, written = subject.returned, subject.function.return_type
    if returned is None or written is None or subject.mode is not Mode.REVERSE:
        return
    active = any(a is not Activity.CONST for _, _, _, a in subject.valid_inputs)
    if active and returned[1].activity is Activity.CONST and holds_float(written) is True:
        fixes = replace_activity(
            subject.function, subject.annotation, returned[0], (Activity.ACTIVE, Activity.ACTIVE_ONLY)
        )
        yield RULE.at(returned[1].span, related=subject.about_return(), fixes=fixes)
