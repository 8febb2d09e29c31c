"""Addresses and contents of constant memory."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import (
    ConstAggregate,
    Constant,
    ConstBytes,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstSplat,
    ConstZero,
    GlobalRef,
)
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.types import Type

if TYPE_CHECKING:
    from ferrodiff.adcore.ir.module import Module


def constant_address(layout: DataLayout, value: Value) -> tuple[str, int] | None:
    """The global and byte offset that a constant address stands for, if it is one."""
    if isinstance(value, GlobalRef):
        return value.name, 0
    if not isinstance(value, ConstExpr) or value.opcode != "getelementptr" or value.source_type is None:
        return None
    base = constant_address(layout, value.operands[0])
    offset = constant_offset(layout, value.source_type, list(value.operands[1:]))
    if base is None or offset is None:
        return None
    return base[0], base[1] + offset


def constant_offset(layout: DataLayout, source: Type, indices: list[Constant] | list[Value]) -> int | None:
    """Bytes that constant getelementptr indices add up to; ``None`` if one is no constant."""
    total = 0
    kind = source
    for place, index in enumerate(indices):
        if not isinstance(index, ConstInt):
            return None
        if place == 0:
            total += index.value * layout.size_of(kind)
        else:
            step, kind = layout.field_at(kind, index.value)
            total += step
    return total


def global_bytes(module: Module, constant: Value) -> bytes | None:
    """Contents of a constant global from an address on; see :meth:`Module.global_bytes`."""
    address = constant_address(module.datalayout, constant)
    if address is None or address[0] not in module.globals:
        return None
    name, offset = address
    found = module.globals[name]
    if not found.is_constant or found.initializer is None:
        return None
    data = constant_bytes(module.datalayout, found.initializer)
    if data is None or not 0 <= offset <= len(data):
        return None
    return data[offset:]


def constant_bytes(layout: DataLayout, constant: Constant) -> bytes | None:
    """The memory image of a constant; ``None`` if it has addresses, undef or floats wider than double."""
    if isinstance(constant, ConstBytes):
        return constant.data
    if isinstance(constant, ConstZero):
        return bytes(layout.size_of(constant.type))
    if isinstance(constant, ConstInt):
        size = layout.size_of(constant.type)
        return (constant.unsigned).to_bytes(size, "little" if layout.little_endian else "big")
    if isinstance(constant, ConstFloat):
        return _float_bytes(layout, constant)
    if isinstance(constant, ConstSplat) and isinstance(constant.type, ty.VectorType):
        element = constant_bytes(layout, constant.element)
        return None if element is None else element * constant.type.count
    if isinstance(constant, ConstAggregate):
        return _aggregate_bytes(layout, constant)
    return None


def _float_bytes(layout: DataLayout, constant: ConstFloat) -> bytes | None:
    formats = {"double": "d", "float": "f", "half": "e"}
    assert isinstance(constant.type, ty.FloatType)
    code = formats.get(constant.type.kind)
    if code is None:
        return None
    return struct.pack(("<" if layout.little_endian else ">") + code, constant.value)


def _aggregate_bytes(layout: DataLayout, constant: ConstAggregate) -> bytes | None:
    image = bytearray(layout.size_of(constant.type))
    for index, element in enumerate(constant.elements):
        data = constant_bytes(layout, element)
        if data is None:
            return None
        offset = layout.field_at(constant.type, index)[0]
        image[offset : offset + len(data)] = data
    return bytes(image)
