"""Gradients of parameters that are passed by value: shadows that start as zeros.

Integers beside floats in such a shadow are the primal's, so that the gradient of an enum is the same variant
and that of an `Option` is there. A pointer in it has nothing to point to: no memory could take its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ferrodiff.adcore.facts.layouts import ANYWHERE, Access
from ferrodiff.adcore.facts.memtypes import MemoryTypes
from ferrodiff.adcore.ir.constants import const_int
from ferrodiff.adcore.ir.instructions import GetElementPtr, Load, Store
from ferrodiff.adcore.ir.types import FloatType, IntType, PointerType, Type, i8, i64, ptr
from ferrodiff.adcore.ir.values import Value
from ferrodiff.adcore.request import ArgumentRange
from ferrodiff.adcore.reverse.storage import Frame
from ferrodiff.adcore.session import Session


def settle_by_value(
    session: Session,
    memory: MemoryTypes,
    values: Value,
    shadows: Sequence[Value],
    ranges: Iterable[ArgumentRange],
    frame: Frame,
) -> None:
    """Copies the integers of by-value parameters into their shadows, at entry.

    ``values`` are the packed parameters, ``shadows`` their shadows by lane. Raises `CannotDifferentiate` for
    a parameter that holds a pointer which the function follows or passes on.
    """
    accesses = [a for a in memory.accesses_of(values) if a.offset != ANYWHERE]
    width = session.module.datalayout.store_size
    for parameter in ranges:
        end = parameter.offset + parameter.size
        mine = [a for a in accesses if parameter.offset <= a.offset <= end - width(a.type)]
        floats = [a for a in mine if isinstance(a.type, FloatType)]
        for access in mine:
            if isinstance(access.type, PointerType):
                raise session.refuse(
                    f"the `Active` parameter `{parameter.name}` holds a reference or owned memory, and a gradient "
                    "that is returned by value has no memory for what it points to",
                    help="pass the parameter by reference and make it `Duplicated`, with a shadow for its gradient",
                )
            if floats and isinstance(access.type, IntType) and not access.stride:
                size = width(access.type)
                if access.type.bits == 8 * size and not _is_float(access, floats, size, width):
                    _copy(access, values, shadows, frame)


def _is_float(at: Access, floats: Iterable[Access], size: int, width: Callable[[Type], int]) -> bool:
    """Whether one of the float accesses touches these bytes."""
    for other in floats:
        gap = at.offset - other.offset
        if other.stride:
            gap %= other.stride
            if gap + size > other.stride:
                return True
        if -size < gap < width(other.type):
            return True
    return False


def _copy(access: Access, values: Value, shadows: Sequence[Value], frame: Frame) -> None:
    offset = const_int(i64, access.offset)
    place = frame.add(GetElementPtr(ptr, i8, [values, offset]), "kept.at")
    value = frame.add(Load(access.type, place, 1), "kept")
    for shadow in shadows:
        frame.add(Store(value, frame.add(GetElementPtr(ptr, i8, [shadow, offset]), "kept.to"), 1))
