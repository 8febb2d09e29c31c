"""Literal in list."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.model import ProblemKind
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD014",
    name="literal-in-list",
    severity=Severity.ERROR,
    says="expected an activity, found the literal `{text}`",
    why="""\
The only literal an annotation may hold is the batch width: an integer without a suffix, in second place.
rustc crashes on floats, strings and the like.
""",
    bad="""#[autodiff_forward(df, 2.0, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 2, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for start, end, text in subject.problems(ProblemKind.WIDTH_LITERAL, ProblemKind.ARGUMENT_LITERAL):
        span = Span(start, end)
        whole = text.partition(".")[0]
        fix = Fix(f"Write `{whole}`", (Edit(span, whole),)) if whole.isdecimal() and "." in text else None
        yield RULE.at(span, {"text": text[:60]}, fixes=(fix,))
