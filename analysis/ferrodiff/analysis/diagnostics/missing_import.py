"""A macro that is not in scope."""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Rule, Severity
from ferrodiff.analysis.diagnostics.file import File, Located
from ferrodiff.analysis.model import FILE_SCOPE, shifted
from ferrodiff.analysis.text import Span

RULE = Rule(
    code="FD009",
    name="missing-import",
    severity=Severity.ERROR,
    says="cannot find attribute `{macro}` in this scope",
    why="""\
The macros are not in the prelude: `use std::autodiff::autodiff_forward;` (or `core::autodiff`) brings one
into the scope of a module. An inner module needs an import of its own.
""",
    bad="""#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
    good="""use std::autodiff::autodiff_forward;

#[autodiff_forward(df, Dual, Dual)]
fn f(x: f64) -> f64 { x }
""",
)


def check(file: File) -> Iterator[Diagnostic]:
    imports = [(i.name, i.scope) for i in file.imports if i.macro == "*" or i.macro.startswith("autodiff_")]
    globs: list[Span] | None = None
    for located in file.located:
        annotation = located.annotation
        if annotation.old_form or "::" in annotation.path:
            continue
        if any(_reaches(located, annotation.path, name, scope) for name, scope in imports):
            continue
        if globs is None:
            globs = _foreign_globs(file)
        if any(_reaches(located, annotation.path, "*", scope) for scope in globs):
            continue
        yield RULE.at(
            located.at(annotation.path_span),
            {"macro": annotation.path},
            notes=(f"consider importing this attribute macro: `use std::autodiff::{annotation.path};`",),
            fixes=(_import(file, located),),
        )


def _reaches(located: Located, path: str, name: str, scope: Span) -> bool:
    if name not in (path, "*"):
        return False
    if scope is FILE_SCOPE:
        return not located.function.container_info.modules
    return scope.covers(located.at(located.annotation.span))


def _foreign_globs(file: File) -> list[Span]:
    """The scopes into which a ``use ..::*`` of other crates or modules may bring the macros unseen."""
    if b"#[macro_use]" in file.analysis.source.data:
        return [FILE_SCOPE, file.analysis.source.span]
    return [
        shifted(scope, placed.start) for placed in file.analysis.chunks for scope in placed.chunk.found.globs
    ]


def _import(file: File, located: Located) -> Fix:
    path = located.annotation.path
    name = path if path.startswith("autodiff_") else located.annotation.mode.macro
    line = f"use std::autodiff::{name};"
    if located.function.container_info.modules:
        edits = (Edit(located.at(located.annotation.path_span), f"std::autodiff::{name}"),)
        return Fix(f"Write `std::autodiff::{name}`", edits, preferred=True)
    at = file.item_start
    follows_use = file.analysis.source.data[at : at + 4] == b"use "
    return Fix(
        f"Import it: `{line}`",
        (Edit(Span(at, at), line + ("\n" if follows_use else "\n\n")),),
        preferred=True,
    )
