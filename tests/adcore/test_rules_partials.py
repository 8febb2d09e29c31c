"""Every row of the rule table, in every operand, against derivatives computed with 50 digits.

The loop runs over the table itself: a row without a reference fails. `REFERENCES` says what each function is
and where to sample it; a tolerance above 4 ulp has its reason beside it.
"""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from mpmath import mp, mpf

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.constants import const_float, poison, zero
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import FloatType, StructType, Type, f32, f64, i32, ptr
from ferrodiff.adcore.rules.partial import CastPartial, NoDerivative, Partial, Pick, Scale, Unit
from ferrodiff.adcore.rules.rule import Rule, Site
from ferrodiff.adcore.rules.table import RULES

mp.dps = 50
DIGITS = {f64: 53, f32: 24}
POINTS = 24


# -- what each function is, and where it is sampled ----------------------------------------------------------


@dataclass(frozen=True)
class Reference:
    """A function of mpmath numbers, an interval per float operand (ints: choices), tolerances in ulp."""

    function: Callable[..., Any]
    domains: tuple[Any, ...]
    ulp: float = 4
    ulp32: float = 4
    absolute: float = 0.0
    derivative: Callable[..., Any] | None = None


def trunc(x: Any) -> Any:
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def mantissa(x: Any) -> Any:
    return x * mpf(2) ** -exponent(x)


def exponent(x: Any) -> int:
    return math.frexp(float(x))[1]


def log_gamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x)))


WIDE = (-20.0, 20.0)
POSITIVE = (0.01, 50.0)

# mpmath's own functions of the same name, on the interval given.
BY_NAME: dict[str, tuple[float, float]] = {
    "sqrt": (0.001, 1000.0),
    "sin": WIDE,
    "cos": WIDE,
    "tan": WIDE,
    "asin": (-0.999, 0.999),
    "acos": (-0.999, 0.999),
    "atan": WIDE,
    "sinh": WIDE,
    "cosh": WIDE,
    "tanh": WIDE,
    "exp": WIDE,
    "log": POSITIVE,
    "cbrt": POSITIVE,
    "log1p": (-0.9, 30.0),
    "expm1": WIDE,
    "asinh": WIDE,
    "acosh": (1.01, 50.0),
    "atanh": (-0.99, 0.99),
    "sinpi": (-3.0, 3.0),
    "cospi": (-3.0, 3.0),
    "erf": (-6.0, 6.0),
    "erfc": (-6.0, 9.0),
}

