"""Two items of one name in a scope, at least one of them generated."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Related, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File, Located
from ferrodiff.analysis.fixes import free_name, rename
from ferrodiff.analysis.model import FILE_SCOPE, shifted
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD011",
    name="duplicate-name",
    severity=Severity.ERROR,
    says="the name `{name}` is defined multiple times",
    why="""\
The generated function stands beside the annotated one, so its name must be new in that module, impl, trait
or block (`E0428`; `E0592` in an impl).
""",
    bad="""#[autodiff_forward(df, Dual, Dual)]
#[autodiff_reverse(df, Active, Active)]
fn f(x: f64) -> f64 { x }
""",
    good="""#[autodiff_forward(df_fwd, Dual, Dual)]
#[autodiff_reverse(df_rev, Active, Active)]
fn f(x: f64) -> f64 { x }
""",
)

_Key = tuple[int, str]
"""Where a scope starts, and a name."""


def check(file: File) -> Iterator[Diagnostic]:
    generated: dict[_Key, list[Located]] = {}
    for located in file.located:
        annotation = located.annotation
        conditional = annotation.via_cfg_attr or any(a.path == "cfg" for a in located.function.attributes)
        if annotation.name is not None and not conditional:
            generated.setdefault((located.scope.start, annotation.name), []).append(located)
    if not generated:
        return
    existing = _existing(file, generated)
    clashes = any(len(group) > 1 for group in generated.values()) or not existing.keys().isdisjoint(generated)
    taken = _taken(file) if clashes else set()
    for key, group in generated.items():
        own = existing.get(key)
        ordered = _expansion_order(group)
        first, rest = ordered[0], ordered[1:]
        if own is not None:
            yield _report(first, key[1], own, taken)
        for located in rest:
            yield _report(located, key[1], _name_span(first), taken)


def _expansion_order(group: list[Located]) -> list[Located]:
    """Attributes of one function expand from top to bottom, functions in the order of the file."""
    return sorted(group, key=lambda item: item.at(item.annotation.span).start)


def _name_span(located: Located) -> Span:
    return located.at(located.annotation.name_span or located.annotation.span)


def _existing(file: File, wanted: dict[_Key, list[Located]]) -> dict[_Key, Span]:
    """The user's own items of these names in these scopes."""
    words = {name for _, name in wanted}
    found: dict[_Key, Span] = {}
    for placed in file.analysis.chunks:
        for name in placed.chunk.found.names:
            if name.name not in words:
                continue
            scope = FILE_SCOPE if name.scope is FILE_SCOPE else name.scope.shifted(placed.start)
            key = (scope.start, name.name)
            if key in wanted:
                found.setdefault(key, name.span.shifted(placed.start))
    return found


def _taken(file: File) -> set[str]:
    """Every name of the file, so that a new one clashes with none."""
    own = {n.name for placed in file.analysis.chunks for n in placed.chunk.found.names}
    return own | {item.annotation.name for item in file.located if item.annotation.name is not None}


def _report(located: Located, name: str, earlier: Span, taken: set[str]) -> Diagnostic:
    mode = located.annotation.mode
    suffixed = f"{name}_{'fwd' if mode.value == 'forward' else 'rev'}"
    new = suffixed if suffixed not in taken else free_name(name, taken)
    fixes = rename(shifted(located.annotation, located.base), new)
    here, other = _name_span(located), earlier
    if other.start > here.start:
        related = (Related(here, f"`{name}` is generated here"),)
        return RULE.at(other, {"name": name}, related=related, fixes=fixes)
    related = (Related(other, f"`{name}` is defined here already"),)
    return RULE.at(here, {"name": name}, related=related, fixes=fixes)
