"""Name not an identifier."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.model import ProblemKind
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD012",
    name="name-not-an-identifier",
    severity=Severity.ERROR,
    says="the name of the derivative must be a plain identifier, not `{text}`",
    why="""\
The first item of the list becomes the name of a function in the scope of the annotated one. rustc crashes
on a path and makes a function with a number for a name of a literal.
""",
    bad="""#[autodiff_forward(diff::df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for start, end, text in subject.problems(ProblemKind.NAME_PATH, ProblemKind.NAME_NOT_IDENTIFIER):
        last = text.rpartition("::")[2].strip()
        name = last if "::" in text and last.isidentifier() else f"d{subject.function.bare_name}"
        fix = Fix(f"Write `{name}`", (Edit(Span(start, end), name),), preferred=True)
        yield RULE.at(Span(start, end), {"text": text[:60]}, fixes=(fix,))
