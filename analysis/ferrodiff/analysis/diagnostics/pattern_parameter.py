"""Pattern parameter."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD013",
    name="pattern-parameter",
    severity=Severity.ERROR,
    says="a differentiated function needs plain names for its parameters, not the pattern `{pattern}`",
    why="""\
The names of shadows are made from the names of parameters, so `_`, tuple, struct and reference patterns
have none. rustc crashes on them. Take the parameter by name and destructure it in the body.
""",
    bad="""#[autodiff_reverse(df, Active, Active)]
fn f((x, y): (f64, f64)) -> f64 { x * y }
""",
    good="""#[autodiff_reverse(df, Active, Active)]
fn f(p: (f64, f64)) -> f64 { p.0 * p.1 }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    taken = {p.name for p in subject.function.parameters}
    for index, parameter in enumerate(subject.function.parameters):
        if parameter.name is not None or parameter.variadic:
            continue
        name = f"p{index}"
        while name in taken:
            name += "_"
        edits = [Edit(parameter.pattern_span, name)]
        body = subject.function.body_span
        if body is not None and parameter.pattern_text != "_":
            edits.append(
                Edit(Span(body.start + 1, body.start + 1), f" let {parameter.pattern_text} = {name};")
            )
        fix = Fix(f"Name the parameter `{name}`", tuple(edits), preferred=True)
        words = {"pattern": parameter.pattern_text}
        related = (Related(subject.annotation.item_span, "differentiated here"),)
        yield RULE.at(parameter.pattern_span, words, related=related, fixes=(fix,))
