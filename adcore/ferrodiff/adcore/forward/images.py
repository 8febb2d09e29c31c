"""What constant memory looks like in the shadow world: floats are zero, all else stays.

A table that is copied into memory with a shadow brings zero tangents along, but also lengths, discriminants and
addresses, which have to hold in the shadow as well (a derivative may hand it out). Rust writes tables as bytes, so
which of them are floats is judged by their values: whatever is a normal double or single where one may lie counts
as a float. A wrong yes costs a number nobody reads; what is kept is at most a denormal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrodiff.adcore.forward.context import Context
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import ConstAggregate, Constant, GlobalRef, global_ref
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.evaluate import constant_bytes
from ferrodiff.adcore.ir.module import Global
from ferrodiff.adcore.ir.types import PointerType, i64, ptr
from ferrodiff.adcore.session import Session

LARGEST = 1 << 16
"""Bytes of the largest table of which an image is made."""

_ALIGN = re.compile(r", align (\d+)")


def image_of(ctx: Context, pointer: Value) -> Value | None:
    """The address in the shadow world of what an address in constant memory points to, at the builder's place.

    ``None`` if it is not in one constant table, or if the table's image is all zeros.
    """
    name = constant_behind(ctx, pointer)
    image = None if name is None else _image(ctx.session, name)
    if image is None:
        return None
    assert name is not None
    here = ctx.builder.cast("ptrtoint", ctx.prim(pointer), i64)
    start = ctx.builder.cast("ptrtoint", global_ref(name), i64)
    return ctx.builder.ptradd(image, ctx.builder.sub(here, start))


def constant_behind(ctx: Context, pointer: Value) -> str | None:
    """The name of the constant global that an address points into, if it is one with contents known here."""
    roots = ctx.analysis.roots(pointer)
    if len(roots) != 1:
        return None
    (root,) = roots
    if not isinstance(root, GlobalRef) or root.name not in ctx.session.module.globals:
        return None
    found = ctx.session.module.globals[root.name]
    return root.name if found.is_constant and found.initializer is not None else None


def _image(session: Session, name: str) -> Value | None:
    """The image of a constant global, made once; ``None`` if it is all zeros or too large."""
    key = ("image", name)
    if key not in session.facts:
        session.facts[key] = _make(session, session.module.globals[name])
    found = session.facts[key]
    assert found is None or isinstance(found, Value)
    return found


def _make(session: Session, original: Global) -> Value | None:
    layout = session.module.datalayout
    assert original.initializer is not None
    if layout.size_of(original.initializer.type) > LARGEST:
        return None
    stated = _ALIGN.search(original.raw)
    align = int(stated[1]) if stated else 1
    data = bytearray(layout.size_of(original.initializer.type))
    addresses: dict[int, Constant] = {}
    for offset, leaf in _leaves(layout, original.initializer, 0):
        if isinstance(leaf.type, PointerType):
            addresses[offset] = leaf
            continue
        found = constant_bytes(layout, leaf) or b""
        data[offset : offset + len(found)] = found
    kept = without_floats(bytes(data), align)
    if not any(kept) and not addresses:
        return None
    name = f"ferrodiff.image.{session.fresh_name('table')}"
    session.globals[f"@{name}"] = f"@{name} = internal constant {_written(kept, addresses)}, align {align}"
    return global_ref(name)


def _leaves(layout: DataLayout, constant: Constant, base: int) -> Iterator[tuple[int, Constant]]:
    if not isinstance(constant, ConstAggregate):
        yield base, constant
        return
    for index, element in enumerate(constant.elements):
        yield from _leaves(layout, element, base + layout.field_at(constant.type, index)[0])


def _written(data: bytes, addresses: dict[int, Constant]) -> str:
    """A packed struct of bytes with addresses between them, as text with its type."""
    parts: list[tuple[str, str]] = []
    at = 0
    for offset in (*sorted(addresses), len(data)):
        if offset > at:
            words = "".join(f"\\{byte:02X}" for byte in data[at:offset])
            parts.append((f"[{offset - at} x i8]", f'c"{words}"'))
        if offset in addresses:
            parts.append((ptr.text, addresses[offset].ref))
        at = offset + 8
    types = ", ".join(kind for kind, _ in parts)
    values = ", ".join(f"{kind} {value}" for kind, value in parts)
    return f"<{{ {types} }}> <{{ {values} }}>"


def without_floats(data: bytes, align: int) -> bytes:
    """The bytes of a table of an alignment with everything that may be a float set to zero."""
    if align < 4:
        # Text, or numbers of a byte or two; but floats of packed structs have no alignment either.
        return data if all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in data) else bytes(len(data))
    kept = bytearray(data)
    for size in (8, 4) if align >= 8 else (4,):
        for at in range(0, len(data) - size + 1, size):
            if _may_be_float(int.from_bytes(kept[at : at + size], "little"), 8 * size):
                kept[at : at + size] = bytes(size)
    return bytes(kept)


def _may_be_float(word: int, bits: int) -> bool:
    """Whether a word is no denormal float, and not -1."""
    fraction = {32: 23, 64: 52}[bits]
    return word != (1 << bits) - 1 and (word >> fraction) & ((1 << (bits - 1 - fraction)) - 1) != 0
