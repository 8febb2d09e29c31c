"""The functions that travel with derivatives, against mpmath, over their whole domain."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
from mpmath import mp, mpf

from ferrodiff.adcore.backend.jit import Jit
from ferrodiff.adcore.rules import special

mp.dps = 50

WRAPPERS = """
define double @digamma(double %x) {
  %r = call double @__ferrodiff_digamma(double %x)
  ret double %r
}
define double @polygamma(i32 %n, double %x) {
  %r = call double @__ferrodiff_polygamma(i32 %n, double %x)
  ret double %r
}
define double @pow_dx(double %x, double %y, double %r) {
  %d = call double @__ferrodiff_pow_dx(double %x, double %y, double %r)
  ret double %d
}
define float @pow_dxf(float %x, float %y, float %r) {
  %d = call float @__ferrodiff_pow_dxf(float %x, float %y, float %r)
  ret float %d
}
"""


@pytest.fixture(scope="module")
def jit() -> Iterator[Jit]:
    text = "".join(special.definition(symbol) for symbol in SYMBOLS) + WRAPPERS
    with Jit(text, exports=["digamma", "polygamma", "pow_dx", "pow_dxf"], opt_level=3) as made:
        yield made


SYMBOLS = ("__ferrodiff_digamma", "__ferrodiff_polygamma", "__ferrodiff_pow_dx", "__ferrodiff_pow_dxf")
DOUBLE = ctypes.c_double


def ulps(got: float, wanted: Any, scale: Any = None) -> float:
    """The error in units of the last place of `scale` (the wanted value itself by default)."""
    magnitude = abs(wanted if scale is None else scale)
    return float(abs(mpf(got) - wanted) / mpf(2) ** (mp.floor(mp.log(magnitude, 2)) - 52))


def logarithmic(low: float, high: float, count: int, seed: str) -> Iterator[float]:
    numbers = random.Random(seed)
    for _ in range(count):
        yield math.exp(numbers.uniform(math.log(low), math.log(high)))


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_symbols(symbol: str) -> None:
    """The definitions are complete: they call nothing but themselves and intrinsics."""
    assert special.is_special(symbol)
    called = {w.split("(")[0] for w in special.definition(symbol).split("@")[1:]}
    assert all(name == symbol or name.startswith("llvm.") for name in called)
    assert not special.is_special("__ferrodiff_forward")


@pytest.mark.parametrize(
    ("low", "high"), [(1e-300, 1e-3), (1e-3, 1.0), (1.0, 2.0), (2.0, 12.0), (12.0, 1e300)]
)
def test_digamma_of_positive_numbers(jit: Jit, low: float, high: float) -> None:
    digamma = jit.function("digamma", DOUBLE, DOUBLE)
    for x in logarithmic(low, high, 150, f"{low}"):
        assert ulps(digamma(x), mp.digamma(mpf(x))) <= 6, x


def test_digamma_near_its_zero(jit: Jit) -> None:
    """The zero at 1.46... is no place of lost digits."""
    digamma = jit.function("digamma", DOUBLE, DOUBLE)
    zero = 1.4616321449683622
    for distance in (0.0, 1e-15, -1e-15, 1e-12, -1e-9, 1e-6, -1e-3):
        assert ulps(digamma(zero + distance), mp.digamma(mpf(zero + distance))) <= 6


def test_digamma_of_negative_numbers(jit: Jit) -> None:
    """Reflection: the error is relative to the larger of the two terms."""
    digamma = jit.function("digamma", DOUBLE, DOUBLE)
    numbers = random.Random(7)
    for _ in range(200):
        x = -numbers.uniform(1e-9, 60.0)
        cotangent = mp.pi * mp.cot(mp.pi * mpf(x))
        scale = max(abs(mp.digamma(1 - mpf(x))), abs(cotangent))
        assert ulps(digamma(x), mp.digamma(mpf(x)), scale) <= 6, x


def test_digamma_at_its_edges(jit: Jit) -> None:
    digamma = jit.function("digamma", DOUBLE, DOUBLE)
    assert digamma(0.0) == -math.inf
    assert digamma(-0.0) == math.inf
    assert digamma(math.inf) == math.inf
    assert all(math.isnan(digamma(x)) for x in (-1.0, -2.0, -1e17, -math.inf, math.nan))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_polygamma(jit: Jit, n: int) -> None:
    polygamma = jit.function("polygamma", DOUBLE, ctypes.c_int, DOUBLE)
    for x in logarithmic(1e-3, 1e6, 60, f"{n}"):
        assert ulps(polygamma(n, x), mp.polygamma(n, mpf(x))) <= 24, x


def test_polygamma_of_negative_numbers(jit: Jit) -> None:
    polygamma = jit.function("polygamma", DOUBLE, ctypes.c_int, DOUBLE)
    for n in (1, 2):
        for x in (-0.5, -1.25, -7.9, -30.3):
            wanted = mp.polygamma(n, mpf(x))
            assert ulps(polygamma(n, x), wanted, max(abs(wanted), 1)) <= 24, (n, x)
    assert polygamma(1, -3.0) == math.inf
    assert math.isnan(polygamma(1, math.nan))
    assert math.isnan(polygamma(2, -1e7))
    assert math.isnan(polygamma(0, 1.0))


def exact_power(x: float, y: float) -> tuple[float, Any]:
    """x^y rounded, and y x^(y-1) exactly."""
    power = mpf(x) ** mpf(y)
    rounded = float(power) if power < mpf(2) ** 1024 else math.inf
    return rounded, mpf(y) * mpf(x) ** (mpf(y) - 1)


def test_pow_dx_everywhere(jit: Jit) -> None:
    """A few ulp wherever x^y is an ordinary number, also where y-1 would round."""
    pow_dx = jit.function("pow_dx", DOUBLE, DOUBLE, DOUBLE, DOUBLE)
    numbers = random.Random(3)
    for x in logarithmic(1e-30, 1e30, 300, "pow"):
        y = numbers.uniform(-8.0, 8.0) if numbers.random() < 0.8 else numbers.uniform(-1e-9, 1e-9)
        power, wanted = exact_power(x, y)
        assert ulps(pow_dx(x, y, power), wanted) <= 3, (x, y)


@pytest.mark.parametrize(
    ("x", "y", "r", "wanted"),
    [
        (0.0, 0.0, 1.0, 0.0),
        (0.0, 1.0, 0.0, 1.0),
        (0.0, 2.0, 0.0, 0.0),
        (0.0, 0.5, 0.0, math.inf),
        (0.0, -1.0, math.inf, -math.inf),
        (-2.0, 2.0, 4.0, -4.0),
        (-2.0, 3.0, -8.0, 12.0),
        (1e200, 1.75, math.inf, 1.75 * 1e150),
        (1e-200, 1.75, 0.0, 1.75 * 1e-150),
        (math.inf, 2.0, math.inf, math.inf),
        (math.inf, 0.5, math.inf, 0.0),
        (3.0, 0.0, 1.0, 0.0),
    ],
)
def test_pow_dx_at_its_edges(jit: Jit, x: float, y: float, r: float, wanted: float) -> None:
    pow_dx = jit.function("pow_dx", DOUBLE, DOUBLE, DOUBLE, DOUBLE)
    assert math.isclose(pow_dx(x, y, r), wanted, rel_tol=1e-15)


def test_pow_dx_in_single_precision(jit: Jit) -> None:
    single = jit.function("pow_dxf", ctypes.c_float, *[ctypes.c_float] * 3)
    assert single(3.0, 2.0, 9.0) == 6.0
    assert single(0.0, 0.0, 1.0) == 0.0
    assert math.isclose(single(1e30, 1.25, math.inf), 1.25 * 1e30**0.25, rel_tol=1e-6)
