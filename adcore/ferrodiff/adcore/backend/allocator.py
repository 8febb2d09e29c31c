"""Definitions of Rust's allocator symbols for code that is run in this process.

rustc leaves ``__rust_alloc`` and its family to the final link. Names are mangled
(``_RNvCs..._7___rustc12___rust_alloc``), so they are found by their ending.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrodiff.adcore.ir.names import quote_name

_PRELUDE = """
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @ferrodiff.alloc(i64 %size, i64 %align) {
  %small = icmp ule i64 %align, 16
  br i1 %small, label %plain, label %aligned
plain:
  %p = call ptr @malloc(i64 %size)
  ret ptr %p
aligned:
  %mask = sub i64 %align, 1
  %up = add i64 %size, %mask
  %not = xor i64 %mask, -1
  %whole = and i64 %up, %not
  %q = call ptr @aligned_alloc(i64 %align, i64 %whole)
  ret ptr %q
}
"""

_BODIES: dict[str, str] = {
    "__rust_alloc": """define ptr @{name}(i64 %size, i64 %align) {{
  %p = call ptr @ferrodiff.alloc(i64 %size, i64 %align)
  ret ptr %p
}}""",
    "__rust_alloc_zeroed": """define ptr @{name}(i64 %size, i64 %align) {{
  %p = call ptr @ferrodiff.alloc(i64 %size, i64 %align)
  %none = icmp eq ptr %p, null
  br i1 %none, label %done, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %size, i1 false)
  br label %done
done:
  ret ptr %p
}}""",
    "__rust_dealloc": """define void @{name}(ptr %p, i64 %size, i64 %align) {{
  call void @free(ptr %p)
  ret void
}}""",
    "__rust_realloc": """define ptr @{name}(ptr %p, i64 %old, i64 %align, i64 %new) {{
  %small = icmp ule i64 %align, 16
  br i1 %small, label %plain, label %aligned
plain:
  %q = call ptr @realloc(ptr %p, i64 %new)
  ret ptr %q
aligned:
  %r = call ptr @ferrodiff.alloc(i64 %new, i64 %align)
  %less = icmp ult i64 %old, %new
  %size = select i1 %less, i64 %old, i64 %new
  call void @llvm.memcpy.p0.p0.i64(ptr %r, ptr %p, i64 %size, i1 false)
  call void @free(ptr %p)
  ret ptr %r
}}""",
    "__rust_no_alloc_shim_is_unstable_v2": """define void @{name}() {{
  ret void
}}""",
}


def role_of(symbol: str) -> str | None:
    """The plain name of the allocator function that a (mangled) symbol is, if it is one."""
    for plain in _BODIES:
        if symbol == plain or (symbol.endswith("_" + plain) and "7___rustc" in symbol):
            return plain
    return None


def definitions(symbols: Iterable[str]) -> str | None:
    """IR text that defines those of the symbols that belong to the allocator; ``None`` if there are none."""
    found = [(symbol, role) for symbol in symbols if (role := role_of(symbol)) is not None]
    if not found:
        return None
    bodies = [_BODIES[role].format(name=quote_name(symbol)) for symbol, role in found]
    return _PRELUDE + "\n\n".join(bodies) + "\n"