REFERENCES: dict[str, Reference] = {
    "fadd": Reference(lambda x, y: x + y, (WIDE, WIDE)),
    "fsub": Reference(lambda x, y: x - y, (WIDE, WIDE)),
    "fneg": Reference(lambda x: -x, (WIDE,)),
    "fmul": Reference(lambda x, y: x * y, (WIDE, WIDE)),
    "fdiv": Reference(lambda x, y: x / y, (WIDE, WIDE)),
    "frem": Reference(lambda x, y: x - y * trunc(x / y), ((-50.0, 50.0), (0.3, 7.0))),
    "fmod": Reference(lambda x, y: x - y * trunc(x / y), ((-50.0, 50.0), (-7.0, -0.3))),
    "remainder": Reference(lambda x, y: x - y * mp.nint(x / y), ((-50.0, 50.0), (0.3, 7.0))),
    "remquo": Reference(lambda x, y: x - y * mp.nint(x / y), ((-50.0, 50.0), (0.3, 7.0), None)),
    "fpext": Reference(lambda x: x, (WIDE,)),
    "fptrunc": Reference(lambda x: x, (WIDE,)),
    "tan": Reference(mp.tan, (WIDE,)),
    "atan2": Reference(lambda y, x: mp.atan2(y, x), (WIDE, WIDE)),
    "exp2": Reference(lambda x: mpf(2) ** x, (WIDE,)),
    "exp10": Reference(lambda x: mpf(10) ** x, (WIDE,)),
    "log2": Reference(lambda x: mp.log(x, 2), (POSITIVE,)),
    "log10": Reference(mp.log10, (POSITIVE,)),
    "pow": Reference(lambda x, y: x**y, (POSITIVE, (-6.0, 6.0))),
    # Repeated squaring rounds in every step.
    "powi": Reference(lambda x, n: x**n, ((-3.0, 3.0), (-5, -2, -1, 0, 1, 2, 3, 7)), ulp=8, ulp32=8),
    "fma": Reference(lambda x, y, z: x * y + z, (WIDE, WIDE, WIDE)),
    "fabs": Reference(lambda x: abs(x), (WIDE,)),
    "copysign": Reference(lambda x, y: abs(x) * mp.sign(y), (WIDE, WIDE)),
    "maxnum": Reference(max, (WIDE, WIDE)),
    "maximum": Reference(max, (WIDE, WIDE)),
    "canonicalize": Reference(lambda x: x, (WIDE,)),
    "ldexp": Reference(lambda x, n: x * mpf(2) ** n, (WIDE, (-5, 0, 1, 9))),
    "llvm.frexp": Reference(mantissa, (WIDE,)),
    "frexp": Reference(mantissa, (WIDE, None)),
    "llvm.modf": Reference(lambda x: x - trunc(x), (WIDE,)),
    "modf": Reference(lambda x: x - trunc(x), (WIDE, None)),
    "rsqrt": Reference(lambda x: 1 / mp.sqrt(x), ((0.001, 1000.0),)),
    "hypot": Reference(lambda x, y: mp.sqrt(x * x + y * y), (WIDE, WIDE)),
    "exp2m1": Reference(lambda x: mpf(2) ** x - 1, (WIDE,)),
    "exp10m1": Reference(lambda x: mpf(10) ** x - 1, (WIDE,)),
    "log2p1": Reference(lambda x: mp.log(1 + x, 2), ((-0.9, 30.0),)),
    "log10p1": Reference(lambda x: mp.log(1 + x, 10), ((-0.9, 30.0),)),
    "tanpi": Reference(lambda x: mp.tan(mp.pi * x), ((-0.45, 0.45),)),
    "asinpi": Reference(lambda x: mp.asin(x) / mp.pi, ((-0.99, 0.99),)),
    "acospi": Reference(lambda x: mp.acos(x) / mp.pi, ((-0.99, 0.99),)),
    "atanpi": Reference(lambda x: mp.atan(x) / mp.pi, (WIDE,)),
    "tgamma": Reference(
        mp.gamma,
        ((1.6, 20.0),),
    ),
    "lgamma": Reference(log_gamma, ((0.05, 40.0),), derivative=mp.digamma),
    "lgamma_r": Reference(log_gamma, ((0.05, 40.0), None), derivative=lambda x: mp.digamma(x)),
    # Bessel functions cross zero inside the interval: the error is relative to their amplitude.
    "j0": Reference(lambda x: mp.besselj(0, x), ((0.1, 12.0),), absolute=4e-16),
    "y0": Reference(lambda x: mp.bessely(0, x), ((0.3, 12.0),), absolute=1e-15),
    "j1": Reference(lambda x: mp.besselj(1, x), ((0.1, 12.0),), absolute=4e-16),
    "y1": Reference(lambda x: mp.bessely(1, x), ((0.3, 12.0),), absolute=1e-15, ulp=16),
    "jn": Reference(mp.besselj, ((0, 1, 2, 3), (0.1, 12.0)), absolute=1e-15),
    "yn": Reference(mp.bessely, ((0, 1, 2, 3), (0.5, 12.0)), absolute=1e-15, ulp=32),
    "__ferrodiff_digamma": Reference(mp.digamma, ((0.05, 40.0),), derivative=lambda x: mp.polygamma(1, x)),
    "__ferrodiff_polygamma": Reference(
        mp.polygamma, ((1, 2, 3), (0.05, 40.0)), ulp=16, derivative=lambda n, x: mp.polygamma(n + 1, x)
    ),
    "__ferrodiff_pow_dx": Reference(
        lambda x, y, p: y * x ** (y - 1), ((0.1, 5.0), (1.2, 6.0), WIDE), ulp=16, ulp32=16
    ),
    "fdim": Reference(lambda x, y: max(x - y, mpf(0)), (WIDE, WIDE)),
    "__adddf3": Reference(lambda x, y: x + y, (WIDE, WIDE)),
    "__subdf3": Reference(lambda x, y: x - y, (WIDE, WIDE)),
    "__muldf3": Reference(lambda x, y: x * y, (WIDE, WIDE)),
    "__divdf3": Reference(lambda x, y: x / y, (WIDE, WIDE)),
    "__negdf2": Reference(lambda x: -x, (WIDE,)),
    "__extendsfdf2": Reference(lambda x: x, (WIDE,)),
    "__truncdfsf2": Reference(lambda x: x, (WIDE,)),
}

