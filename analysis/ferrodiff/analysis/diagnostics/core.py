"""What a diagnostic is: plain data without any editor protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    tags: tuple[str, ...] = ()
    """``unnecessary`` (the span could be removed) and ``deprecated``."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of diagnostic: everything the documentation and the messages share."""

    code: str
    name: str
    severity: Severity
    says: str
    """The message; braces are filled in."""
    why: str
    """A paragraph or more for the documentation, in Markdown."""
    bad: str
    """Rust that gets this diagnostic."""
    good: str = ""
    """The same without."""
    tags: tuple[str, ...] = ()

    def at(
        self,
        span: Span,
        words: Mapping[str, object] | None = None,
        *,
        related: Iterable[Related] = (),
        fixes: Iterable[Fix | None] = (),
        notes: Iterable[str] = (),
    ) -> Diagnostic:
        return Diagnostic(
            code=self.code,
            severity=self.severity,
            span=span,
            message=self.says.format(**words) if words else self.says,
            related=tuple(related),
            fixes=tuple([fix for fix in fixes if fix is not None]),
            notes=tuple(notes),
            tags=self.tags,
        )
