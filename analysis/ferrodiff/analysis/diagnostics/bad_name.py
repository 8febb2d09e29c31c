"""Name not an identifier."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.model import ProblemKind
from ferrodiff.analysis.printing import RESERVED
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


KEYWORDS = RESERVED - {"gen"}  # which is one from edition 2024 on


def _keywords(subject: Subject) -> Iterator[tuple[int, int, str]]:
    """A name that is a keyword; written with ``r#`` it is longer than the bare name."""
    name, span = subject.annotation.name, subject.annotation.name_span
    if name in KEYWORDS and span is not None and span.length == len(name):
        yield span.start, span.end, name


def check(subject: Subject) -> Iterator[Diagnostic]:
    problems = subject.problems(ProblemKind.NAME_PATH, ProblemKind.NAME_NOT_IDENTIFIER)
    for start, end, text in (*problems, *_keywords(subject)):
        last = text.rpartition("::")[2].strip()
        name = last if "::" in text and last.isidentifier() else f"d{subject.function.bare_name}"
        fix = Fix(f"Write `{name}`", (Edit(Span(start, end), name),), preferred=True)
        yield RULE.at(Span(start, end), {"text": text[:60]}, fixes=(fix,))
