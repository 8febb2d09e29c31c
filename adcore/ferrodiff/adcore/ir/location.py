"""Source locations, as debug info states them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in a source file; ``inlined_at`` is the call it was inlined into, or ``None``.

    ``line`` and ``column`` are 1-based as in debug info; 0 means "not known". ``file`` is the path as
    debug info states it (joined with the directory when relative).
    """

    file: str
    line: int
    column: int
    function: str | None = None
    inlined_at: SourceLocation | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def chain(self) -> tuple[SourceLocation, ...]:
        """This location and every call it was inlined into, innermost first."""
        found: list[SourceLocation] = []
        here: SourceLocation | None = self
        while here is not None:
            found.append(here)
            here = here.inlined_at
        return tuple(found)

    def in_user_code(self) -> SourceLocation:
        """The innermost place of the chain outside Rust's own library; the outermost if all are inside."""
        chain = self.chain()
        for place in chain:
            if not place.file.startswith("/rustc/") and "/library/" not in place.file:
                return place
        return chain[-1]
