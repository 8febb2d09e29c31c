"""Old form."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import new_form

RULE = Rule(
    code="FD033",
    name="old-form",
    severity=Severity.WARNING,
    says="the `#[autodiff(..)]` form is gone since mid 2025",
    why="""\
The single macro with a mode argument was split into `autodiff_forward` and `autodiff_reverse`. The width
now stands directly after the name.
""",
    bad="""#[autodiff(df, Forward, 4, Dual, DualOnly)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 4, Dual, DualOnly)]
fn f(x: f64) -> f64 { x }
""",
    tags=("deprecated",),
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    if subject.annotation.old_form:
        yield RULE.at(subject.annotation.path_span, fixes=new_form(subject.annotation))
