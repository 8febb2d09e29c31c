"""Functions that derivatives need and no libm has, as LLVM IR that travels with the module.

A call names one of `FUNCTIONS`; `definition(symbol)` is its text, `internal` and complete in itself (it
uses intrinsics only, which need no declaration). Each has a row in the rule table, so derivatives of
derivatives go on.

* `digamma(x)`: (ln Gamma)'. Recurrence into [1, 2), where it is (x - x0) times a polynomial, x0 its zero;
  the asymptotic series from 10 on; reflection for negative x. Relative error a few ulp for x > 0; for x < 0
  the error is relative to the larger of digamma(1-x) and pi cot(pi x). NaN at negative integers.
* `polygamma(n, x)`, n >= 1: its n-th derivative, (-1)^(n+1) n! zeta(n+1, x) by Euler-Maclaurin summation
  after the recurrence has brought x above n + 13. NaN for x < -1e6.
* `pow_dx(x, y, r)` with r = x^y: y x^(y-1), as y*r/x wherever neither overflows nor loses digits (a division
  instead of a second power), else by the power itself; 0 for y = 0.

The coefficients are those of B(2j)/(2j), of B(2j)/(2j)!, and a Chebyshev fit (error 4e-18) of
digamma(x)/(x - x0) over [1, 2], all computed with 60 digits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache

from ferrodiff.adcore.ir.types import Type, f32, f64

FUNCTIONS = frozenset({"digamma", "polygamma", "pow_dx"})
"""The functions defined here, by the names formulas use."""

_PREFIX = "__ferrodiff_"
_ATTRIBUTES = "nounwind willreturn memory(none)"

_ZERO_HIGH = 1.4616321449683622
_ZERO_LOW = 9.549995429965697e-17
"""The positive zero of digamma, in two parts."""

_NEAR_ZERO = (
    *(2.832706668021759e-11, -8.498137230186096e-11, 9.206434499177992e-11, -2.7619635330317715e-10),
    *(1.2358072433984831e-09, -3.7075072647122386e-09, 1.0542687624027994e-08, -3.163020268955334e-08),
    *(9.542050972688906e-08, -2.86315275846934e-07, 8.589127353033379e-07, -2.57809436305308e-06),
    *(7.741232223504057e-06, -2.325824239445257e-05, 6.995018873950506e-05, -0.00021074841140458636),
    *(0.0006368880303257201, -0.0019350666648590097, 0.005936795278305649, -0.018550615381735115),
    *(0.060135621060196744, -0.2118137106407303, 0.9510558760318328),
)
"""digamma(x)/(x - x0) over [1, 2] as a polynomial in 2x - 3, highest power first."""

_ASYMPTOTIC = (
    *(-0.4432598039215686, 0.08333333333333333, -0.021092796092796094, 0.007575757575757576),
    *(-0.004166666666666667, 0.003968253968253968, -0.008333333333333333, 0.08333333333333333),
)
"""B(2j)/(2j), j from 8 down to 1."""

_EULER_MACLAURIN = (
    *(0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07),
    *(2.08767569878681e-08, -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13),
    *(8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812522e-19),
)
"""B(2j)/(2j)!, j from 1."""


def symbol(name: str, kind: Type) -> str:
    """The symbol of a function in double or (`pow_dx` only) single precision."""
    return _PREFIX + name + ("f" if kind is f32 else "")


def is_special(name: str) -> bool:
    """Whether `name` is a symbol that `definition` knows."""
    return name in _SYMBOLS


@cache
def definition(name: str) -> str:
    """The text of the function called `name` (`__ferrodiff_digamma`). Raises KeyError for other symbols."""
    return _SYMBOLS[name]()


def _hex(value: float, kind: Type = f64) -> str:
    if kind is f32:
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _horner(coefficients: tuple[float, ...], variable: str, name: str) -> list[str]:
    """Lines that leave the polynomial (highest power first) in `%name`."""
    lines = []
    total = _hex(coefficients[0])
    for place, coefficient in enumerate(coefficients[1:]):
        last = place == len(coefficients) - 2
        result = f"%{name}" if last else f"%{name}{place}"
        terms = f"double {total}, double {variable}, double {_hex(coefficient)}"
        lines.append(f"  {result} = call double @llvm.fmuladd.f64({terms})")
        total = result
    return lines


def _digamma() -> str:
    pi = _hex(3.141592653589793)
    lines = f"""
