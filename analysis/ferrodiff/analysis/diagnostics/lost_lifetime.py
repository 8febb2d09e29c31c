"""A returned reference whose lifetime the derivative cannot infer."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import is_indirect
from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.signature import derivative_signature
from ferrodiff.analysis.typetext import ELIDED

RULE = Rule(
    code="FD039",
    name="lost-lifetime",
    severity=Severity.ERROR,
    says="missing lifetime specifier{s}",
    why="""\
`fn f(x: &f64) -> &f64` takes the returned lifetime from its only reference. The derivative gets the shadow of
`x` as a second reference, and Rust no longer knows which of the two is meant (`E0106`). A named lifetime says
it: the shadow gets the same one.
""",
    bad="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: &f64) -> &f64 { x }
""",
    good="""#[autodiff_forward(df, Dual, Dual)]
fn f<'a>(x: &'a f64) -> &'a f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    function = subject.function
    if (
        function.return_type is None
        or function.return_span is None
        or not ELIDED.search(function.return_type)
    ):
        return
    if any(p.is_self and is_indirect(p.type_text) for p in function.parameters):
        return
    signature = derivative_signature(function, subject.annotation)
    returned = len(ELIDED.findall(signature.return_type or ""))
    before = sum(len(ELIDED.findall(p.type_text)) for p in function.parameters)
    after = sum(len(ELIDED.findall(p.type_text)) for p in signature.parameters)
    if returned and before == 1 and after > 1:
        yield RULE.at(function.return_span, {"s": "s" if returned > 1 else ""})
