"""All const."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import best_list
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import rewrite_list
from ferrodiff.analysis.model import Activity
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD030",
    name="all-const",
    severity=Severity.WARNING,
    says="nothing is differentiated: {reason}",
    why="""\
The generated function is the primal under another name.
""",
    bad="""#[autodiff_forward(df, Const, Const)]
fn f(x: f64) -> f64 { x * x }
""",
    good="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x * x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    annotation = subject.annotation
    inputs = annotation.arguments[: len(subject.function.parameters)]
    if any(a.activity is not Activity.CONST for a in inputs):
        return
    words = {"reason": "every parameter is Const" if inputs else "the function has no parameters"}
    if not annotation.arguments:
        # only a name: a function without parameters and return value
        yield RULE.at(annotation.name_span or annotation.span, words)
        return
    best = best_list(subject.function, subject.mode)
    fix = rewrite_list(subject.function, annotation, best)
    useful = list(best) != [a.activity for a in annotation.arguments]
    span = Span(annotation.arguments[0].span.start, annotation.arguments[-1].span.end)
    yield RULE.at(span, words, fixes=(fix if useful else None,))
