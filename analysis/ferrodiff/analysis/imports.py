"""How an autodiff macro can be named at a place of a file, and what its import has to become."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrodiff.analysis.diagnostics.core import Edit
from ferrodiff.analysis.model import FILE_SCOPE, Annotation, Import, Mode
from ferrodiff.analysis.text import Span

if TYPE_CHECKING:
    from ferrodiff.analysis.document import FileAnalysis

_OLD = ("autodiff", "autodiff")


def _reaches(analysis: FileAnalysis, found: Import, at: Span) -> bool:
    """Whether an import is visible at a place. One at the file's root is not seen in modules."""
    if found.scope is not FILE_SCOPE:
        return found.scope.covers(at)
    return not any(f.container_info.modules for f in analysis.functions if f.span.covers(at))


def visible_name(analysis: FileAnalysis, at: Span, macro: str) -> str | None:
    """What `macro` (``autodiff_forward``, ``autodiff_reverse``) is called at a place; None if not imported."""
    for found in analysis.imports:
        if found.macro in (macro, "*") and _reaches(analysis, found, at):
            return macro if found.macro == "*" else found.name
    return None


def path_to(analysis: FileAnalysis, annotation: Annotation, macro: str) -> str:
    """How to write `macro` where `annotation` stands."""
    return visible_name(analysis, annotation.span, macro) or f"{_crate(analysis)}::autodiff::{macro}"


def _crate(analysis: FileAnalysis) -> str:
    return "core" if any(a.path == "no_std" for a in analysis.inner_attributes) else "std"


def for_new_form(analysis: FileAnalysis, annotation: Annotation) -> tuple[str, tuple[Edit, ...]]:
    """The new macro's name for an old annotation, and the edits of imports that make it known.

    The import of the old macro becomes one of every macro that the file's old annotations turn into.
    """
    macro = annotation.mode.macro
    known = visible_name(analysis, annotation.span, macro)
    if known is not None:
        return known, ()
    for found in analysis.imports:
        is_old = found.path[-2:] == _OLD and found.name == annotation.path
        if is_old and _reaches(analysis, found, annotation.span):
            return macro, (Edit(found.span, _replacement(analysis, found)),)
    return f"{_crate(analysis)}::autodiff::{macro}", ()


def _replacement(analysis: FileAnalysis, old: Import) -> str:
    modes = {a.mode for f in analysis.functions for a in f.annotations if a.old_form and a.path == old.name}
    macros = [mode.macro for mode in Mode if mode in modes]
    prefix = analysis.source.slice(old.span).partition(" as ")[0].rpartition("::")[0]
    if not prefix:
        return ", ".join(macros)
    return f"{prefix}::{macros[0]}" if len(macros) == 1 else f"{prefix}::{{{', '.join(macros)}}}"
