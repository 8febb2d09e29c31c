"""Unknown activity."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from ferrodiff.analysis.activities import INPUTS, choices_at
from ferrodiff.analysis.diagnostics.core import Diagnostic, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import replace_activity
from ferrodiff.analysis.model import Activity, Mode, ProblemKind

RULE = Rule(
    code="FD004",
    name="unknown-activity",
    severity=Severity.ERROR,
    says="did not recognize Activity: `{text}`",
    why="""\
After name and width come activities: `Const`, `Active`, `ActiveOnly`, `Dual`, `DualOnly`, `Dualv`,
`DualvOnly`, `Duplicated`, `DuplicatedOnly`. Spelling and case matter. A number that is not in second place
is read as an activity too.
""",
    bad="""#[autodiff_reverse(df, Dupliacted, Active)]
fn f(x: &f64) -> f64 { *x }
""",
    good="""#[autodiff_reverse(df, Duplicated, Active)]
fn f(x: &f64) -> f64 { *x }
""",
)


OTHER_REPORTS = (
    ProblemKind.ARGUMENT_PATH,
    ProblemKind.ARGUMENT_LITERAL,
    ProblemKind.ARGUMENT_JUNK,
    ProblemKind.WIDTH_SUFFIXED,
)


def _closest_first(text: str, mode: Mode, choices: tuple[Activity, ...]) -> list[Activity]:
    """Activities of the mode spelt almost like `text` before the choices for the place."""
    by_name = {activity.value.lower(): activity for activity in Activity if activity in INPUTS[mode]}
    started = [name for name in by_name if len(text) > 2 and name.startswith(text.lower())]
    close = [by_name[name] for name in started[:1] or get_close_matches(text.lower(), by_name, 1, 0.7)]
    return close + [choice for choice in choices if choice not in close]


def check(subject: Subject) -> Iterator[Diagnostic]:
    annotation = subject.annotation
    reported = {start for start, _, _ in subject.problems(*OTHER_REPORTS)}
    for index, argument in enumerate(annotation.arguments):
        if argument.activity is not None or argument.span.start in reported:
            continue
        choices = choices_at(subject.function, subject.mode, index, annotation.width)
        if index < len(subject.function.parameters):
            related: tuple[Related, ...] = (subject.about(subject.function.parameters[index]),)
        else:
            related = subject.about_return() if index == len(subject.function.parameters) else ()
        fixes = replace_activity(
            subject.function, annotation, index, _closest_first(argument.text, subject.mode, choices)
        )
        yield RULE.at(argument.span, {"text": argument.text}, related=related, fixes=fixes)