ELSEWHERE = frozenset(
    {"select", "llvm.sincos", "llvm.sincospi", "sincos", "__muldc3", "__divdc3"}
    | {f"llvm.vector.reduce.{name}" for name in ("fadd", "fmul", "fmax", "fmaximum")}
)
"""Rows that are no function of floats alone; tests of their own are in test_rules_shapes.py."""


def reference(rule: Rule) -> Reference:
    """The reference of a row: by its name, or mpmath's function of that name."""
    plain = rule.name.removeprefix("llvm.")
    found = REFERENCES.get(rule.name) or REFERENCES.get(plain)
    if found is None:
        assert plain in BY_NAME, f"no reference for {rule.name}: add one to this file"
        found = Reference(getattr(mp, plain), (BY_NAME[plain],))
    return found


ACTIVE = [rule for rule in RULES if not rule.is_inactive and rule.name not in ELSEWHERE]


# -- partials as compiled functions --------------------------------------------------------------------------


def contribution(builder: Builder, partial: Partial, t: Value) -> Value:
    """What a tangent t contributes, by the meaning of the partials."""
    nothing = zero(t.type)
    match partial:
        case Unit(sign=sign):
            return t if sign > 0 else builder.fneg(t)
        case Scale(value=value, nonfinite=nonfinite, vanishing=vanishing):
            product = builder.fmul(value, t)
            if not nonfinite:
                return product
            flat = builder.fcmp("oeq", t, nothing)
            if vanishing:
                flat = builder.or_(flat, builder.fcmp("oeq", value, nothing))
            return builder.select(flat, nothing, product)
        case Pick(condition=condition):
            return builder.select(condition, t, nothing)
        case CastPartial():
            return t
        case NoDerivative():
            return nothing
    raise AssertionError(partial)


def operand_type(letter: str, kind: FloatType) -> Type:
    return {"f": kind, "i": i32, "p": ptr}[letter]


def result_types(rule: Rule, kind: FloatType) -> list[Type]:
    if rule.fields:
        return [kind, i32 if "frexp" in rule.name else kind]
    return [kind]


def build(rule: Rule, kind: FloatType, operand: int) -> Any:
    """`kind name(kind t, operands..., results...)`: the contribution of t through this operand."""
    letters = [operand_type(letter, kind) for letter in rule.operands]
    results = result_types(rule, kind)
    function = new_function(
        f"partial|{rule.name}|{operand}|{kind}", kind, [kind, *letters, *results], linkage=""
    )
    builder = Builder(function)
    builder.position(builder.new_block("entry"))
    values: list[Value] = list(function.arguments)
    operands, fields = values[1 : 1 + len(letters)], values[1 + len(letters) :]
    result = fields[0]
    if rule.fields:
        result = poison(StructType(tuple(results)))
        for place, value in enumerate(fields):
            result = builder.insert_value(result, value, place)
    partial = rule.partial(Site(builder, operands, result, kind), operand, 0 if rule.fields else None)
    builder.ret(contribution(builder, partial, values[0]))
    return function


EMPTY = """
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
"""


_CALLBACKS = [
    (name + suffix, ctypes.CFUNCTYPE(kind, kind)(lambda x, function=function: float(function(mpf(x)))))
    for name, function in (("cospi", mp.cospi), ("sinpi", mp.sinpi))
    for suffix, kind in (("", ctypes.c_double), ("f", ctypes.c_float))
]


def add_recent_libm() -> None:
    """`sinpi` and `cospi` came with C23; an older libm lacks them."""
    import llvmlite.binding as llvm

    for name, function in _CALLBACKS:
        if not llvm.address_of_symbol(name):
            llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


C_TYPES = {f64: ctypes.c_double, f32: ctypes.c_float, i32: ctypes.c_int, ptr: ctypes.c_void_p}


