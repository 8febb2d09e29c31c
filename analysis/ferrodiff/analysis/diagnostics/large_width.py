"""Large width."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.annotation import U32_MAX
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import set_width
from ferrodiff.analysis.signature import MAXIMUM_SHOWN_WIDTH

RULE = Rule(
    code="FD031",
    name="large-width",
    severity=Severity.WARNING,
    says="a batch of {width} tangents is wider than any machine: {reason}",
    why="""\
Each lane of a batch is a copy of every tangent. A processor has 16 or 32 vector registers of 2 to 8 `f64`
lanes; beyond about 64 lanes the tangents of a single expression no longer fit into them and are spilled to
memory on every operation, while code size and compile time grow with the width. Several calls of a narrower
batch are faster. rustc sets no limit.
""",
    bad="""#[autodiff_forward(df, 1000, Dual, DualOnly)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 8, Dual, DualOnly)]
fn f(x: f64) -> f64 { x }
""",
)


WIDEST = 64
_LIMIT = f"Ferrodiff computes at most {MAXIMUM_SHOWN_WIDTH} lanes in one call"


def check(subject: Subject) -> Iterator[Diagnostic]:
    annotation = subject.annotation
    if WIDEST < annotation.width <= U32_MAX and annotation.width_span is not None:
        words = {"width": annotation.width, "reason": "registers spill, and code grows with every lane"}
        fixes = (set_width(annotation, 8), set_width(annotation, 16))
        notes = (_LIMIT,) if annotation.width > MAXIMUM_SHOWN_WIDTH else ()
        yield RULE.at(annotation.width_span, words, fixes=fixes, notes=notes)
