"""Width out of range."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.annotation import U32_MAX
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import drop_width

RULE = Rule(
    code="FD003",
    name="width-out-of-range",
    severity=Severity.ERROR,
    says="autodiff width must fit u32, but is {width}",
    why="""\
The number after the name is the batch width, how many tangents one call computes. rustc keeps it in a
`u32`.
""",
    bad="""#[autodiff_forward(df, 4294967296, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 4, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    annotation = subject.annotation
    if annotation.width > U32_MAX and annotation.width_span is not None:
        shown = str(annotation.width) if annotation.width < 10**100 else "a number of over 100 digits"
        yield RULE.at(annotation.width_span, {"width": shown}, fixes=(drop_width(annotation),))
