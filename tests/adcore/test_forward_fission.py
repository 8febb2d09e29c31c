"""Loops that sum up: split into strips, the primal's sum bit for bit, every lane as if it were alone."""

from __future__ import annotations

import ctypes
import math
import random
import re
from collections.abc import Sequence
from fractions import Fraction

import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import text_after_ad
from tangents import derivative, looping

LENGTHS = (1, 2, 15, 16, 17, 127, 128, 129, 256, 300, 1000)
POINTER = ctypes.c_void_p
SIZE = ctypes.c_size_t


def summing(body: str, *, floats: str = "", outputs: str = "%t", extra: str = "") -> str:
    """`f(x, n, out)`: a loop over a slice with the sum `%s`; `body` makes the next, `%t`, of it and of `%v`."""
    start = f"%s = phi double [ 0.5, %entry ], [ %t, %loop ]\n  {floats}"
    return looping(start, body, outputs, extra)


SQUARES = summing("%q = fmul double %v, %v\n  %t = fadd double %s, %q")
TWO_LINKS = summing(
    "%q = fmul double %v, %v\n  %a = fadd double %s, %q\n  %c = fmul double %q, %v\n  %t = fsub double %a, %c"
)
NEIGHBOURS = summing(
    "%q = fmul double %v, %before\n  %t = fadd double %s, %q",
    floats="%before = phi double [ %head, %entry ], [ %v, %loop ]",
)
LOGISTIC = summing("%q = fmul double %s, %v\n  %u = fsub double %v, %q\n  %t = fadd double %s, %u")
EXPONENTIALS = summing("%q = call double @llvm.exp.f64(double %v)\n  %t = fadd double %s, %q")


def vector(values: Sequence[float]) -> ctypes.Array[ctypes.c_double]:
    """A C array."""
    return (ctypes.c_double * len(values))(*values)


class Derivative:
    """`f` and its derivative of one width, compiled without fused multiply-add: fusing changes last bits."""

    def __init__(self, source: str, width: int) -> None:
        self.width = width
        self.jit = Jit(text_after_ad(derivative(source, width)), exports=["f", "df"], cpu="generic")

    def primal(self, x: Sequence[float]) -> float:
        """What `f` writes."""
        out = vector([math.nan])
        self.jit.function("f", None, POINTER, SIZE, POINTER)(vector(x), len(x), out)
        return float(out[0])

    def tangents(
        self, x: Sequence[float], directions: Sequence[Sequence[float]]
    ) -> tuple[float, list[float]]:
        """What `df` writes: the primal, and a tangent for each direction."""
        shadows = [vector(d) for d in directions]
        outs = [vector([math.nan]) for _ in range(self.width + 1)]
        kinds = [POINTER] * (self.width + 1)
        call = self.jit.function("df", None, *kinds, SIZE, *kinds)
        call(vector(x), *shadows, len(x), *outs)
        return float(outs[0][0]), [float(out[0]) for out in outs[1:]]


def inputs(length: int, count: int) -> tuple[list[float], list[list[float]]]:
    """A point and directions, of mixed signs and sizes."""
    source = random.Random(length)
    point = [source.uniform(-2.0, 2.0) for _ in range(length)]
    return point, [[source.uniform(-1.0, 1.0) for _ in range(length)] for _ in range(count)]


def exact(source: str, x: Sequence[float], d: Sequence[float]) -> Fraction:
    """The tangent in exact arithmetic."""
    xs, ds = [Fraction(v) for v in x], [Fraction(v) for v in d]
    if source is SQUARES:
        return sum((2 * a * b for a, b in zip(xs, ds, strict=True)), Fraction(0))
    if source is TWO_LINKS:
        return sum(((2 * a - 3 * a * a) * b for a, b in zip(xs, ds, strict=True)), Fraction(0))
    before = [(xs[0], ds[0]), *zip(xs, ds, strict=True)]
    return sum((a * q + b * p for a, b, (p, q) in zip(xs, ds, before, strict=False)), Fraction(0))


@pytest.mark.parametrize(
    "source", [SQUARES, TWO_LINKS, NEIGHBOURS], ids=["squares", "two links", "neighbours"]
)
def test_sums_keep_their_bits_and_lanes_equal_single_tangents(source: str) -> None:
    single = Derivative(source, 1)
    batches = [Derivative(source, width) for width in (2, 3, 4, 5, 8, 12)]
    for length in LENGTHS:
        point, directions = inputs(length, 12)
        primal = single.primal(point)
        alone = [single.tangents(point, [d]) for d in directions]
        for direction, (value, (tangent,)) in zip(directions, alone, strict=True):
            assert value == primal
            size = sum(abs(v) for v in direction) + 1.0
            assert tangent == pytest.approx(float(exact(source, point, direction)), abs=1e-14 * size)
        for batch in batches:
            value, tangents = batch.tangents(point, directions[: batch.width])
            assert value == primal
            assert tangents == [tangent for _, (tangent,) in alone[: batch.width]], (batch.width, length)


def test_infinite_and_undefined_addends_stay_what_they_are() -> None:
    single = Derivative(SQUARES, 1)
    point, (direction,) = inputs(300, 1)
    point[200], direction[200] = math.inf, 1.0
    assert single.tangents(point, [direction]) == (math.inf, [math.inf])
    point[7], direction[7] = -math.inf, 1.0
    value, (tangent,) = single.tangents(point, [direction])
    assert value == math.inf and math.isnan(tangent)


def body_of(text: str, name: str) -> str:
    """A function's text."""
    found = re.search(rf"(?ms)^define [^\n]*@\"?{re.escape(name)}\"?\(.*?^}}", text)
    assert found is not None
    return found[0]


@pytest.mark.parametrize("width", [1, 4, 8])
def test_loops_that_sum_up_are_vectorised(width: int) -> None:
    text = text_after_ad(derivative(NEIGHBOURS, width))
    assert "vector.body" in body_of(text, "df")


@pytest.mark.parametrize("source", [LOGISTIC, EXPONENTIALS], ids=["recurrence", "call"])
def test_loops_that_cannot_be_vectorised_are_left_alone(source: str) -> None:
    assert "[128 x double]" not in derivative(source, 1)
    assert "[128 x double]" in derivative(SQUARES, 1)


@pytest.mark.parametrize(("cpu", "groups"), [("x86-64", 4), ("x86-64-v3", 2)])
def test_a_batch_is_summed_in_groups_of_lanes_that_fit_into_the_registers(cpu: str, groups: int) -> None:
    source = SQUARES.replace("ptr noalias %out) {", f'ptr noalias %out) "target-cpu"="{cpu}" {{')
    assert len(re.findall(r"^body\S*:", derivative(source, 8), re.MULTILINE)) == groups
    assert len(re.findall(r"^body\S*:", derivative(source, 2), re.MULTILINE)) == 1


ROOTS = summing(
    "%r = call double @llvm.sqrt.f64(double %v)\n  %q = fmul double %r, %v\n  %t = fadd double %s, %q",
)


def test_costly_partials_are_not_computed_once_per_group() -> None:
    assert len(re.findall(r"^body\S*:", derivative(ROOTS, 8), re.MULTILINE)) == 1