class Compiled:
    """All partials of the table, compiled once."""

    def __init__(self) -> None:
        add_recent_libm()
        functions = [
            build(rule, kind, operand)
            for rule in ACTIVE
            for kind in (f64, f32)
            for operand in range(rule.arity)
            if rule.operands[operand] == "f"
        ]
        self.types = {f.name: [a.type for a in f.arguments] for f in functions}
        self.jit = Jit(Module.parse(EMPTY).with_functions(functions), opt_level=2)

    def __call__(self, rule: Rule, operand: int, kind: FloatType, t: float, *values: Any) -> float:
        name = f"partial|{rule.name}|{operand}|{kind}"
        parameters = [C_TYPES[p] for p in self.types[name]]
        found = self.jit.function(name, C_TYPES[kind], *parameters)(t, *values)
        assert isinstance(found, float)
        return found


@pytest.fixture(scope="module")
def compiled() -> Iterator[Compiled]:
    made = Compiled()
    yield made
    made.jit.close()


# -- comparing -----------------------------------------------------------------------------------------------


def rounded(x: float, kind: FloatType) -> float:
    """A Python number in the type."""
    return x if kind is f64 else ctypes.c_float(x).value


def ulps(got: float, wanted: Any, kind: FloatType) -> float:
    """The distance in units of the last place of the wanted value."""
    if wanted == 0:
        return 0.0 if got == 0 else math.inf
    unit = mpf(2) ** (mp.floor(mp.log(abs(wanted), 2)) - DIGITS[kind] + 1)
    return float(abs(mpf(got) - wanted) / unit)


def sample(rule: Rule, ref: Reference, kind: FloatType, seed: int) -> Iterator[list[Any]]:
    numbers = random.Random(f"{rule.name}{seed}")
    for _ in range(POINTS):
        yield [
            None if domain is None
            else numbers.choice(domain) if rule.operands[place] == "i"
            else rounded(numbers.uniform(*domain), kind)
            for place, domain in enumerate(ref.domains)
        ]  # fmt: skip


def true_derivative(ref: Reference, operand: int, values: list[Any]) -> Any:
    exact = [mpf(v) if isinstance(v, float) else v for v in values if v is not None]
    if ref.derivative is not None:
        return ref.derivative(*exact)

    def along(v: Any) -> Any:
        return ref.function(*(v if k == operand else e for k, e in enumerate(exact)))

    return mp.diff(along, exact[operand])


def results(rule: Rule, ref: Reference, values: list[Any], kind: FloatType) -> list[Any]:
    """The primal's results, correctly rounded."""
    exact = [mpf(v) if isinstance(v, float) else v for v in values if v is not None]
    first = rounded(float(ref.function(*exact)), kind)
    if not rule.fields:
        return [first]
    return [first, exponent(values[0]) if "frexp" in rule.name else 0.0]


OPERANDS = [
    pytest.param(rule, operand, kind, id=f"{rule.name}-{operand}-{kind}")
    for rule in ACTIVE
    for operand in range(rule.arity)
    if rule.operands[operand] == "f"
    for kind in (f64, f32)
]


@pytest.mark.parametrize(("rule", "operand", "kind"), OPERANDS)
def test_partial(compiled: Compiled, rule: Rule, operand: int, kind: FloatType) -> None:
    """Within a few ulp of the true derivative, at random points; the tangent 1 is passed through exactly."""
    ref = reference(rule)
    if rule.row(operand, 0 if rule.fields else None) is None:
        return
    limit = ref.ulp if kind is f64 else ref.ulp32
    slack = ref.absolute * (1 if kind is f64 else 2.0**29)
    for values in sample(rule, ref, kind, operand):
        got = compiled(rule, operand, kind, 1.0, *values, *results(rule, ref, values, kind))
        wanted = true_derivative(ref, operand, values)
        close = abs(mpf(got) - wanted) <= slack
        assert close or ulps(got, wanted, kind) <= limit, (values, got, mp.nstr(wanted, 17))


