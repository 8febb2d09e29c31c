"""External symbols that have no derivative and need none, and those that manage memory.

Three tables, each asked by symbol or intrinsic name:

* `allocation(symbol)`: what an allocator function does, and which arguments say so;
* `memory_operation(symbol)`: copies and fills of memory;
* `inactive(symbol)`: functions that can be called from a derivative as they stand, and never carry one.

Rust symbols are found by their path in both manglings, so the hashes of a particular toolchain do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache

from ferrodiff.adcore.rules.mangling import base_of_intrinsic, rust_path
from ferrodiff.adcore.rules.words import words


class Role(Enum):
    """What an allocator function does."""

    ALLOCATE = "allocate"
    ALLOCATE_ZEROED = "allocate zeroed"
    REALLOCATE = "reallocate"
    DEALLOCATE = "deallocate"


@dataclass(frozen=True, slots=True)
class Allocation:
    """An allocator function; numbers are argument positions, None where there is no such argument.

    `size` (times `count`) is the size in bytes of the new block, `old_size` of the one at `pointer`. The
    result is the new block; null when there is no memory. Only `old_size` bytes of a block that is
    reallocated survive. `out` is the argument through which `posix_memalign` returns its block.
    """

    role: Role
    pointer: int | None = None
    size: int | None = None
    align: int | None = None
    old_size: int | None = None
    count: int | None = None
    out: int | None = None


_RUST_ALLOCATORS: dict[str, Allocation] = {
    "alloc": Allocation(Role.ALLOCATE, size=0, align=1),
    "alloc_zeroed": Allocation(Role.ALLOCATE_ZEROED, size=0, align=1),
    "dealloc": Allocation(Role.DEALLOCATE, pointer=0, old_size=1, align=2),
    "realloc": Allocation(Role.REALLOCATE, pointer=0, old_size=1, align=2, size=3),
}

_C_ALLOCATORS: dict[str, Allocation] = {
    "malloc": Allocation(Role.ALLOCATE, size=0),
    "calloc": Allocation(Role.ALLOCATE_ZEROED, count=0, size=1),
    "realloc": Allocation(Role.REALLOCATE, pointer=0, size=1),
    "free": Allocation(Role.DEALLOCATE, pointer=0),
    "aligned_alloc": Allocation(Role.ALLOCATE, align=0, size=1),
    "memalign": Allocation(Role.ALLOCATE, align=0, size=1),
    "posix_memalign": Allocation(Role.ALLOCATE, out=0, align=1, size=2),
    "_Znwm": Allocation(Role.ALLOCATE, size=0),
    "_Znam": Allocation(Role.ALLOCATE, size=0),
    "_ZdlPv": Allocation(Role.DEALLOCATE, pointer=0),
    "_ZdaPv": Allocation(Role.DEALLOCATE, pointer=0),
    "_ZdlPvm": Allocation(Role.DEALLOCATE, pointer=0, old_size=1),
    "_ZdaPvm": Allocation(Role.DEALLOCATE, pointer=0, old_size=1),
}

_RUST_ALLOCATOR_PREFIXES = ("__rust_", "__rdl_", "__rg_")


@cache
def allocation(symbol: str) -> Allocation | None:
    """What the allocator function `symbol` does, or None if it is none."""
    name = _plain(symbol)
    for prefix in _RUST_ALLOCATOR_PREFIXES:
        if name.startswith(prefix):
            return _RUST_ALLOCATORS.get(name.removeprefix(prefix))
    return _C_ALLOCATORS.get(symbol)


def _plain(symbol: str) -> str:
    """`__rust_alloc` of `_RNvCs1_7___rustc12___rust_alloc`; any other symbol is itself."""
    path = rust_path(symbol)
    return path[1] if len(path) == 2 and path[0] == "__rustc" else symbol


class Motion(Enum):
    """What a memory operation does."""

    COPY = "copy"
    MOVE = "move"
    FILL = "fill"


@dataclass(frozen=True, slots=True)
class MemoryOperation:
    """A copy or fill; numbers are argument positions.

    `source` is None for a fill, whose byte (an i8, or the low byte of an int) is argument `byte`. `length`
    is in bytes. `volatile` is the flag of the intrinsics. `returns` is the argument that a libc function
    returns.
    """

    motion: Motion
    destination: int
    length: int
    source: int | None = None
    byte: int | None = None
    volatile: int | None = None
    returns: int | None = None


_MEMORY: dict[str, MemoryOperation] = {
    "llvm.memcpy": MemoryOperation(Motion.COPY, 0, 2, source=1, volatile=3),
    "llvm.memcpy.inline": MemoryOperation(Motion.COPY, 0, 2, source=1, volatile=3),
    "llvm.memmove": MemoryOperation(Motion.MOVE, 0, 2, source=1, volatile=3),
    "llvm.memset": MemoryOperation(Motion.FILL, 0, 2, byte=1, volatile=3),
    "llvm.memset.inline": MemoryOperation(Motion.FILL, 0, 2, byte=1, volatile=3),
    "llvm.memcpy.element.unordered.atomic": MemoryOperation(Motion.COPY, 0, 2, source=1),
    "llvm.memmove.element.unordered.atomic": MemoryOperation(Motion.MOVE, 0, 2, source=1),
    "memcpy": MemoryOperation(Motion.COPY, 0, 2, source=1, returns=0),
    "memmove": MemoryOperation(Motion.MOVE, 0, 2, source=1, returns=0),
    "memset": MemoryOperation(Motion.FILL, 0, 2, byte=1, returns=0),
    "bzero": MemoryOperation(Motion.FILL, 0, 1),
}


@cache
def memory_operation(symbol: str) -> MemoryOperation | None:
    """The copy or fill that `symbol` does, or None. A fill without `byte` (`bzero`) writes zeros."""
    return _MEMORY.get(base_of_intrinsic(symbol) if symbol.startswith("llvm.") else symbol)


class Kind(Enum):
    """Why a function is harmless."""

    MARKER = "a note to the compiler"
    PANIC = "it panics or aborts"
    UNWINDING = "it belongs to unwinding"
    READER = "it only reads memory and returns an integer or a pointer into it"
    TEXT = "it turns values into text"
    PRINT = "it prints"
    RUNTIME = "it belongs to the runtime and touches no numbers"


def _kinds(kind: Kind, names: str) -> dict[str, Kind]:
    return dict.fromkeys(words(names), kind)


_INTRINSICS: dict[str, Kind] = {
    **_kinds(
        Kind.MARKER,
        "llvm.lifetime.start llvm.lifetime.end llvm.assume llvm.dbg.declare llvm.dbg.value llvm.dbg.assign "
        "llvm.dbg.label llvm.prefetch llvm.donothing llvm.experimental.noalias.scope.decl llvm.sideeffect "
        "llvm.invariant.start llvm.invariant.end llvm.pseudoprobe llvm.var.annotation llvm.fake.use "
        "llvm.is.constant llvm.objectsize llvm.allow.runtime.check llvm.allow.ubsan.check "
        "llvm.x86.sse2.pause llvm.aarch64.hint llvm.aarch64.isb",
    ),
    **_kinds(Kind.PANIC, "llvm.trap llvm.debugtrap llvm.ubsantrap"),
    **_kinds(Kind.UNWINDING, "llvm.eh.typeid.for"),
    **_kinds(
        Kind.RUNTIME,
        "llvm.stacksave llvm.stackrestore llvm.returnaddress llvm.frameaddress llvm.readcyclecounter "
        "llvm.readsteadycounter llvm.vscale llvm.get.rounding llvm.get.active.lane.mask",
    ),
}

_SYMBOLS: dict[str, Kind] = {
    **_kinds(
        Kind.PANIC,
        "abort exit _exit __assert_fail __stack_chk_fail __rust_alloc_error_handler __rust_start_panic "
        "rust_begin_unwind rust_panic __rg_oom __rdl_oom __rust_foreign_exception __rust_drop_panic "
        "__rust_alloc_error_handler_should_panic __rust_alloc_error_handler_should_panic_v2",
    ),
    **_kinds(
        Kind.UNWINDING,
        "rust_eh_personality _Unwind_Resume _Unwind_RaiseException _Unwind_DeleteException "
        "__rust_panic_cleanup __gxx_personality_v0 __cxa_begin_catch __cxa_end_catch",
    ),
    **_kinds(
        Kind.READER,
        "memcmp bcmp memchr memrchr strlen strnlen strcmp strncmp strchr strrchr strstr",
    ),
    **_kinds(
        Kind.PRINT,
        "puts putchar fflush fputs fputc putc fwrite write printf fprintf dprintf vprintf vfprintf perror "
        "__printf_chk __fprintf_chk",
    ),
    **_kinds(Kind.TEXT, "snprintf sprintf __snprintf_chk __sprintf_chk"),
    **_kinds(
        Kind.RUNTIME,
        "__rust_no_alloc_shim_is_unstable __rust_no_alloc_shim_is_unstable_v2 __errno_location sched_yield "
        "malloc_usable_size __rust_probestack",
    ),
}

_RUST_PATHS: dict[tuple[str, ...], Kind] = {
    ("core", "panicking"): Kind.PANIC,
    ("std", "panicking", "begin_panic"): Kind.PANIC,
    ("std", "panicking", "begin_panic_handler"): Kind.PANIC,
    ("std", "panicking", "rust_panic"): Kind.PANIC,
    ("std", "panicking", "rust_panic_with_hook"): Kind.PANIC,
    ("std", "panic", "resume_unwind"): Kind.PANIC,
    ("std", "process", "abort"): Kind.PANIC,
    ("std", "process", "exit"): Kind.PANIC,
    ("std", "alloc", "handle_alloc_error"): Kind.PANIC,
    ("std", "alloc", "rust_oom"): Kind.PANIC,
    ("alloc", "alloc", "handle_alloc_error"): Kind.PANIC,
    ("alloc", "raw_vec", "handle_error"): Kind.PANIC,
    ("alloc", "raw_vec", "capacity_overflow"): Kind.PANIC,
    ("core", "intrinsics", "abort"): Kind.PANIC,
    ("core", "fmt"): Kind.TEXT,
    ("alloc", "fmt"): Kind.TEXT,
    ("alloc", "string"): Kind.TEXT,
    ("std", "io", "stdio", "_print"): Kind.PRINT,
    ("std", "io", "stdio", "_eprint"): Kind.PRINT,
    ("core", "str", "count"): Kind.READER,
    ("core", "str", "converts", "from_utf8"): Kind.READER,
    ("core", "slice", "sort", "stable", "drift", "sqrt_approx"): Kind.RUNTIME,
    ("std", "panicking", "panic_count"): Kind.RUNTIME,
    ("std", "panicking", "panicking"): Kind.RUNTIME,
    ("std", "sys", "sync", "condvar"): Kind.RUNTIME,
    ("std", "sys", "sync", "mutex"): Kind.RUNTIME,
    ("std", "sys", "sync", "rwlock"): Kind.RUNTIME,
    ("std", "thread", "current"): Kind.RUNTIME,
    ("std", "rt", "lang_start_internal"): Kind.RUNTIME,
}
"""Rust paths (prefixes) of compiled library functions that are harmless."""

_PANICKING_SUFFIXES = ("_fail", "_failed", "_overflow", "panic_on_ord_violation")
"""Last components of cold, diverging functions in `core` and `alloc`: `slice_index_fail`, `unwrap_failed`."""

_PANICKING_PREFIXES = ("panic_", "assert_failed", "capacity_overflow", "len_mismatch")


@cache
def inactive(symbol: str) -> Kind | None:
    """Why a function without a body can be called in a derivative as it is, or None if that is not known.

    A `PANIC` never returns. A `TEXT` or `PRINT` function reads numbers and writes only text. What such a function
    returns carries no derivative.
    """
    if symbol.startswith("llvm."):
        return _INTRINSICS.get(base_of_intrinsic(symbol))
    known = _SYMBOLS.get(_plain(symbol))
    return known if known is not None else _rust_kind(rust_path(symbol))


def _rust_kind(path: tuple[str, ...]) -> Kind | None:
    for length in range(len(path), 1, -1):
        kind = _RUST_PATHS.get(path[:length])
        if kind is not None:
            return kind
    if path and path[0] in ("core", "alloc", "std"):
        last = path[-1]
        if last.endswith(_PANICKING_SUFFIXES) or last.startswith(_PANICKING_PREFIXES):
            return Kind.PANIC
    return None


def is_panic(symbol: str) -> bool:
    """Whether the function is known to panic or abort, never to return."""
    return inactive(symbol) is Kind.PANIC
