"""A silencing comment that names no diagnostic."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD040",
    name="unknown-code",
    severity=Severity.WARNING,
    says="unknown diagnostic: `{code}`",
    why="""\
`// ferrodiff: allow(..)` silences diagnostics by code, `FD` and three digits. A code that does not exist
silences nothing, and the comment looks as if it did.
""",
    bad="""// ferrodiff: allow(FD999)
#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""// ferrodiff: allow(FD031)
#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(comments: Iterator[tuple[Span, str]], known: frozenset[str]) -> Iterator[Diagnostic]:
    """`comments` are the codes that silencing comments name, with their places."""
    for span, code in comments:
        if code not in known:
            near = [other for other in sorted(known) if other.upper() == code.upper()]
            fixes = [Fix(f"Write `{other}`", (Edit(span, other),), preferred=True) for other in near]
            yield RULE.at(span, {"code": code}, fixes=fixes)