@pytest.mark.parametrize(("rule", "operand", "kind"), OPERANDS)
def test_zero_tangent_contributes_zero(compiled: Compiled, rule: Rule, operand: int, kind: FloatType) -> None:
    """At random points a zero tangent gives zero, never NaN."""
    ref = reference(rule)
    for values in sample(rule, ref, kind, operand):
        assert compiled(rule, operand, kind, 0.0, *values, *results(rule, ref, values, kind)) == 0.0


# -- edges: the choices of docs/rules.md, row by row ---------------------------------------------------------

INF, NAN = math.inf, math.nan

# name, operands, the primal's result, partials
EDGES: list[tuple[str, tuple[Any, ...], float, tuple[float, ...]]] = [
    ("llvm.sqrt", (0.0,), 0.0, (INF,)),
    ("llvm.sqrt", (-0.0,), -0.0, (INF,)),
    ("cbrt", (0.0,), 0.0, (INF,)),
    ("cbrt", (-8.0,), -2.0, (1 / 12,)),
    ("llvm.fabs", (0.0,), 0.0, (1.0,)),
    ("llvm.fabs", (-0.0,), 0.0, (-1.0,)),
    ("llvm.pow", (0.0, 0.0), 1.0, (0.0, 0.0)),
    ("llvm.pow", (0.0, 1.0), 0.0, (1.0, 0.0)),
    ("llvm.pow", (0.0, 2.0), 0.0, (0.0, 0.0)),
    ("llvm.pow", (0.0, 0.5), 0.0, (INF, 0.0)),
    ("llvm.pow", (0.0, -1.0), INF, (-INF, -INF)),
    ("llvm.pow", (-2.0, 2.0), 4.0, (-4.0, NAN)),
    ("llvm.pow", (1e-200, 1.9), 0.0, (1.9 * 1e-200 ** (1.9 - 1), 0.0)),
    ("llvm.pow", (1e200, 1.6), INF, (1.6 * 1e200 ** (1.6 - 1), INF)),
    ("llvm.pow", (5.0, 0.0), 1.0, (0.0, math.log(5.0))),
    ("llvm.powi", (0.0, 0), 1.0, (0.0, 0.0)),
    ("llvm.powi", (0.0, 1), 0.0, (1.0, 0.0)),
    ("llvm.powi", (0.0, -1), INF, (-INF, 0.0)),
    ("llvm.powi", (-2.0, 2), 4.0, (-4.0, 0.0)),
    ("llvm.maxnum", (1.0, 1.0), 1.0, (1.0, 0.0)),
    ("llvm.maxnum", (1.0, NAN), 1.0, (1.0, 0.0)),
    ("llvm.maxnum", (NAN, 1.0), 1.0, (0.0, 1.0)),
    ("llvm.maximum", (1.0, 1.0), 1.0, (1.0, 0.0)),
    ("llvm.maximum", (NAN, 1.0), NAN, (1.0, 0.0)),
    ("llvm.maximum", (1.0, NAN), NAN, (0.0, 1.0)),
    ("hypot", (0.0, 0.0), 0.0, (0.0, 0.0)),
    ("hypot", (1e200, 1e200), math.hypot(1e200, 1e200), (math.sqrt(0.5), math.sqrt(0.5))),
    ("llvm.atan2", (0.0, 0.0), 0.0, (NAN, NAN)),
    ("llvm.atan2", (1.0, 0.0), math.pi / 2, (0.0, -1.0)),
    ("llvm.atan2", (1e200, 1e200), math.pi / 4, (0.5e-200, -0.5e-200)),
    ("llvm.atan2", (1e-200, 1e-200), math.pi / 4, (0.5e200, -0.5e200)),
    ("fmod", (5.5, 2.0), 1.5, (1.0, -2.0)),
    ("fmod", (-5.5, 2.0), -1.5, (1.0, 2.0)),
    ("frem", (5.5, 2.0), 1.5, (1.0, -2.0)),
    ("frem", (-5.5, 2.0), -1.5, (1.0, 2.0)),
    ("remainder", (5.0, 2.0), 1.0, (1.0, -2.0)),
    ("llvm.copysign", (2.0, -1.0), -2.0, (-1.0, 0.0)),
    ("llvm.copysign", (0.0, -1.0), -0.0, (-1.0, 0.0)),
    ("llvm.copysign", (-3.0, -1.0), -3.0, (1.0, 0.0)),
    ("fdim", (1.0, 1.0), 0.0, (0.0, 0.0)),
    ("llvm.asin", (1.0,), math.pi / 2, (INF,)),
    ("llvm.asin", (-1.0,), -math.pi / 2, (INF,)),
    ("llvm.acos", (1.0,), 0.0, (-INF,)),
    ("acosh", (1.0,), 0.0, (INF,)),
    ("atanh", (1.0,), INF, (INF,)),
    ("asinh", (1e200,), 461.2, (1e-200,)),
    ("acosh", (1e200,), 461.2, (1e-200,)),
    ("llvm.log", (0.0,), -INF, (INF,)),
    ("llvm.log2", (0.0,), -INF, (INF,)),
    ("llvm.log10", (0.0,), -INF, (INF,)),
    ("log1p", (-1.0,), -INF, (INF,)),
    ("expm1", (-40.0,), -1.0, (math.exp(-40.0),)),
    ("llvm.exp", (1000.0,), INF, (INF,)),
    ("llvm.exp", (-1000.0,), 0.0, (0.0,)),
    ("llvm.sinh", (1000.0,), INF, (INF,)),
    ("llvm.cosh", (-1000.0,), INF, (-INF,)),
    ("expm1", (1000.0,), INF, (INF,)),
    ("llvm.tanh", (40.0,), 1.0, (4 * math.exp(-80.0),)),
    ("llvm.tanh", (-1000.0,), -1.0, (0.0,)),
    ("llvm.tanh", (0.0,), 0.0, (1.0,)),
    ("erf", (1e200,), 1.0, (0.0,)),
    ("erf", (-INF,), -1.0, (-0.0,)),
    ("erf", (NAN,), NAN, (NAN,)),
    ("j1", (0.0,), 0.0, (0.5,)),
    ("frexp", (0.0, None), 0.0, (1.0, 0.0)),
    ("fdiv", (0.0, 0.0), NAN, (INF, NAN)),
    ("lgamma", (-1.0,), INF, (NAN,)),
    ("tgamma", (-1.0,), NAN, (NAN,)),
    ("lgamma", (0.0,), INF, (-INF,)),
]


