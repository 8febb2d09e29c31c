"""Diagnostics of the analysis as messages in rustc's shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ferrodiff.analysis.expansion import Expansion, expand
from ferrodiff.server.render import Message, Place

if TYPE_CHECKING:
    from ferrodiff.analysis.diagnostics import Diagnostic
    from ferrodiff.analysis.document import FileAnalysis
    from ferrodiff.analysis.text import SourceText


def problems(analysis: FileAnalysis) -> list[Diagnostic]:
    """A file's diagnostics in order, with those of what its own macros make, which stand at the macros' calls."""
    expansion = expand(analysis.source.data)
    if expansion is None:
        return list(analysis.diagnostics)
    made = dict.fromkeys(_of_macros(expansion))
    return sorted([*analysis.diagnostics, *made], key=lambda item: item.span.start)


def _of_macros(expansion: Expansion) -> Iterator[Diagnostic]:
    for item in expansion.analysis.diagnostics:
        made = expansion.call_at(item.span.start)
        if made is not None and severity(item) in ("error", "warning"):
            macro, call = made
            note = f"in what `{macro}!` makes of this call"
            yield replace(item, span=call, related=(), fixes=(), notes=(*item.notes, note))


def severity(diagnostic: Diagnostic) -> str:
    """`error`, `warning`, `info` or `hint` as text."""
    return str(getattr(diagnostic.severity, "value", diagnostic.severity)).lower()


def message_of(name: str, source: SourceText, diagnostic: Diagnostic) -> Message:
    """A diagnostic as a message in rustc's shape."""
    level = severity(diagnostic)
    return Message(
        severity=level if level in ("error", "warning") else "note",
        text=diagnostic.message,
        code=diagnostic.code,
        place=Place(name, source, diagnostic.span),
        related=tuple((item.message, Place(name, source, item.span)) for item in diagnostic.related),
        notes=tuple(diagnostic.notes),
        helps=tuple(fix.title for fix in diagnostic.fixes),
    )
