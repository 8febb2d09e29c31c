"""Inline conflict."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.text import Span

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
            fix = Fix(f"Remove `{attribute.text}`", (Edit(_with_line(subject.text, attribute.span), ""),))
            yield RULE.at(attribute.span, fixes=(fix,))


def _with_line(text: bytes, span: Span) -> Span:
    """The attribute, together with the rest of a line that it has for itself."""
    start, end = text.rfind(b"\n", 0, span.start) + 1, text.find(b"\n", span.end) + 1
    alone = end > 0 and not text[start : span.start].strip() and not text[span.end : end].strip()
    return Span(start, end) if alone else span
