"""No name."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import best_list
from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.model import ProblemKind
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD002",
    name="no-name",
    severity=Severity.ERROR,
    says="autodiff requires at least a name and mode",
    why="""\
The attribute needs a list that starts with the name of the function to generate. (The word "mode" in
rustc's message is left over from an older form; the mode is part of the macro's name today.)
""",
    bad="""#[autodiff_reverse]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_reverse(df, Active, Active)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    if not any(subject.problems(ProblemKind.NO_LIST, ProblemKind.EMPTY_LIST)):
        return
    annotation = subject.annotation
    activities = ", ".join([a.value for a in best_list(subject.function, subject.mode)])
    mode = f", {subject.mode.title}" if annotation.old_form else ""
    listed = f"(d{subject.function.bare_name}{mode}{', ' if activities else ''}{activities})"
    span = Span(annotation.path_span.start, annotation.item_span.end)
    fix = Fix(f"Write `{listed}`", (Edit(span, annotation.path + listed),), preferred=True)
    head = Span(subject.function.item_text_span.start, subject.function.name_span.end)
    related = (Related(annotation.item_span, "this annotation names no function to generate"),)
    yield RULE.at(head, related=related, fixes=(fix,))
