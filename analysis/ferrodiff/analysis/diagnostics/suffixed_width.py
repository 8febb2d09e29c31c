"""Suffixed literal."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.model import ProblemKind
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD015",
    name="suffixed-literal",
    severity=Severity.ERROR,
    says="suffixed literals are not allowed in attributes",
    why="""\
Write the batch width as a bare integer.
""",
    bad="""#[autodiff_forward(df, 4u32, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 4, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for start, end, text in subject.problems(ProblemKind.WIDTH_SUFFIXED):
        span = Span(start, end)
        fix = Fix("Remove the suffix", (Edit(span, str(subject.annotation.width)),), preferred=True)
        yield RULE.at(
            span,
            fixes=(fix if span == subject.annotation.width_span else None,),
            notes=(f"found `{text[:60]}`",),
        )
