"""Zero width."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import drop_width, set_width

RULE = Rule(
    code="FD020",
    name="zero-width",
    severity=Severity.ERROR,
    says="a batch of width 0 computes no derivative",
    why="""\
rustc accepts the width 0 and generates a signature without shadows. It is never meant.
""",
    bad="""#[autodiff_forward(df, 0, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 4, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    annotation = subject.annotation
    if annotation.width == 0 and annotation.width_span is not None:
        yield RULE.at(annotation.width_span, fixes=(drop_width(annotation), set_width(annotation, 4)))
