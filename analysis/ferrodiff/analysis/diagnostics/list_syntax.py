"""List syntax."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.model import ProblemKind
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD016",
    name="list-syntax",
    severity=Severity.ERROR,
    says="{what}",
    why="""\
A list that is not closed, an empty place, an expression or a path. The argument list follows the grammar of
attributes: identifiers and one integer literal, with commas between them.
""",
    bad="""#[autodiff_forward(df, -1, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 1, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


WHAT = {
    ProblemKind.UNCLOSED: "the argument list is not closed",
    ProblemKind.EMPTY_ITEM: "expected identifier, found `,`",
    ProblemKind.WIDTH_EXPRESSION: "expected unsuffixed literal, found `{first}`",
    ProblemKind.ARGUMENT_JUNK: "expected unsuffixed literal, found `{first}`",
    ProblemKind.MISSING_COMMA: "expected one of `(`, `,`, `::`, or `=`, found `{second}`",
    ProblemKind.ARGUMENT_PATH: "expected an activity, found the path `{text}`",
    ProblemKind.MODE_MISSING: "expected the mode, `Forward` or `Reverse`",
}


def check(subject: Subject) -> Iterator[Diagnostic]:
    for kind, what in WHAT.items():
        for start, end, text in subject.problems(kind):
            words = text.split(" ")
            said = what.format(text=text[:60], first=text[:1], second=words[min(1, len(words) - 1)])
            fixes: tuple[Fix, ...] = ()
            if kind is ProblemKind.MISSING_COMMA:
                fixes = (Fix("Insert a comma", (Edit(Span(start, end), ", ".join(words)),), preferred=True),)
            yield RULE.at(Span(start, end), {"what": said}, fixes=fixes)
