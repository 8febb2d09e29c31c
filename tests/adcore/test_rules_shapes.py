"""Rules on vectors, structs and choices: the rows that are no function of scalar floats alone."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder, new_function
from ferrodiff.adcore.ir.constants import const_int, poison
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.types import StructType, Type, VectorType, f64, i1, i32, ptr, void
from ferrodiff.adcore.rules.partial import (
    LaneDot,
    LanePick,
    LaneSum,
    NoDerivative,
    Partial,
    Pick,
    Scale,
    Unit,
)
from ferrodiff.adcore.rules.rule import Rule, Site
from ferrodiff.adcore.rules.table import BY_NAME, BY_OPCODE, RULES

EMPTY = 'target triple = "x86_64-unknown-linux-gnu"\n'
V2 = VectorType(2, f64)
V4 = VectorType(4, f64)

Body = Callable[[Builder, list[Value]], list[Value]]


def run(inputs: list[list[float]], types: list[Type], body: Body, outputs: int) -> list[float]:
    """Run code on doubles in memory: input k has type `types[k]`; the outputs' elements are returned."""
    function = new_function("f", void, [ptr, ptr], linkage="")
    builder = Builder(function)
    builder.position(builder.new_block("entry"))
    source, target = function.arguments
    values: list[Value] = []
    offset = 0
    for numbers, kind in zip(inputs, types, strict=True):
        values.append(builder.load(kind, builder.ptradd(source, offset), 8))
        offset += 8 * len(numbers)
    place = 0
    for value in body(builder, values):
        builder.store(value, builder.ptradd(target, place), 8)
        place += 8 * (value.type.count if isinstance(value.type, VectorType) else 1)
    builder.ret()
    flat = [n for numbers in inputs for n in numbers]
    given = (ctypes.c_double * len(flat))(*flat)
    got = (ctypes.c_double * outputs)()
    with Jit(Module.parse(EMPTY).with_functions([function])) as jit:
        jit.function("f", None, ctypes.c_void_p, ctypes.c_void_p)(
            ctypes.addressof(given), ctypes.addressof(got)
        )
    return list(got)


def as_value(builder: Builder, partial: Partial, kind: Type) -> Value:
    """A partial as a value: the contribution of a tangent of one."""
    from ferrodiff.adcore.ir.constants import const

    match partial:
        case Unit(sign=sign):
            return const(kind, float(sign))
        case Scale(value=value):
            return value
        case Pick(condition=condition):
            return builder.select(condition, const(kind, 1.0), const(kind, 0.0))
        case NoDerivative():
            return const(kind, 0.0)
    raise AssertionError(partial)


ELEMENTWISE = [
    rule
    for rule in RULES
    if not rule.is_inactive
    and not rule.fields
    and set(rule.operands) <= {"f"}
    and rule.name not in ("fpext", "fptrunc")
    and (rule.name.startswith("llvm.") or rule.name in BY_OPCODE)
]


@pytest.mark.parametrize("rule", ELEMENTWISE, ids=lambda rule: rule.name)
def test_vector_lanes_equal_scalars(rule: Rule) -> None:
    """A rule on `<2 x double>` gives in each lane the bits it gives on that lane alone."""
    lanes = [[0.3 + 0.17 * k, 0.45 + 0.21 * k] for k in range(rule.arity + 1)]

    def body(builder: Builder, values: list[Value]) -> list[Value]:
        found: list[Value] = []
        for operand in range(rule.arity):
            site = Site(builder, values[:-1], values[-1], V2)
            found.append(as_value(builder, rule.partial(site, operand), V2))
            for lane in range(2):
                scalars = [builder.extract_element(v, lane) for v in values]
                site = Site(builder, scalars[:-1], scalars[-1], f64)
                found.append(as_value(builder, rule.partial(site, operand), f64))
        return found

    got = run(lanes, [V2] * len(lanes), body, 4 * rule.arity)
    for operand in range(rule.arity):
        vector, scalars = got[4 * operand : 4 * operand + 2], got[4 * operand + 2 : 4 * operand + 4]
        assert struct.pack("2d", *vector) == struct.pack("2d", *scalars)


def test_powi_of_a_vector() -> None:
    """The exponent of a vector's `powi` is one integer for all lanes."""
    rule = BY_NAME["llvm.powi"]

    def body(builder: Builder, values: list[Value]) -> list[Value]:
        n = builder.fptosi(values[1], i32)
        return [as_value(builder, rule.partial(Site(builder, [values[0], n], values[0], V2), 0), V2)]

    assert run([[2.0, 3.0], [3.0]], [V2, f64], body, 2) == [12.0, 27.0]


ROW = [3.0, -1.0, 7.0, 2.0]


def test_sum_of_a_vector() -> None:
    rule = BY_NAME["llvm.vector.reduce.fadd"]
    site = Site(Builder(new_function("f", void, [])), [poison(f64), poison(V4)], poison(f64))
    assert rule.partial(site, 0) == Unit(1)
    assert rule.partial(site, 1) == LaneSum()


@pytest.mark.parametrize("row", [ROW, [0.0, 2.0, 3.0, 4.0], [0.0, 0.0, 3.0, 4.0]])
def test_product_of_a_vector(row: list[float]) -> None:
    """Each weight is the product of all the other factors, zeros among them."""
    rule = BY_NAME["llvm.vector.reduce.fmul"]

    def body(builder: Builder, values: list[Value]) -> list[Value]:
        site = Site(builder, values[:2], None)
        first, second = rule.partial(site, 0), rule.partial(site, 1)
        assert isinstance(first, Scale) and isinstance(second, LaneDot)
        return [first.value, second.weights]

    start, *weights = run([[5.0], row], [f64, V4], body, 5)
    assert start == math.prod(row)
    assert weights == [5.0 * math.prod(row[:k] + row[k + 1 :]) for k in range(4)]


