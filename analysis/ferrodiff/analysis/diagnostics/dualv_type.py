"""Dualv not a slice."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import LONG, cannot_be_slice
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity

RULE = Rule(
    code="FD023",
    name="dualv-not-a-slice",
    severity=Severity.ERROR,
    says="{activity} needs a slice: `{type}` has no length to multiply by the width",
    why="""\
`Dualv` passes the tangents of all lanes in one long slice, lane k at `[k * x.len()..]`. It exists for
`&[T]` and `&mut [T]` only; rustc crashes on anything else.
""",
    bad="""#[autodiff_forward(df, 4, Dualv, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 4, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for index, parameter, argument, activity in subject.valid_inputs:
        if activity in LONG and cannot_be_slice(parameter.type_text):
            words = {"activity": activity.value, "type": parameter.type_text}
            fixes = replace_activity(subject.function, subject.annotation, index)
            yield RULE.at(argument.span, words, related=(subject.about(parameter),), fixes=fixes)
