"""A derivative of a trait method that the trait does not have."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File
from ferrodiff.analysis.model import Function

RULE = Rule(
    code="FD037",
    name="not-a-member-of-the-trait",
    severity=Severity.ERROR,
    says="method `{name}` is not a member of trait `{trait}`",
    why="""\
In `impl Trait for Type` the generated function becomes part of the same impl, so the trait must declare it
(`E0407`): either by hand, or by an annotation on the method in the trait. Reported where the trait is in
the same file.
""",
    bad="""trait Model { fn f(&self, x: f64) -> f64; }
struct Line;
impl Model for Line {
    #[autodiff_reverse(df, Const, Active, Active)]
    fn f(&self, x: f64) -> f64 { x }
}
""",
    good="""trait Model {
    fn f(&self, x: f64) -> f64;
    fn df(&self, x: f64, dret: f64) -> (f64, f64);
}
struct Line;
impl Model for Line {
    #[autodiff_reverse(df, Const, Active, Active)]
    fn f(&self, x: f64) -> f64 { x }
}
""",
)


def check(file: File) -> Iterator[Diagnostic]:
    located = [item for item in file.located if item.function.container == "trait_impl"]
    if not located:
        return
    members = _members(file.analysis.all_functions)
    for item in located:
        trait = (item.function.container_info.trait or "").partition("<")[0].rpartition("::")[2]
        names, name = members.get(trait), item.annotation.name
        if names is None or name is None or name in names or item.annotation.via_cfg_attr:
            continue
        span = item.at(item.annotation.name_span or item.annotation.span)
        related = (Related(item.at(item.function.name_span), "its primal is a method of the trait"),)
        yield RULE.at(span, {"name": name, "trait": trait}, related=related)


def _members(functions: tuple[Function, ...]) -> dict[str, set[str]]:
    """Names of methods by trait, generated ones included."""
    found: dict[str, set[str]] = {}
    for function in functions:
        if function.container == "trait":
            names = found.setdefault(function.container_self or "", set())
            names.add(function.bare_name)
            names.update([a.name for a in function.annotations if a.name is not None])
    return found
