"""Trivial folding for the builder: constants and identities that hold for every input.

Anything that could trap, be poison, or depend on a rounding mode is left to LLVM.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import ConstFloat, ConstInt, const_float, const_int, constant_number, zero

_INTEGER: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_FLOAT: dict[str, Callable[[float, float], float]] = {
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
}
_COMMUTES = frozenset({"add", "mul", "and", "or", "xor", "fadd", "fmul"})
_SIGNED = {"slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge}
_UNSIGNED = {
    "eq": operator.eq,
    "ne": operator.ne,
    "ult": operator.lt,
    "ule": operator.le,
    "ugt": operator.gt,
    "uge": operator.ge,
}


def _is(number: float) -> Callable[[int | float], bool]:
    sign = math.copysign(1.0, number)
    return lambda n: n == number and (number != 0 or isinstance(n, int) or math.copysign(1.0, n) == sign)


_RIGHT_IDENTITY: dict[str, Callable[[int | float], bool]] = {
    "add": _is(0),
    "sub": _is(0),
    "mul": _is(1),
    "udiv": _is(1),
    "sdiv": _is(1),
    "or": _is(0),
    "xor": _is(0),
    "and": _is(-1),
    "shl": _is(0),
    "lshr": _is(0),
    "ashr": _is(0),
    "fmul": _is(1.0),
    "fdiv": _is(1.0),
    "fadd": _is(-0.0),
    "fsub": _is(0.0),
}


def fold_binary(opcode: str, left: Value, right: Value) -> Value | None:
    """The value that a binary instruction certainly has, if it is one already at hand."""
    a, b = constant_number(left), constant_number(right)
    if a is None and b is None:
        return None
    if a is not None and b is None and opcode in _COMMUTES:
        left, right, a, b = right, left, b, a
    identity = _RIGHT_IDENTITY.get(opcode)
    if identity is not None and b is not None and identity(_signed_bit(opcode, right, b)):
        return left
    if b == 0 and opcode in ("mul", "and"):
        return zero(left.type)
    if isinstance(left, ConstInt) and isinstance(right, ConstInt) and opcode in _INTEGER:
        return const_int(left.type, _INTEGER[opcode](left.value, right.value))
    if isinstance(left, ConstFloat) and isinstance(right, ConstFloat) and opcode in _FLOAT:
        return _fold_float(opcode, left, right)
    return None


def _signed_bit(opcode: str, value: Value, number: int | float) -> int | float:
    """``i1 true`` is all ones, which ``and`` looks for as -1."""
    if opcode == "and" and value.type.scalar is ty.i1:
        return -number if number else 0
    if isinstance(value.type.scalar, ty.FloatType):
        return float(number)
    return number


def _fold_float(opcode: str, left: ConstFloat, right: ConstFloat) -> Value | None:
    # Rounding a double result to float once more is exact rounding for + - * (53 >= 2 * 24 + 2).
    if left.type not in (ty.f32, ty.f64):
        return None
    result = _FLOAT[opcode](left.value, right.value)
    return const_float(left.type, result) if math.isfinite(result) else None


def fold_compare(predicate: str, left: Value, right: Value) -> Value | None:
    """The result of an integer comparison of two constants."""
    if not (isinstance(left, ConstInt) and isinstance(right, ConstInt)):
        return None
    if predicate in _SIGNED and left.type is not ty.i1:
        return const_int(ty.i1, _SIGNED[predicate](left.value, right.value))
    if predicate in _UNSIGNED:
        return const_int(ty.i1, _UNSIGNED[predicate](left.unsigned, right.unsigned))
    return None


def fold_cast(opcode: str, value: Value, type: ty.Type) -> Value | None:
    """The result of a cast that does nothing, or of a constant integer."""
    if opcode == "bitcast" and value.type is type:
        return value
    if isinstance(value, ConstInt) and isinstance(type, ty.IntType):
        if opcode == "zext":
            return const_int(type, value.unsigned)
        if opcode == "trunc" or (opcode == "sext" and value.type is not ty.i1):
            return const_int(type, value.value)
    if isinstance(value, ConstFloat) and opcode == "fpext" and type is ty.f64 and math.isfinite(value.value):
        return const_float(type, value.value)
    return None
