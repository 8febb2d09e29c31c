"""Shadow name clash."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.activities import BY_VALUE
from ferrodiff.analysis.diagnostics.core import Diagnostic, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.subject import Subject
from ferrodiff.analysis.fixes import free_name, rename_parameter
from ferrodiff.analysis.model import Mode
from ferrodiff.analysis.signature import shadow_names
from ferrodiff.analysis.text import SourceText, Span

RULE = Rule(
    code="FD019",
    name="shadow-name-clash",
    severity=Severity.ERROR,
    says="identifier `{name}` is bound more than once in this parameter list",
    why="""\
The shadow of a parameter `x` is called `bx_0`, `bx_1`, ... in forward mode and `dx_0`, `dx_1`, ... in
reverse mode, and the seed of the return value `dret`. A parameter that has such a name already clashes with
it (`E0415`).
""",
    bad="""#[autodiff_reverse(df, Duplicated, Const, Active)]
fn f(x: &f64, dx_0: f64) -> f64 { *x }
""",
    good="""#[autodiff_reverse(df, Duplicated, Const, Active)]
fn f(x: &f64, offset: f64) -> f64 { *x }
""",
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    names = {p.name: p for p in subject.function.parameters if p.name is not None}
    generated: list[tuple[str, Span]] = []
    for _, parameter, argument, activity in subject.valid_inputs:
        shadows = shadow_names(parameter, activity, subject.mode, subject.annotation.width)
        generated += [(shadow, argument.span) for shadow in shadows if shadow in names]
    returned = subject.returned
    if (
        subject.mode is Mode.REVERSE
        and returned is not None
        and returned[1].activity in BY_VALUE
        and "dret" in names
    ):
        generated.append(("dret", returned[1].span))
    for name, span in generated:
        clash = names[name]
        related = (Related(span, f"the generated `{name}` comes from this activity"),)
        new_name = free_name(name, [*names, *(other for other, _ in generated)])
        fixes = rename_parameter(subject.function, clash, new_name, SourceText(subject.text))
        yield RULE.at(clash.pattern_span, {"name": name}, related=related, fixes=fixes)
