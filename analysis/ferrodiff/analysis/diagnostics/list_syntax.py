"""List syntax."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.text import Span
from ferrodiff.analysis.model import ProblemKind

RULE = Rule(
    code="FD016",
    name="list-syntax",
    severity=Severity.ERROR,
    says="expected a comma-separated list of a name, a width and activities: {what}",
    why="""The argument list follows the grammar of attributes: identifiers and one integer literal, with commas between them.""",
    bad="""#[autodiff_forward(df, -1, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 1, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


WHAT = {
    ProblemKind.UNCLOSED: "the list is not closed",
    ProblemKind.EMPTY_ITEM: "nothing stands between two commas",
    ProblemKind.WIDTH_EXPRESSION: "`{text}` is no width",
    ProblemKind.ARGUMENT_JUNK: "`{text}` is no activity",
    ProblemKind.ARGUMENT_PATH: "`{text}` is a path, and activities are single words",
    ProblemKind.MODE_MISSING: "the mode, `Forward` or `Reverse`, is missing",
}


def check(subject: Subject) -> Iterator[Diagnostic]:
    for kind, what in WHAT.items():
        for start, end, text in subject.problems(kind):
            yield RULE.at(Span(start, end), {"what": what.format(text=text[:60])})
