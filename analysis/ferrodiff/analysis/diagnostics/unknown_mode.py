"""Unknown mode."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.model import Mode, ProblemKind
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD017",
    name="unknown-mode",
    severity=Severity.ERROR,
    says="unknown Mode: `{text}`. Use `Forward` or `Reverse`",
    why="""\
In the old form `#[autodiff(..)]` the mode stands after the name. Current compilers have two macros instead.
""",
    bad="""#[autodiff(df, Backward, Active, Active)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_reverse(df, Active, Active)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for start, end, text in subject.problems(ProblemKind.MODE_UNKNOWN):
        span = Span(start, end)
        fixes = [Fix(f"Replace by `{mode.title}`", (Edit(span, mode.title),)) for mode in Mode]
        yield RULE.at(span, {"text": text[:60]}, fixes=fixes)