define internal double @__ferrodiff_digamma(double %x) {_ATTRIBUTES} {{
entry:
  %large = fcmp oge double %x, {_hex(10.0)}
  br i1 %large, label %asymptotic, label %small
small:
  %positive = fcmp ogt double %x, 0.0
  br i1 %positive, label %shift, label %other
other:
  %nan = fcmp uno double %x, 0.0
  br i1 %nan, label %same, label %mirror
same:
  ret double %x
mirror:
  %zero = fcmp oeq double %x, 0.0
  %reciprocal = fdiv double -1.0, %x
  %nearest = call double @llvm.rint.f64(double %x)
  %fraction = fsub double %x, %nearest
  %pole = fcmp oeq double %fraction, 0.0
  %y = fsub double 1.0, %x
  %psi = call double @__ferrodiff_digamma(double %y)
  %angle = fmul double %fraction, {pi}
  %tangent = call double @llvm.tan.f64(double %angle)
  %cotangent = fdiv double {pi}, %tangent
  %mirrored = fsub double %psi, %cotangent
  %finite = select i1 %pole, double 0x7FF8000000000000, double %mirrored
  %reflected = select i1 %zero, double %reciprocal, double %finite
  ret double %reflected
shift:
  %below = fcmp olt double %x, 1.0
  %next = fadd double %x, 1.0
  %inverse = fdiv double -1.0, %x
  %start = select i1 %below, double %next, double %x
  %sum = select i1 %below, double %inverse, double 0.0
  br label %step
step:
  %v = phi double [ %start, %shift ], [ %less, %down ]
  %acc = phi double [ %sum, %shift ], [ %more, %down ]
  %above = fcmp oge double %v, 2.0
  br i1 %above, label %down, label %fitted
down:
  %less = fsub double %v, 1.0
  %part = fdiv double 1.0, %less
  %more = fadd double %acc, %part
  br label %step
fitted:
  %high = fsub double %v, {_hex(_ZERO_HIGH)}
  %distance = fsub double %high, {_hex(_ZERO_LOW)}
  %twice = fmul double %v, 2.0
  %u = fsub double %twice, 3.0
@near_zero
  %near = fmul double %distance, %p
  %shifted = fadd double %acc, %near
  ret double %shifted
asymptotic:
  %w = fdiv double 1.0, %x
  %z = fmul double %w, %w
@tail
  %rest = fmul double %q, %z
  %half = fmul double %w, 0.5
  %lower = fadd double %rest, %half
  %log = call double @llvm.log.f64(double %x)
  %far = fsub double %log, %lower
  ret double %far
}}
"""
    near_zero = "\n".join(_horner(_NEAR_ZERO, "%u", "p"))
    tail = "\n".join(_horner(_ASYMPTOTIC, "%z", "q"))
    return lines.replace("@near_zero", near_zero).replace("@tail", tail)


def _polygamma() -> str:
    lines = f"""
