"""Activity count."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import complete_list, replace_activity, trim_list
from ferrodiff.analysis.model import Activity
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD005",
    name="activity-count",
    severity=Severity.ERROR,
    says="expected {expected} activities, but found {found}",
    why="""\
Every parameter needs an activity, `self` included, in order; a function with a return value needs one more,
last. No `->` and a literal `-> ()` mean that there is none.
""",
    bad="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64, k: f64) -> f64 { x * k }
""",
    good="""#[autodiff_forward(df, Dual, Const, Dual)]
fn f(x: f64, k: f64) -> f64 { x * k }
""",
)


def _missing(subject: Subject, present: int) -> list[str]:
    names = [f"`{p.name or p.pattern_text}`" for p in subject.function.parameters[present:]]
    return [*names, "the return value"] if subject.function.has_return else names


def _places(subject: Subject, first: int) -> list[Related]:
    """The parameters (and the return value) from `first` on."""
    without = " has no activity" if first or not subject.annotation.arguments else ""
    places = [Related(p.span, f"`{p.text}`{without}") for p in subject.function.parameters[first:]]
    if subject.function.return_span is not None and subject.function.has_return:
        places.append(Related(subject.function.return_span, f"the return value{without}"))
    return places


def check(subject: Subject) -> Iterator[Diagnostic]:
    function, annotation = subject.function, subject.annotation
    found, expected = len(annotation.arguments), subject.expected
    returned = subject.returned
    explicit_none = returned is not None and returned[1].activity is Activity.NONE and found == expected
    if found == expected and not explicit_none:
        return
    shown = (
        found - 1
        if found and function.has_return and annotation.arguments[-1].activity is Activity.NONE
        else found
    )
    words = {"expected": expected, "found": shown}
    if explicit_none and returned is not None:
        fixes = replace_activity(function, annotation, returned[0])
        notes = ("`None` is how rustc marks a missing return value itself; it is never written",)
        yield RULE.at(returned[1].span, words, related=subject.about_return(), fixes=fixes, notes=notes)
    elif found > expected:
        surplus = annotation.arguments[expected:]
        span = Span(surplus[0].span.start, surplus[-1].span.end)
        yield RULE.at(span, words, related=_places(subject, 0), fixes=trim_list(function, annotation))
    else:
        span = annotation.list_span or annotation.span
        notes = ("missing: " + ", ".join(_missing(subject, found)),)
        yield RULE.at(
            span,
            words,
            related=_places(subject, found),
            fixes=complete_list(function, annotation),
            notes=notes,
        )
