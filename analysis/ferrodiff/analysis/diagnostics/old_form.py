"""Old form."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.fixes import new_form
from ferrodiff.analysis.model import shifted

RULE = Rule(
    code="FD033",
    name="old-form",
    severity=Severity.WARNING,
    says="the `#[autodiff(..)]` form is gone since mid 2025",
    why="""\
The single macro with a mode argument was split into `autodiff_forward` and `autodiff_reverse`. The width
now stands directly after the name.
""",
    bad="""#[autodiff(df, Forward, 4, Dual, DualOnly)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df, 4, Dual, DualOnly)]
fn f(x: f64) -> f64 { x }
""",
    tags=("deprecated",),
)


def check(file: File) -> Iterator[Diagnostic]:
    for located in file.located:
        if located.annotation.old_form:
            annotation = shifted(located.annotation, located.base)
            yield RULE.at(annotation.path_span, fixes=new_form(annotation, file.analysis))
