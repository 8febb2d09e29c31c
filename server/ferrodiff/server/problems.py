"""Diagnostics of the analysis as messages in rustc's shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrodiff.server.render import Message, Place

if TYPE_CHECKING:
    from ferrodiff.analysis.diagnostics import Diagnostic
    from ferrodiff.analysis.text import SourceText


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