NAN = math.nan


@pytest.mark.parametrize(
    ("name", "row", "result", "index"),
    [
        ("fmax", ROW, 7.0, 2),
        ("fmin", ROW, -1.0, 1),
        ("fmax", [7.0, 1.0, 7.0, 7.0], 7.0, 0),
        ("fmax", [1.0, NAN, 7.0, 7.0], 7.0, 2),
        ("fmaximum", [1.0, NAN, 7.0, 7.0], NAN, 1),
        ("fminimum", [4.0, 3.0, 3.0, 9.0], 3.0, 1),
    ],
)
def test_extremum_of_a_vector(name: str, row: list[float], result: float, index: int) -> None:
    """The element returned; of equal ones the first."""
    rule = BY_NAME[f"llvm.vector.reduce.{name}"]

    def body(builder: Builder, values: list[Value]) -> list[Value]:
        partial = rule.partial(Site(builder, [values[0]], values[1]), 0)
        assert isinstance(partial, LanePick)
        return [builder.sitofp(partial.index, f64)]

    assert run([row, [result]], [V4, f64], body, 1) == [float(index)]


def fields_of(name: str, operands: list[float], results: tuple[float, float]) -> list[list[float]]:
    """All partials of a rule with two results: one list per result."""
    rule = BY_NAME[name]

    def body(builder: Builder, values: list[Value]) -> list[Value]:
        pair: Value = poison(StructType((f64, f64)))
        pair = builder.insert_value(builder.insert_value(pair, values[-2], 0), values[-1], 1)
        site = Site(builder, values[:-2], pair)
        places = [(field, k) for field in (0, 1) for k in range(rule.arity)]
        return [as_value(builder, rule.partial(site, k, field), f64) for field, k in places]

    given = [[v] for v in (*operands, *results)]
    flat = run(given, [f64] * len(given), body, 2 * rule.arity)
    return [flat[: rule.arity], flat[rule.arity :]]


def test_sincos_takes_each_from_the_other() -> None:
    sine, cosine = math.sin(0.7), math.cos(0.7)
    assert fields_of("llvm.sincos", [0.7], (sine, cosine)) == [[cosine], [-sine]]
    assert fields_of("llvm.sincospi", [0.25], (0.5, 0.75)) == [[math.pi * 0.75], [-math.pi * 0.5]]


@pytest.mark.parametrize(
    ("name", "function"),
    [("__muldc3", lambda z, w: z * w), ("__divdc3", lambda z, w: z / w)],
)
def test_complex_arithmetic(name: str, function: Callable[[complex, complex], complex]) -> None:
    """Against the complex derivative: along a real direction it is f', along an imaginary one i f'."""
    z, w = complex(1.3, -0.4), complex(0.7, 2.1)
    result = function(z, w)
    by_z, by_w = (w, z) if name == "__muldc3" else (1 / w, -result / w)
    wanted = [by_z, 1j * by_z, by_w, 1j * by_w]
    real, imaginary = fields_of(name, [z.real, z.imag, w.real, w.imag], (result.real, result.imag))
    for got_real, got_imaginary, exact in zip(real, imaginary, wanted, strict=True):
        assert abs(complex(got_real, got_imaginary) - exact) <= 1e-15


def test_sincos_through_pointers_says_what_it_writes() -> None:
    """The libm form returns nothing; its two stores carry the partials."""
    rule = BY_NAME["sincos"]
    assert not rule.is_inactive
    assert [w.operand for w in rule.writes] == [1, 2]

    def body(builder: Builder, values: list[Value]) -> list[Value]:
        site = Site(builder, [values[0], poison(ptr), poison(ptr)], None, f64)
        rows = [w.partials[0] for w in rule.writes if w.partials is not None]
        return [as_value(builder, row(site), f64) for row in rows if row is not None]

    assert run([[0.7]], [f64], body, 2) == [math.cos(0.7), -math.sin(0.7)]


@pytest.mark.parametrize(("condition", "wanted"), [(1, [1.0, 0.0]), (0, [0.0, 1.0])])
def test_select_picks(condition: int, wanted: list[float]) -> None:
    rule = BY_OPCODE["select"]

    def body(builder: Builder, values: list[Value]) -> list[Value]:
        site = Site(builder, [const_int(i1, condition), *values], values[0])
        assert isinstance(rule.partial(site, 0), NoDerivative)
        return [as_value(builder, rule.partial(site, k), f64) for k in (1, 2)]

    assert run([[3.0], [4.0]], [f64, f64], body, 2) == wanted


@pytest.mark.parametrize("name", ["llvm.maxnum", "llvm.maximum"])
@pytest.mark.parametrize(("x", "y", "left"), [(1.0, 2.0, 0.0), (2.0, 1.0, 1.0), (1.0, 1.0, 1.0)])
def test_choice_is_the_first_partial(name: str, x: float, y: float, left: float) -> None:
    """`Rule.condition` lets a transform select between two tangents at once."""
    rule = BY_NAME[name]
    assert rule.choices == (0, 1)

    def body(builder: Builder, values: list[Value]) -> list[Value]:
        condition = rule.condition(Site(builder, values[:2], values[2]))
        return [builder.uitofp(condition, f64)]

    assert run([[x], [y], [max(x, y)]], [f64] * 3, body, 1) == [left]
