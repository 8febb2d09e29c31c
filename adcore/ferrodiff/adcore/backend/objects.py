"""Object files, assembly and IR text from a module."""

from __future__ import annotations

from typing import Any

from ferrodiff.adcore.backend.target import target_machine
from ferrodiff.adcore.errors import BackendError


def emit_object(module: Any, *, cpu: str = "generic", opt_level: int = 3) -> bytes:
    """The module as a position-independent object file. Raises ``BackendError``."""
    try:
        return bytes(target_machine(cpu, opt_level).emit_object(module))
    except RuntimeError as error:
        raise BackendError(f"no object file could be made: {error}") from error


def emit_assembly(module: Any, *, cpu: str = "generic", opt_level: int = 3) -> str:
    """The module in the target's assembly language. Raises ``BackendError``."""
    try:
        return str(target_machine(cpu, opt_level).emit_assembly(module))
    except RuntimeError as error:
        raise BackendError(f"no assembly could be made: {error}") from error


def emit_ir(module: Any) -> str:
    """The module as canonical text."""
    return str(module)
