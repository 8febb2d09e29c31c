"""Number domains for the interpreter: what a floating-point value is and how functions of it are computed.

* ``FLOAT``: IEEE numbers, rounded to the operation's type after each step.
* ``MPMATH``: high precision, nothing rounded.
* ``COMPLEX``: complex-step numbers ``x + i h``; with a tiny ``h`` the imaginary part is ``h`` times the
  directional derivative (W. Squire and G. Trapp, "Using complex variables to estimate derivatives of real
  functions", SIAM Review 40, 1998). Functions that are not analytic use the derivative they have almost
  everywhere.
"""

from __future__ import annotations

import cmath
import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath

Number = Any
_TRIGONOMETRIC = ("sin", "cos", "tan", "asin", "acos", "atan")
_HYPERBOLIC = ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
_COMMON = ("sqrt", "exp", *_TRIGONOMETRIC, *_HYPERBOLIC)


def _round_half_away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x) if abs(x) < 2**52 else x


def _round_half_even(x: float) -> float:
    return math.copysign(float(round(x)), x) if abs(x) < 2**52 else x


def _integral(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: math.copysign(float(function(x)), x) if abs(x) < 2**52 else x


STEPS: dict[str, Callable[[float], float]] = {
    "floor": _integral(math.floor),
    "ceil": _integral(math.ceil),
    "trunc": _integral(math.trunc),
    "rint": _round_half_even,
    "nearbyint": _round_half_even,
    "roundeven": _round_half_even,
    "round": _round_half_away,
}
"""Piecewise constant functions; infinities and NaNs pass through."""


def _guard(function: Callable[..., float]) -> Callable[..., float]:
    """Python raises where C returns an infinity or NaN."""

    def guarded(*args: float) -> float:
        try:
            return function(*args)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return guarded


def _fma(a: float, b: float, c: float) -> float:
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    return _guard(float)(exact)


def _log(x: float) -> float:
    return -math.inf if x == 0 else math.log(x)


def _pow(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


class FloatDomain:
    """IEEE double and single precision."""

    name = "float"
    is_exact_ieee = True

    def __init__(self) -> None:
        self.functions: dict[str, Callable[..., Number]] = {
            "fabs": abs,
            "fma": _fma,
            "hypot": math.hypot,
            "atan2": math.atan2,
            "cbrt": math.cbrt,
            "exp2": _guard(lambda x: 2.0**x),
            "exp10": _guard(lambda x: 10.0**x),
            "log": _log,
            "log2": lambda x: -math.inf if x == 0 else math.log2(x),
            "log10": lambda x: -math.inf if x == 0 else math.log10(x),
            "pow": _pow,
            "tgamma": math.gamma,
            "lgamma": math.lgamma,
        }
        for name in (*_COMMON, "expm1", "log1p", "erf", "erfc"):
            self.functions[name] = getattr(math, name)
        self.functions = {k: _guard(f) for k, f in self.functions.items()}
        self.functions |= {k: _keep_special(f) for k, f in STEPS.items()}

    def const(self, value: float) -> Number:
        return value

    def real(self, value: Number) -> float:
        return float(value)

    def rounded(self, value: Number, kind: str) -> Number:
        if kind != "float":
            return value
        try:
            return struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)

    def divide(self, a: Number, b: Number) -> Number:
        try:
            return a / b
        except ZeroDivisionError:
            if a == 0 or a != a:
                return math.nan
            return math.copysign(math.inf, a) * math.copysign(1.0, b)

    def remainder(self, a: Number, b: Number) -> Number:
        return _guard(math.fmod)(a, b)

    def copysign(self, a: Number, b: Number) -> Number:
        return math.copysign(a, b)

    def power_int(self, a: Number, n: int) -> Number:
        return _pow(a, float(n))


def _keep_special(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: function(x) if math.isfinite(x) else x


class MpmathDomain:
    """High precision (``mpmath.mp.prec`` bits as set by the caller)."""

    name = "mpmath"
    is_exact_ieee = False

    def __init__(self) -> None:
        mp = mpmath
        self.functions: dict[str, Callable[..., Number]] = {
            "fabs": abs,
            "fma": lambda a, b, c: a * b + c,
            "exp2": lambda x: mp.mpf(2) ** x,
            "exp10": lambda x: mp.mpf(10) ** x,
            "log2": lambda x: mp.log(x, 2),
            "log10": mp.log10,
            "log1p": mp.log1p,
            "pow": lambda x, y: x**y,
            "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
            "tgamma": mp.gamma,
            "lgamma": lambda x: mp.log(abs(mp.gamma(x))),
        }
        for name in (*_COMMON, "atan2", "expm1", "log", "erf", "erfc", "hypot"):
            self.functions[name] = getattr(mp, name)
        self.functions |= {
            "floor": mp.floor,
            "ceil": mp.ceil,
            "trunc": lambda x: mp.sign(x) * mp.floor(abs(x)),
            "rint": mp.nint,
            "nearbyint": mp.nint,
            "roundeven": mp.nint,
            "round": lambda x: mp.sign(x) * mp.floor(abs(x) + 0.5),
        }

    def const(self, value: float) -> Number:
        return mpmath.mpf(value)

    def real(self, value: Number) -> float:
        return float(value)

    def rounded(self, value: Number, kind: str) -> Number:
        return value

    def divide(self, a: Number, b: Number) -> Number:
        if b == 0:
            return mpmath.nan if a == 0 else mpmath.sign(a) * mpmath.inf
        return a / b

    def remainder(self, a: Number, b: Number) -> Number:
        return mpmath.sign(a) * mpmath.fmod(abs(a), abs(b))

    def copysign(self, a: Number, b: Number) -> Number:
        return abs(a) if math.copysign(1.0, float(b)) > 0 else -abs(a)

    def power_int(self, a: Number, n: int) -> Number:
        return a**n


class ComplexDomain:
    """Complex-step numbers."""

    name = "complex"
    is_exact_ieee = False

    def __init__(self) -> None:
        self.functions: dict[str, Callable[..., Number]] = {
            "fabs": lambda z: -z if math.copysign(1.0, z.real) < 0 else z,
            "fma": lambda a, b, c: a * b + c,
            "exp2": lambda z: cmath.exp(z * math.log(2.0)),
            "exp10": lambda z: cmath.exp(z * math.log(10.0)),
            "log2": lambda z: cmath.log(z) / math.log(2.0),
            "log10": cmath.log10,
            "pow": _complex_pow,
            "hypot": lambda a, b: cmath.sqrt(a * a + b * b),
            "atan2": lambda y, x: complex(
                math.atan2(y.real, x.real),
                (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2),
            ),
            "cbrt": _first_order(math.cbrt, lambda x: 1.0 / (3.0 * math.cbrt(x) ** 2)),
            "expm1": _first_order(math.expm1, math.exp),
            "log1p": _first_order(math.log1p, lambda x: 1.0 / (1.0 + x)),
            "erf": _first_order(math.erf, lambda x: 2.0 / math.sqrt(math.pi) * math.exp(-x * x)),
            "erfc": _first_order(math.erfc, lambda x: -2.0 / math.sqrt(math.pi) * math.exp(-x * x)),
            "tgamma": _first_order(math.gamma, lambda x: math.gamma(x) * float(mpmath.digamma(x))),
            "lgamma": _first_order(math.lgamma, lambda x: float(mpmath.digamma(x))),
        }
        for name in (*_COMMON, "log"):
            self.functions[name] = getattr(cmath, name)
        for name, step in STEPS.items():
            self.functions[name] = _first_order(_keep_special(step), lambda x: 0.0)

    def const(self, value: float) -> Number:
        return complex(value, 0.0)

    def real(self, value: Number) -> float:
        return float(value.real)

    def rounded(self, value: Number, kind: str) -> Number:
        return value

    def divide(self, a: Number, b: Number) -> Number:
        if b == 0:
            return complex(FLOAT.divide(a.real, b.real), math.nan)
        return a / b

    def remainder(self, a: Number, b: Number) -> Number:
        whole = math.trunc(a.real / b.real)
        return complex(math.fmod(a.real, b.real), a.imag - whole * b.imag)

    def copysign(self, a: Number, b: Number) -> Number:
        return a if math.copysign(1.0, a.real) == math.copysign(1.0, b.real) else -a

    def power_int(self, a: Number, n: int) -> Number:
        return a**n


def _first_order(
    function: Callable[[float], float], derivative: Callable[[float], float]
) -> Callable[[Number], Number]:
    return lambda z: complex(function(z.real), derivative(z.real) * z.imag if z.imag else 0.0)


def _complex_pow(x: Number, y: Number) -> Number:
    if y.imag == 0.0 and y.real == int(y.real):
        return x ** int(y.real)
    return x**y


FLOAT = FloatDomain()
MPMATH = MpmathDomain()
COMPLEX = ComplexDomain()
Domain = FloatDomain | MpmathDomain | ComplexDomain
