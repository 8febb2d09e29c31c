"""Which functions an indirect call may reach.

The candidates are the functions with a body whose address is taken anywhere in the module and whose type fits.
A slot of a vtable (rustc marks its load as invariant) is only ever filled by constants that look like vtables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ferrodiff.adcore.facts.loops import constant_offset
from ferrodiff.adcore.ir.constants import ConstAggregate, Constant, ConstExpr, GlobalRef
from ferrodiff.adcore.ir.instructions import Call, GetElementPtr, Load
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import FunctionType
from ferrodiff.adcore.ir.values import Value

_VTABLE_HEADER = 24
"""Bytes of the destructor, the size and the alignment that every vtable begins with."""

_ADDRESS = re.compile(
    r"(?:ptr (?:[\w()]+ )*|\[ )@(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[-\w$.]+))(?![-\w$.(\"])"
)


def targets(module: Module, call: Call) -> list[str]:
    """Names of the functions that an indirect call may reach, in a fixed order. Empty if there are none."""
    slot = _slot(module, call.callee)
    names = vtable_slots(module).get(slot, ()) if slot is not None else taken(module)
    return [n for n in names if _fits(module, n, call.function_type)]


def is_slot(module: Module, callee: Value) -> bool:
    """Whether a callee was read from a vtable: if no vtable has a function there, it is never called."""
    return _slot(module, callee) is not None


def _fits(module: Module, name: str, wanted: FunctionType) -> bool:
    found = module.functions[name].function_type
    return found.ret is wanted.ret and found.params == wanted.params and found.vararg == wanted.vararg


def _slot(module: Module, callee: Value) -> int | None:
    """The byte offset of the vtable slot that a callee was read from; ``None`` if it is no such thing."""
    if not isinstance(callee, Load) or "invariant.load" not in callee.metadata:
        return None
    offset = 0
    pointer = callee.pointer
    while isinstance(pointer, GetElementPtr):
        step = constant_offset(pointer, module.datalayout)
        if step is None:
            return None
        offset += step
        pointer = pointer.base
    return offset


@lru_cache(maxsize=4)
def taken(module: Module) -> tuple[str, ...]:
    """The functions with a body whose address is an operand somewhere, or stands in a global."""
    found: dict[str, None] = {}
    for match in _ADDRESS.finditer(module.text):
        name = match["quoted"] or match["plain"]
        if name in module.spans and name not in module.declarations:
            found[name] = None
    return tuple(found)


@lru_cache(maxsize=4)
def vtable_slots(module: Module) -> dict[int, tuple[str, ...]]:
    """For every offset the functions that stand there in some constant that looks like a vtable."""
    found: dict[int, dict[str, None]] = {}
    for item in module.globals.values():
        if not item.is_constant or item.initializer is None:
            continue
        entries = list(_functions(module, item.initializer, 0))
        if any(0 < offset < _VTABLE_HEADER for offset, _ in entries):
            continue
        for offset, name in entries:
            if name in module.spans and name not in module.declarations:
                found.setdefault(offset, {})[name] = None
    return {offset: tuple(names) for offset, names in found.items()}


def _functions(module: Module, constant: Constant, offset: int) -> Iterator[tuple[int, str]]:
    """Offsets and names of the functions whose addresses are in a constant."""
    if isinstance(constant, GlobalRef):
        if constant.name in module.functions:
            yield offset, constant.name
    elif isinstance(constant, ConstAggregate):
        for index, element in enumerate(constant.elements):
            step = module.datalayout.field_at(constant.type, index)[0]
            yield from _functions(module, element, offset + step)
    elif isinstance(constant, ConstExpr) and constant.opcode == "bitcast":
        yield from _functions(module, constant.operands[0], offset)
