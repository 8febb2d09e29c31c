"""Formulas as IR: the term that builds instructions, and how each function of a formula is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt, const, const_int
from ferrodiff.adcore.ir.types import (
    FloatType,
    IntType,
    Type,
    VectorType,
    f32,
    f64,
    i32,
)
from ferrodiff.adcore.rules import special
from ferrodiff.adcore.rules.terms import Number, Term
from ferrodiff.adcore.rules.words import words

INTRINSICS = frozenset(
    words(
        "sqrt sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 exp10 log log2 log10 pow fabs "
        "copysign floor ceil trunc rint fma minimum maximum"
    )
)
"""Functions called as `llvm.<name>`, whose overloads include vectors."""

THROUGH_F64 = frozenset({"j0", "j1", "jn", "y0", "y1", "yn", "digamma", "polygamma"})
"""Functions that only exist in double precision here; other widths convert."""

INTEGER_FIRST = frozenset({"jn", "yn", "polygamma"})
"""Functions whose first operand is an i32 order."""

PURE = "nounwind willreturn memory(none)"
"""What we know of the libm functions we call: `errno` is nobody's business in a derivative."""


class Emitted(Term):
    """A term whose evaluation appends instructions to `builder`."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Builder, value: Value) -> None:
        self.builder = builder
        self.value = value

    def apply(self, operation: str, *operands: Term | Number) -> Self:
        values = self._values(operation, operands)
        emitter = EMITTERS.get(operation)
        value = emitter(self, values) if emitter else emit_call(self.builder, operation, values)
        return type(self)(self.builder, value)

    def _values(self, operation: str, operands: Sequence[Term | Number]) -> list[Value]:
        values = [o.value for o in operands if isinstance(o, Emitted)]
        if len(values) == len(operands):
            return values
        kind = next((v.type for v in values if isinstance(v.type.scalar, FloatType)), values[0].type)
        found = [o.value if isinstance(o, Emitted) else const(kind, _number(o)) for o in operands]
        if operation in INTEGER_FIRST and not isinstance(operands[0], Emitted):
            found[0] = const(i32, _number(operands[0]))
        return found


def _number(operand: Term | Number) -> Number:
    assert isinstance(operand, (int, float))
    return operand


Emitter = Callable[[Emitted, list[Value]], Value]


def _arithmetic(opcode: str) -> Emitter:
    return lambda t, v: t.builder.binary(opcode, v[0], v[1])


def _comparison(floats: str, integers: str) -> Emitter:
    def emit(term: Emitted, values: list[Value]) -> Value:
        if isinstance(values[0].type.scalar, FloatType):
            return term.builder.fcmp(floats, values[0], values[1])
        return term.builder.icmp(integers, values[0], values[1])

    return emit


def _logical(opcode: str) -> Emitter:
    return lambda t, v: t.builder.binary(opcode, v[0], v[1])


def _as_float(term: Emitted, values: list[Value]) -> Value:
    n, like = values
    if isinstance(like.type, VectorType) and not isinstance(n.type, VectorType):
        return term.builder.splat_vector(term.builder.sitofp(n, like.type.element), like.type)
    return term.builder.sitofp(n, like.type)


def _predecessor(term: Emitted, values: list[Value]) -> Value:
    n = values[0]
    if isinstance(n, ConstInt) and isinstance(n.type, IntType) and n.value > -(1 << (n.type.bits - 1)):
        return const_int(n.type, n.value - 1)
    return term.builder.intrinsic("llvm.ssub.sat", [n.type], [n, const_int(n.type, 1)])


def _successor(term: Emitted, values: list[Value]) -> Value:
    return term.builder.add(values[0], const_int(values[0].type, 1))


def _opposite(term: Emitted, values: list[Value]) -> Value:
    return term.builder.sub(const_int(values[0].type, 0), values[0])


def _with_exponent(name: str) -> Emitter:
    """`llvm.powi` and `llvm.ldexp`: overloaded on both the float and the integer."""

    def emit(term: Emitted, values: list[Value]) -> Value:
        x, n = values[:2]
        return term.builder.intrinsic(f"llvm.{name}", [x.type, n.type], [x, n])

    return emit


EMITTERS: dict[str, Emitter] = {
    "+": _arithmetic("fadd"),
    "-": _arithmetic("fsub"),
    "*": _arithmetic("fmul"),
    "/": _arithmetic("fdiv"),
    "neg": lambda t, v: t.builder.fneg(v[0]),
    "==": _comparison("oeq", "eq"),
    ">": _comparison("ogt", "sgt"),
    "<": _comparison("olt", "slt"),
    ">=": _comparison("oge", "sge"),
    "&": _logical("and"),
    "|": _logical("or"),
    "~": lambda t, v: t.builder.not_(v[0]),
    "is_nan": lambda t, v: t.builder.fcmp("uno", v[0], v[0]),
    "where": lambda t, v: t.builder.select(v[0], v[1], v[2]),
    "indicator": lambda t, v: t.builder.select(v[0], const(v[1].type, 1.0), const(v[1].type, 0.0)),
    "as_float": _as_float,
    "predecessor": _predecessor,
    "successor": _successor,
    "opposite": _opposite,
    "powi": _with_exponent("powi"),
    "ldexp": _with_exponent("ldexp"),
}
"""How the operations of a formula that are no plain function calls are emitted."""


def emit_call(builder: Builder, name: str, args: Sequence[Value]) -> Value:
    """A call of the mathematical function `name` on floats (and integer parameters) of one shape.

    Vectors go to an intrinsic where there is one and lane by lane where there is none. Raises
    `CannotDifferentiate` for float types that the function does not exist in.
    """
    kind = next(a.type for a in args if isinstance(a.type.scalar, FloatType))
    if name in INTRINSICS:
        return builder.intrinsic(f"llvm.{name}", [kind], args)
    if isinstance(kind, VectorType):
        return _lane_by_lane(builder, name, args, kind)
    if kind is f64 or (kind is f32 and name not in THROUGH_F64):
        return _call_symbol(builder, name, args, kind)
    if isinstance(kind, FloatType) and kind.bits <= 32:
        wide = [builder.fpext(a, f64) if a.type is kind else a for a in args]
        return builder.fptrunc(_call_symbol(builder, name, wide, f64), kind)
    raise CannotDifferentiate(f"the derivative needs {name} in the type {kind}, which no library has")


def _lane_by_lane(builder: Builder, name: str, args: Sequence[Value], kind: VectorType) -> Value:
    lanes = [emit_call(builder, name, [_lane(builder, a, lane) for a in args]) for lane in range(kind.count)]
    return builder.build_vector(lanes)


def _lane(builder: Builder, value: Value, lane: int) -> Value:
    return builder.extract_element(value, lane) if isinstance(value.type, VectorType) else value


def _call_symbol(builder: Builder, name: str, args: Sequence[Value], kind: Type) -> Value:
    if name in special.FUNCTIONS:
        symbol = special.symbol(name, kind)
        return builder.call(symbol, kind, args, declaration=special.definition(symbol))
    symbol = name if kind is f64 else name + "f"
    return builder.call(symbol, kind, args, function_attributes=PURE)
