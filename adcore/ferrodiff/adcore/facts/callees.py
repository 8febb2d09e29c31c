"""What a call's target is, as far as its name tells."""

from __future__ import annotations

from enum import Enum

from ferrodiff.adcore.ir.instructions import Call
from ferrodiff.adcore.ir.types import IntType
from ferrodiff.adcore.rules.runtime import allocation, inactive, memory_operation
from ferrodiff.adcore.rules.table import rule_for_call


class Callee(Enum):
    """What is known of a call's target."""

    RULE = "a rule of the table"
    MEMORY = "a copy or fill"
    ALLOCATION = "an allocator"
    HARMLESS = "without derivative"
    DEFINED = "a function with a body"
    UNKNOWN = "unknown"


def symbol_kind(call: Call) -> Callee:
    """What kind of function a call to a function without a body calls."""
    name = call.callee_name or ""
    if rule_for_call(name, call.function_type) is not None:
        return Callee.RULE
    if memory_operation(name) is not None:
        return Callee.MEMORY
    if allocation(name) is not None:
        return Callee.ALLOCATION
    if inactive(name) is not None:
        return Callee.HARMLESS
    if name.startswith("llvm.") and all(isinstance(v.type.scalar, IntType) for v in call.operands):
        return Callee.HARMLESS
    return Callee.UNKNOWN


def is_thread_local(value: object) -> bool:
    """Whether a value is the address of a thread's copy of a global."""
    return isinstance(value, Call) and (value.callee_name or "").startswith("llvm.threadlocal.address")
