"""A program's bitcode as LLVM modules: reading, linking, verifying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from ferrodiff.adcore.errors import BackendError

_ALLOCATOR_ENTRY = "__rust_alloc"
_HELPERS = "__ferrodiff"
"""Every symbol of the module of helpers at the end of a rewritten file has this in its path."""
_MARKERS = frozenset({"__ferrodiff_forward", "__ferrodiff_reverse"})


@dataclass(frozen=True, slots=True)
class Program:
    """`user` is the program's code, `shims` are modules to be compiled beside it and never linked into it.

    The allocator's entry points are a shim: `__rust_alloc` has to stay an external function, both because its
    name says what it does and because LLVM knows how to remove pairs of calls of it.
    """

    user: Any
    shims: tuple[Any, ...]


def llvm_version() -> tuple[int, int, int]:
    """The version of the LLVM in llvmlite."""
    major, minor, patch = llvm.llvm_version_info
    return int(major), int(minor), int(patch)


def read_program(files: Sequence[bytes]) -> Program:
    """Parses bitcode files and links them into one program.

    Raises `BackendError` when LLVM cannot read or link them.
    """
    modules = [_parse(data) for data in files]
    shims = tuple(module for module in modules if _defines(module, _ALLOCATOR_ENTRY))
    users = [module for module in modules if module not in shims]
    if not users:
        raise BackendError("the compiler produced no code")
    first, *others = users
    for other in others:
        try:
            first.link_in(other)
        except RuntimeError as error:
            raise BackendError(f"linking bitcode failed: {error}") from error
    _hide_helpers(first)
    return Program(first, shims)


def _hide_helpers(module: Any) -> None:
    """Makes generated helpers internal, so that nothing is left of them once they are inlined.

    Where rustc is told to keep unused code they are external, and a marker call in a helper of its own has no
    constant request.
    """
    for function in module.functions:
        if not function.is_declaration and _HELPERS in function.name:
            function.linkage = llvm.Linkage.internal


def has_markers(module: Any) -> bool:
    """Whether a module calls for a derivative anywhere."""
    return any(function.is_declaration and function.name in _MARKERS for function in module.functions)


def _parse(data: bytes) -> Any:
    try:
        return llvm.parse_bitcode(data)
    except RuntimeError as error:
        raise BackendError(f"LLVM cannot read the compiler's bitcode: {error}") from error


def _defines(module: Any, name: str) -> bool:
    functions: Iterable[Any] = module.functions
    return any(function.name.endswith(name) and not function.is_declaration for function in functions)
