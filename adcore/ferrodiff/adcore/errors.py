"""The errors of this part. Each one is about a place in somebody's program, never a bare traceback."""

from __future__ import annotations

from ferrodiff.adcore.ir.location import SourceLocation


class AdcoreError(Exception):
    """Base of everything raised here on purpose."""


class CannotDifferentiate(AdcoreError):
    """A derivative that is not known to be right is refused.

    ``reason`` says why in words; ``instruction`` is the IR concerned (text), ``location`` its place in
    the source, ``help`` what would get around it, ``derivative`` the name of the function asked for.
    """

    def __init__(
        self,
        reason: str,
        *,
        instruction: str | None = None,
        location: SourceLocation | None = None,
        help: str | None = None,
        derivative: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.instruction = instruction
        self.location = location
        self.help = help
        self.derivative = derivative

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        what = f" ({self.instruction.strip()})" if self.instruction else ""
        more = f"; {self.help}" if self.help else ""
        return f"{where}{self.reason}{what}{more}"


class ReadError(AdcoreError):
    """Text that is not canonical LLVM IR. ``line`` is the offending line's text."""

    def __init__(self, message: str, line: str = "") -> None:
        super().__init__(f"{message}: {line.strip()}" if line else message)
        self.message = message
        self.line = line


class BackendError(AdcoreError):
    """LLVM refused a module, or machine code could not be made or linked."""


class UnresolvedSymbols(BackendError):
    """Machine code needs symbols that nothing defines; ``symbols`` lists them, sorted."""

    def __init__(self, symbols: tuple[str, ...]) -> None:
        listed = ", ".join(symbols[:8]) + (", ..." if len(symbols) > 8 else "")
        super().__init__(f"undefined symbol{'s' if len(symbols) > 1 else ''}: {listed}")
        self.symbols = symbols
