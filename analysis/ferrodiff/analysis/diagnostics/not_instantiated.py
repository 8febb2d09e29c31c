"""A generic function whose derivative nothing in the file calls."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.text import encode

RULE = Rule(
    code="FD036",
    name="never-instantiated",
    severity=Severity.HINT,
    says="`{name}` is generic and nothing here calls it, so no derivative is computed",
    why="""\
A generic function is compiled only for the types it is called with. Until the derivative is called, nothing
is differentiated, and no error of differentiation can show up. Reported for functions that only this file
can call.
""",
    bad="""#[autodiff_forward(df, Dual, Dual)]
fn f<T: Copy>(x: T) -> T { x }
""",
    good="""#[autodiff_forward(df, Dual, Dual)]
fn f<T: Copy>(x: T) -> T { x }

fn g() -> (f64, f64) { df(1.0, 1.0) }
""",
    tags=("unnecessary",),
)


def check(file: File) -> Iterator[Diagnostic]:
    data = file.analysis.source.data
    for located in file.located:
        function, annotation = located.function, located.annotation
        private = not function.visibility and function.container in ("module", "block", "impl")
        generic = any(g.kind != "lifetime" for g in function.generics)
        if not (private and generic) or annotation.name is None or annotation.name_span is None:
            continue
        if data.count(encode(annotation.name)) == 1:
            yield RULE.at(located.at(annotation.name_span), {"name": annotation.name})
