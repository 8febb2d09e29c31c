"""Unsupported function."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject

RULE = Rule(
    code="FD034",
    name="unsupported-function",
    severity=Severity.ERROR,
    says="{what} cannot be differentiated",
    why="""\
`async` functions return a future before they have computed anything, and a C-variadic function has
parameters without names or types. rustc expands them to code that does not compile.
""",
    bad="""#[autodiff_reverse(df, Active, Active)]
async fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_reverse(df, Active, Active)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    function = subject.function
    if function.header.is_async:
        yield RULE.at(function.name_span, {"what": "an `async fn`"})
    for parameter in function.parameters:
        if parameter.variadic:
            yield RULE.at(parameter.span, {"what": "a variadic function"})
