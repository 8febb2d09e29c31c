"""Active in batch."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import BY_VALUE
from ferrodiff.analysis.diagnostics.core import Diagnostic, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import drop_width
from ferrodiff.analysis.model import Mode

RULE = Rule(
    code="FD026",
    name="active-in-batch",
    severity=Severity.WARNING,
    says="the width {width} is ignored for {activity}: all lanes share one value and one seed",
    why="""\
In reverse mode a batch has one shadow per lane for each `Duplicated` parameter, but an `Active` parameter
has one gradient and an `Active` return value one seed. Every lane gets the same seed. Use several calls, or
pass inputs and outputs by reference.
""",
    bad="""#[autodiff_reverse(df, 4, Active, Active)]
fn f(x: f64) -> f64 { x * x }
""",
    good="""#[autodiff_reverse(df, Active, Active)]
fn f(x: f64) -> f64 { x * x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    annotation = subject.annotation
    if subject.mode is not Mode.REVERSE or annotation.width < 2 or annotation.width_span is None:
        return
    concerned = [a for a in annotation.arguments[: subject.expected] if a.activity in BY_VALUE]
    if concerned:
        names = " and ".join(dict.fromkeys([a.text for a in concerned]))
        words = {"width": annotation.width, "activity": names}
        related = [Related(a.span, "one value for all lanes") for a in concerned]
        yield RULE.at(annotation.width_span, words, related=related, fixes=(drop_width(annotation),))
