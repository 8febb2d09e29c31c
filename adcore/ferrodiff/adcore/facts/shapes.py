"""Kinds of instructions and of values, by how derivatives pass through them."""

from __future__ import annotations

from ferrodiff.adcore.facts.loops import constant_offset
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import GetElementPtr
from ferrodiff.adcore.ir.types import IntType, PointerType, Type
from ferrodiff.adcore.shadow import element_types, is_aggregate

MOVES = frozenset(
    {"bitcast", "trunc", "zext", "ptrtoint", "inttoptr", "freeze", "fpext", "fptrunc", "addrspacecast"}
)
BIT_MOVES = frozenset({"shl", "lshr", "or", "and", "xor"})
MERGES = frozenset({"phi", "select"})
ELEMENTS = frozenset({"extractvalue", "insertvalue", "extractelement", "insertelement", "shufflevector"})


def moves_bytes(mask: int, bits: int) -> bool:
    """Whether a mask keeps whole bytes, or has to do with the sign bit of a float."""
    sign = 1 << (bits - 1)
    return mask in (sign, sign - 1) or all(b in (0, 255) for b in mask.to_bytes((bits + 7) // 8, "little"))


def is_plain(value: Value) -> bool:
    """An active integer may be just an integer: a length, a discriminant."""
    return isinstance(value.type.scalar, (IntType, PointerType))


def holds_pointer(ty: Type, layout: DataLayout) -> bool:
    """Whether a value of the type is or contains a pointer."""
    if isinstance(ty.scalar, PointerType):
        return True
    return is_aggregate(ty) and any(holds_pointer(e, layout) for e in element_types(ty, layout))


def strip_offset(pointer: Value, layout: DataLayout) -> tuple[Value, int | None]:
    """The base of an address and its constant byte offset (None if it varies)."""
    offset: int | None = 0
    while isinstance(pointer, GetElementPtr):
        step = constant_offset(pointer, layout)
        offset = None if step is None or offset is None else offset + step
        pointer = pointer.operands[0]
    return pointer, offset
