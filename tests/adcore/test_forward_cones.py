"""Preaccumulation: what a cone's lanes cost, and that its numbers are those of operation by operation."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Sequence

import mpmath
import pytest

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.backend.passes import canonical, text_after_ad, text_before_ad
from ferrodiff.adcore.differentiate import differentiate_module
from ferrodiff.adcore.entry import Wanted, with_entry

DECLARATIONS = """
declare double @llvm.sqrt.f64(double)
declare double @llvm.exp.f64(double)
declare double @llvm.sin.f64(double)
declare double @llvm.maxnum.f64(double, double)
"""

POLYNOMIAL = """
define double @f(double %x) {
  %a = fmul double %x, 1.25e-01
  %b = fadd double %a, 2.5e-01
  %c = fmul double %x, %b
  %d = fadd double %c, -5.0e-01
  %e = fmul double %x, %d
  %g = fadd double %e, 2.0
  %q = fmul double %g, %g
  %r = fdiv double %g, %q
  %s = call double @llvm.sin.f64(double %r)
  ret double %s
}
"""

TWO_LEAVES = """
define double @f(double %x, double %y) {
  %a = fmul double %x, %y
  %b = fmul double %a, %x
  %c = call double @llvm.sin.f64(double %b)
  %d = fmul double %c, %a
  %e = fmul double %d, %b
  %g = fadd double %e, %a
  %h = fmul double %g, %g
  ret double %h
}
"""

ADDED = """
define double @f(double %s, double %x, double %y) {
  %q = fmul double %x, %x
  %c = fmul double %q, %x
  %e = fmul double %c, %x
  %w = call double @llvm.sqrt.f64(double %e)
  %u = fmul double %y, 3.0
  %v = fmul double %u, %y
  %z = fmul double %v, %y
  %p = fadd double %s, %w
  %r = fsub double %p, %z
  ret double %r
}
"""


def derivative(source: str, parameters: int, width: int) -> str:
    """The module before the final optimisation, with `df` in it."""
    wanted = Wanted("f", "df", "forward", ("Dual",) * parameters, "DualOnly", width)
    text, _ = with_entry(canonical(source + DECLARATIONS), wanted)
    done = differentiate_module(text_before_ad(text))
    assert done.errors == []
    return done.text


def tangent(source: str, point: Sequence[float], direction: Sequence[float]) -> float:
    """The derivative of `f` at a point along a direction."""
    jit = Jit(text_after_ad(derivative(source, len(point), 1)))
    arguments = [v for pair in zip(point, direction, strict=True) for v in pair]
    call = jit.function("df", ctypes.c_double, *[ctypes.c_double] * len(arguments))
    return float(call(*arguments))


def lane_products(text: str, width: int) -> int:
    """Multiplications of whole lanes in the derivative, into which `f` is inlined."""
    body = re.search(r"(?ms)^define [^\n]*@ferrodiff\.fwd\d+\..*?^}", text)
    assert body is not None
    return len(re.findall(rf"= fmul <{width} x double>|@llvm\.fmuladd\.v{width}f64\(", body[0]))


def test_a_lane_costs_one_multiplication_per_leaf() -> None:
    assert lane_products(derivative(POLYNOMIAL, 1, 8), 8) == 1
    assert lane_products(derivative(TWO_LEAVES, 2, 8), 8) == 2


def test_what_is_added_to_a_sum_is_a_cone_of_its_own_where_a_root_keeps_it_apart() -> None:
    assert lane_products(derivative(ADDED, 3, 8), 8) == 2
    found = tangent(ADDED, [0.5, 2.25, -1.5], [0.25, -2.0, 0.5])
    assert found == pytest.approx(0.25 - 2.0 * 2.0 * 2.25 - 0.5 * 9.0 * 1.5**2, rel=1e-15)
    assert tangent(ADDED, [0.5, 0.0, 1.0], [0.25, 0.0, 0.0]) == 0.25


def test_one_leaf_agrees_with_mpmath() -> None:
    def f(x: mpmath.mpf) -> mpmath.mpf:
        g = x * (x * (x * mpmath.mpf("0.125") + mpmath.mpf("0.25")) - mpmath.mpf("0.5")) + 2
        return mpmath.sin(g / g**2)

    for x in (0.3, -1.7, 4.25):
        with mpmath.workdps(40):
            expected = float(mpmath.diff(f, x))
        assert tangent(POLYNOMIAL, [x], [1.0]) == pytest.approx(expected, rel=1e-14)


def test_two_leaves_agree_with_mpmath() -> None:
    def f(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
        a = x * y
        b = a * x
        return (mpmath.sin(b) * a * b + a) ** 2

    for x, y in ((0.3, 1.1), (-1.2, 0.7)):
        with mpmath.workdps(40):
            partials = [float(mpmath.diff(f, (x, y), n)) for n in ((1, 0), (0, 1))]
        assert tangent(TWO_LEAVES, [x, y], [1.0, 0.0]) == pytest.approx(partials[0], rel=1e-13)
        assert tangent(TWO_LEAVES, [x, y], [0.5, -2.0]) == pytest.approx(
            0.5 * partials[0] - 2 * partials[1], rel=1e-13
        )


def test_each_lane_is_the_scalar_derivative_to_the_bit() -> None:
    source = POLYNOMIAL
    jit = Jit(text_after_ad(derivative(source, 1, 2)))

    class Pair(ctypes.Structure):
        _fields_ = [("first", ctypes.c_double), ("second", ctypes.c_double)]

    lanes = jit.function("df", Pair, *[ctypes.c_double] * 3)(0.75, 1.0, -3.5)
    assert lanes.first == tangent(source, [0.75], [1.0])
    assert lanes.second == tangent(source, [0.75], [-3.5])


ROOT = """
define double @f(double %x) {
  %a = fmul double %x, %x
  %b = call double @llvm.sqrt.f64(double %a)
  %c = fmul double %b, 3.0
  %d = fadd double %c, %a
  %e = fmul double %d, 2.0
  ret double %e
}
"""

LOGISTIC = """
define double @f(double %x) {
  %n = fneg double %x
  %a = call double @llvm.exp.f64(double %n)
  %b = fadd double %a, 1.0
  %c = fdiv double 1.0, %b
  %d = fmul double %c, 4.0
  %e = fmul double %d, %c
  ret double %e
}
"""

SOFT = """
define double @f(double %x) {
  %a = call double @llvm.exp.f64(double %x)
  %b = fmul double %a, %x
  %c = fmul double %b, 0.5
  %m = fcmp ogt double %x, 30.0
  %d = select i1 %m, double %x, double %c
  %e = fmul double %d, 2.0
  ret double %e
}
"""


def test_strong_zero_holds_inside_a_cone() -> None:
    """0 times the infinite slope of sqrt at 0, and a slope that overflows behind a flat one."""
    assert tangent(ROOT, [0.0], [1.0]) == 0.0
    assert tangent(ROOT, [2.0], [1.0]) == pytest.approx(2 * (3 + 4.0), rel=1e-15)
    assert tangent(LOGISTIC, [-1000.0], [1.0]) == 0.0
    assert tangent(LOGISTIC, [0.0], [1.0]) == pytest.approx(1.0, rel=1e-15)


def test_the_path_not_taken_does_not_spoil_the_one_that_is() -> None:
    assert tangent(SOFT, [1000.0], [1.0]) == 2.0
    assert tangent(SOFT, [0.5], [1.0]) == pytest.approx(1.5 * math.exp(0.5), rel=1e-15)


def test_a_zero_tangent_stays_zero_where_the_slope_is_infinite() -> None:
    source = """
define double @f(double %x) {
  %a = call double @llvm.sqrt.f64(double %x)
  %b = fmul double %a, 3.0
  %c = fmul double %b, 0.5
  %d = fmul double %c, 0.25
  ret double %d
}
"""
    assert tangent(source, [0.0], [0.0]) == 0.0
    assert tangent(source, [0.0], [1.0]) == math.inf
