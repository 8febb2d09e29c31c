"""Second derivatives: the partials' own code, differentiated by the same table, against mpmath.

The code that a rule emits is a straight line. Carrying tangents along it with the rules of its instructions
is forward mode over forward mode in small, without the transforms.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
from mpmath import mp, mpf

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.constants import const
from ferrodiff.adcore.ir.instructions import Instruction
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import f64, is_float
from ferrodiff.adcore.rules.partial import NoDerivative, Partial, Pick, Scale, Unit
from ferrodiff.adcore.rules.rule import Rule, Site
from ferrodiff.adcore.rules.table import BY_NAME, BY_OPCODE, rule_for_instruction

mp.dps = 50

CASES: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "fmul": (lambda x, y: x * y, (1.3, -0.7)),
    "fdiv": (lambda x, y: x / y, (1.3, 0.7)),
    "llvm.sqrt": (mp.sqrt, (2.3,)),
    "llvm.sin": (mp.sin, (0.7,)),
    "llvm.cos": (mp.cos, (0.7,)),
    "llvm.tan": (mp.tan, (0.7,)),
    "llvm.asin": (mp.asin, (0.4,)),
    "llvm.acos": (mp.acos, (0.4,)),
    "llvm.atan": (mp.atan, (1.4,)),
    "llvm.atan2": (mp.atan2, (0.6, -0.9)),
    "llvm.sinh": (mp.sinh, (0.8,)),
    "llvm.cosh": (mp.cosh, (0.8,)),
    "llvm.tanh": (mp.tanh, (-0.8,)),
    "llvm.exp": (mp.exp, (0.8,)),
    "llvm.exp2": (lambda x: mpf(2) ** x, (0.8,)),
    "llvm.exp10": (lambda x: mpf(10) ** x, (0.8,)),
    "llvm.log": (mp.log, (1.9,)),
    "llvm.log2": (lambda x: mp.log(x, 2), (1.9,)),
    "llvm.log10": (mp.log10, (1.9,)),
    "llvm.pow": (lambda x, y: x**y, (1.4, 2.3)),
    "llvm.fma": (lambda x, y, z: x * y + z, (1.4, 2.3, 0.1)),
    "llvm.fabs": (abs, (-1.5,)),
    "llvm.maxnum": (max, (1.5, 1.2)),
    "cbrt": (mp.cbrt, (1.7,)),
    "expm1": (mp.expm1, (0.3,)),
    "log1p": (mp.log1p, (0.3,)),
    "hypot": (lambda x, y: mp.sqrt(x * x + y * y), (1.1, -0.4)),
    "asinh": (mp.asinh, (0.9,)),
    "acosh": (mp.acosh, (1.9,)),
    "atanh": (mp.atanh, (0.3,)),
    "erf": (mp.erf, (0.8,)),
    "erfc": (mp.erfc, (1.8,)),
    "tgamma": (mp.gamma, (2.7,)),
    "lgamma": (lambda x: mp.log(mp.gamma(x)), (2.7,)),
    "j0": (lambda x: mp.besselj(0, x), (1.7,)),
    "y0": (lambda x: mp.bessely(0, x), (1.7,)),
    "j1": (lambda x: mp.besselj(1, x), (1.7,)),
    "y1": (lambda x: mp.bessely(1, x), (1.7,)),
    "fmod": (lambda x, y: x - 2 * y, (5.5, 2.0)),
    "__ferrodiff_digamma": (mp.digamma, (2.7,)),
}


def tangent_of(partial: Partial, builder: Builder, t: Value) -> Value | None:
    match partial:
        case Unit(sign=sign):
            return t if sign > 0 else builder.fneg(t)
        case Scale(value=value):
            return builder.fmul(value, t)
        case Pick(condition=condition):
            return builder.select(condition, t, const(f64, 0.0))
        case NoDerivative():
            return None
    raise AssertionError(partial)


def push_forward(builder: Builder, code: list[Instruction], tangents: dict[Value, Value]) -> None:
    """Carry tangents along straight-line code with the rules of its instructions."""
    for insn in code:
        if not is_float(insn.type):
            continue
        rule = rule_for_instruction(insn)
        assert rule is not None, str(insn)
        site = Site(builder, insn.operands, insn)
        total: Value | None = None
        for operand, value in enumerate(insn.operands):
            if value not in tangents:
                continue
            term = tangent_of(rule.partial(site, operand), builder, tangents[value])
            if term is not None:
                total = term if total is None else builder.fadd(total, term)
        if total is not None:
            tangents[insn] = total


def second_derivative(rule: Rule, values: tuple[float, ...], result: float, i: int, j: int) -> float:
    """d/dx_j of the partial in x_i, as compiled from the rules applied twice."""
    function = new_function("f", f64, [f64] * (rule.arity + 1), linkage="")
    builder = Builder(function)
    block = builder.new_block("entry")
    builder.position(block)
    *operands, r = function.arguments
    site = Site(builder, operands, r, f64)
    slope = tangent_of(rule.partial(site, j), builder, const(f64, 1.0)) or const(f64, 0.0)
    partial = tangent_of(rule.partial(site, i), builder, const(f64, 1.0)) or const(f64, 0.0)
    tangents: dict[Value, Value] = {operands[j]: const(f64, 1.0), r: slope}
    push_forward(builder, list(block.instructions), tangents)
    builder.ret(tangents.get(partial, const(f64, 0.0)))
    with Jit(Module.parse('target triple = "x86_64-unknown-linux-gnu"\n').with_functions([function])) as jit:
        call = jit.function("f", ctypes.c_double, *[ctypes.c_double] * (rule.arity + 1))
        return float(call(*values, result))


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name: str) -> None:
    """All second partials, mixed ones included."""
    rule = BY_OPCODE.get(name) or BY_NAME[name]
    function, values = CASES[name]
    exact = [mpf(v) for v in values]
    result = float(function(*exact))
    for i in range(rule.arity):
        for j in range(rule.arity):
            order = tuple((k == i) + (k == j) for k in range(rule.arity))
            wanted = (
                mp.diff(function, tuple(exact), order) if rule.arity > 1 else mp.diff(function, exact[0], 2)
            )
            got = second_derivative(rule, values, result, i, j)
            assert abs(got - wanted) <= 1e-13 * max(abs(wanted), 1), (i, j, got, wanted)
