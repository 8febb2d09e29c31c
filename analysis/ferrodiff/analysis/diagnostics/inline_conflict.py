"""Inline conflict."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject

RULE = Rule(
    code="FD035",
    name="inline-conflict",
    severity=Severity.INFORMATION,
    says="the derivative of a function with `#[inline]` gets `#[inline(never)]`",
    why="""\
A differentiated function must stay a function of its own for the derivative to be found. rustc answers any
`#[inline]` on it, also `#[inline(always)]`, with `#[inline(never)]` on the derivative.
""",
    bad="""#[autodiff_forward(df, Dual, Dual)]
#[inline(always)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    tags=("unnecessary",),
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    if subject.annotation is not subject.function.annotations[0]:
        return
    for attribute in subject.function.attributes:
        if attribute.path == "inline" and attribute.text != "#[inline(never)]":
            fix = Fix(f"Remove `{attribute.text}`", (Edit(attribute.span, ""),))
            yield RULE.at(attribute.span, fixes=(fix,))
