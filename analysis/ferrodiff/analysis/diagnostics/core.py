"""What a diagnostic is: plain data without any editor protocol."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ferrodiff.analysis.text import Span


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes of `span` by `new_text`."""

    span: Span
    new_text: str


@dataclass(frozen=True, slots=True)
class Fix:
    title: str
    edits: tuple[Edit, ...]
    preferred: bool = False
    """The one fix an editor may apply without asking which."""


@dataclass(frozen=True, slots=True)
class Related:
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    code: str
    """``FDnnn``; never reused for another meaning."""
    severity: Severity
    span: Span
    message: str
    """One line; rustc's own wording where rustc has one."""
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    notes: tuple[str, ...] = ()
    unnecessary: bool = False
    """The span could be removed (editors fade it)."""
    deprecated: bool = False
