"""Ignored decoration."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.model import ProblemKind
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD032",
    name="ignored-decoration",
    severity=Severity.WARNING,
    says="only `{word}` is read, what follows it is ignored",
    why="""\
rustc looks at the path of each item only: `Dual(3)` is `Dual`, `df = "x"` is `df`.
""",
    bad="""#[autodiff_forward(df, Dual(3), Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for start, end, text in subject.problems(ProblemKind.NAME_DECORATED, ProblemKind.ARGUMENT_DECORATED):
        word = text.partition("(")[0].partition("=")[0].partition("[")[0].partition("{")[0].strip()
        fix = Fix(f"Write `{word}`", (Edit(Span(start, end), word),), preferred=True)
        yield RULE.at(Span(start, end), {"word": word}, fixes=(fix,))