def same(got: float, wanted: float) -> bool:
    """Equal with the sign of infinity, NaN for NaN, else to a few ulp."""
    if math.isnan(wanted):
        return math.isnan(got)
    return got == wanted or math.isclose(got, wanted, rel_tol=4e-15, abs_tol=0.0)


BY_RULE = {rule.name: rule for rule in ACTIVE}


@pytest.mark.parametrize(("name", "values", "result", "partials"), EDGES)
def test_edge(
    compiled: Compiled, name: str, values: tuple[Any, ...], result: float, partials: tuple[float, ...]
) -> None:
    """The partials at the edges, and that a zero tangent contributes zero whatever they are."""
    rule = BY_RULE[name]
    for operand, wanted in enumerate(partials):
        if rule.operands[operand] != "f":
            continue
        got = compiled(rule, operand, f64, 1.0, *values, result)
        assert same(got, wanted), (operand, got, wanted)
        assert compiled(rule, operand, f64, 0.0, *values, result) == 0.0 or any(map(math.isnan, values))
        assert compiled(rule, operand, f64, -0.0, *values, result) == 0.0 or any(map(math.isnan, values))


def test_an_overflow_inside_a_flat_function_is_no_nan(compiled: Compiled) -> None:
    """1/(1 + exp(-x)) at -1000: exp overflows, the division is flat; the chain gives zero in both orders."""
    divide, exp = BY_RULE["fdiv"], BY_RULE["llvm.exp"]
    forward = compiled(exp, 0, f64, -1.0, 1000.0, INF)
    assert forward == -INF
    assert compiled(divide, 1, f64, forward, 1.0, INF, 0.0) == 0.0
    adjoint = compiled(divide, 1, f64, 1.0, 1.0, INF, 0.0)
    assert compiled(exp, 0, f64, adjoint, 1000.0, INF) == 0.0


def test_constants() -> None:
    """`const_float` rounds to the nearest number of the type (the rows' constants rely on it)."""
    assert const_float(f32, math.pi).value == ctypes.c_float(math.pi).value  # type: ignore[attr-defined]