define internal double @__ferrodiff_polygamma(i32 %n, double %x) {_ATTRIBUTES} {{
entry:
  %order = sitofp i32 %n to double
  %s = fadd double %order, 1.0
  %enough = fadd double %order, {_hex(13.0)}
  %far = fcmp olt double %x, {_hex(-1e6)}
  %low = icmp slt i32 %n, 1
  %out = or i1 %far, %low
  br i1 %out, label %refuse, label %step
refuse:
  ret double 0x7FF8000000000000
step:
  %v = phi double [ %x, %entry ], [ %next, %added ]
  %sum = phi double [ 0.0, %entry ], [ %more, %added ]
  %w = fdiv double 1.0, %v
  br label %power
power:
  %k = phi i32 [ 0, %step ], [ %k1, %power ]
  %p = phi double [ 1.0, %step ], [ %p1, %power ]
  %factorial = phi double [ 1.0, %step ], [ %factorial1, %power ]
  %k1 = add i32 %k, 1
  %p1 = fmul double %p, %w
  %count = sitofp i32 %k1 to double
  %factorial1 = fmul double %factorial, %count
  %again = icmp slt i32 %k1, %n
  br i1 %again, label %power, label %powered
powered:
  %ps = fmul double %p1, %w
  %short = fcmp olt double %v, %enough
  br i1 %short, label %added, label %tail
added:
  %more = fadd double %sum, %ps
  %next = fadd double %v, 1.0
  br label %step
tail:
  %integral = fdiv double %p1, %order
  %half = fmul double %ps, 0.5
  %w2 = fmul double %w, %w
  %psw = fmul double %ps, %w
  %t0 = fmul double %psw, %s
@series
  %ends = fadd double %series, %half
  %remainder = fadd double %ends, %integral
  %zeta = fadd double %sum, %remainder
  %magnitude = fmul double %zeta, %factorial1
  %minus = fneg double %magnitude
  %bit = and i32 %n, 1
  %odd = icmp eq i32 %bit, 1
  %result = select i1 %odd, double %magnitude, double %minus
  ret double %result
}}
"""
    return lines.replace("@series", "\n".join(_euler_maclaurin()))


def _euler_maclaurin() -> list[str]:
    """The sum of B(2j)/(2j)! T(j), with T(j+1) = T(j) (s+2j-1)(s+2j)/x^2, left in `%series`."""
    lines: list[str] = []
    total = _hex(0.0)
    for j, coefficient in enumerate(_EULER_MACLAURIN):
        last = j == len(_EULER_MACLAURIN) - 1
        name = "%series" if last else f"%e{j}"
        lines.append(f"  %c{j} = fmul double %t{j}, {_hex(coefficient)}")
        lines.append(f"  {name} = fadd double {total}, %c{j}")
        total = name
        if not last:
            lines += [
                f"  %a{j} = fadd double %s, {_hex(2.0 * j + 1)}",
                f"  %b{j} = fadd double %s, {_hex(2.0 * j + 2)}",
                f"  %ab{j} = fmul double %a{j}, %b{j}",
                f"  %abw{j} = fmul double %ab{j}, %w2",
                f"  %t{j + 1} = fmul double %t{j}, %abw{j}",
            ]
    return lines


def _pow_dx(kind: Type) -> str:
    mangled, exponent = ("f32", 100) if kind is f32 else ("f64", 960)
    t = kind.text
    return f"""
define internal {t} @{symbol("pow_dx", kind)}({t} %x, {t} %y, {t} %r) {_ATTRIBUTES} {{
entry:
  %p = fmul {t} %y, %r
  %size = call {t} @llvm.fabs.{mangled}({t} %p)
  %above = fcmp ogt {t} %size, {_hex(2.0**-exponent, kind)}
  %below = fcmp olt {t} %size, {_hex(2.0**exponent, kind)}
  %plain = and i1 %above, %below
  br i1 %plain, label %fast, label %slow
fast:
  %quotient = fdiv {t} %p, %x
  ret {t} %quotient
slow:
  %less = fadd {t} %y, -1.0
  %power = call {t} @llvm.pow.{mangled}({t} %x, {t} %less)
  %product = fmul {t} %y, %power
  %constant = fcmp oeq {t} %y, 0.0
  %result = select i1 %constant, {t} 0.0, {t} %product
  ret {t} %result
}}
"""


_SYMBOLS: dict[str, Callable[[], str]] = {
    "__ferrodiff_digamma": _digamma,
    "__ferrodiff_polygamma": _polygamma,
    "__ferrodiff_pow_dx": lambda: _pow_dx(f64),
    "__ferrodiff_pow_dxf": lambda: _pow_dx(f32),
}
