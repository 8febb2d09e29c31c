"""Name is a parameter."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import free_name, rename

RULE = Rule(
    code="FD018",
    name="name-is-a-parameter",
    severity=Severity.ERROR,
    says="the derivative `{name}` has the name of one of its parameters",
    why="""\
The generated function refers to itself by name, and a parameter of the same name hides it. rustc crashes on
this during code generation.
""",
    bad="""#[autodiff_forward(x, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    annotation = subject.annotation
    if annotation.name is None or annotation.name_span is None:
        return
    taken = [p.name for p in subject.function.parameters if p.name is not None]
    for parameter in subject.function.parameters:
        if parameter.name == annotation.name:
            related = (Related(parameter.span, f"`{parameter.name}` is a parameter here"),)
            new = f"d{subject.function.bare_name}"
            fixes = rename(annotation, free_name(new, taken) if new in taken else new)
            yield RULE.at(annotation.name_span, {"name": annotation.name}, related=related, fixes=fixes)
