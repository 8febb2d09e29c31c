"""Activity for wrong type."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import BY_INDIRECTION_ONLY, is_indirect
from ferrodiff.analysis.diagnostics.core import Diagnostic, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.model import Activity

RULE = Rule(
    code="FD007",
    name="activity-for-wrong-type",
    severity=Severity.ERROR,
    says="{activity} can not be used for this type",
    why="""\
`Duplicated` and `DuplicatedOnly` need memory to add gradients to: a parameter written with `&`, `&mut`,
`*const` or `*mut`. Only the written type counts; an alias of a reference is not looked through. A value is
`Active`.
""",
    bad="""#[autodiff_reverse(df, Duplicated, Active)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_reverse(df, Active, Active)]
fn f(x: f64) -> f64 { x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    for index, parameter, argument in subject.inputs():
        activity = argument.activity
        refused = activity is Activity.NONE or (
            activity in BY_INDIRECTION_ONLY and not is_indirect(parameter.type_text)
        )
        if activity is None or not refused:
            continue
        fixes = replace_activity(subject.function, subject.annotation, index)
        related = (Related(argument.span, f"`{activity.value}` is written here"),)
        yield RULE.at(parameter.type_span, {"activity": activity.value}, related=related, fixes=fixes)
