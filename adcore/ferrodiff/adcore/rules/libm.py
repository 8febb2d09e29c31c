"""Rules of libm functions that have no intrinsic, and of compiler-builtins' arithmetic symbols.

`r` is the primal's result.
"""

from __future__ import annotations

from ferrodiff.adcore.rules.numbers import LN2, LN10, LOG2_E, LOG10_E, ONE_OVER_PI, PI, TWO_OVER_SQRT_PI
from ferrodiff.adcore.rules.rule import NEGATED, SAME, Casting, Rule, Write, chosen, libm, times
from ferrodiff.adcore.rules.terms import (
    Term,
    bessel,
    cospi,
    digamma,
    equal,
    exp,
    exp2,
    exp10,
    fabs,
    fma,
    hypot,
    indicator,
    log,
    polygamma,
    power,
    power_dx,
    predecessor,
    rint,
    sinpi,
    smaller,
    sqrt,
    successor,
    where,
)
from ferrodiff.adcore.rules.words import words


def _gaussian(x: Term) -> Term:
    """exp(-x*x), corrected for the rounding of x*x; beyond 30 it is zero in every type."""
    a = smaller(fabs(x), 30)
    square = a * a
    value = exp(-square)
    return value - value * fma(a, a, -square)


def _neighbours(name: str, n: Term, x: Term) -> Term:
    """(f(n-1) - f(n+1))/2, which has no 0/0 at 0."""
    return (bessel(name, predecessor(n), x) - bessel(name, successor(n), x)) / 2


def _first_order(kind: str, x: Term) -> Term:
    """The same for n = 1, where f0 has a symbol of its own."""
    return (bessel(f"{kind}0", x) - bessel(f"{kind}n", 2, x)) / 2


def _power_dxx(x: Term, y: Term) -> Term:
    """y (y-1) x^(y-2)."""
    return where(equal(y, 0), 0, y * power_dx(x, y - 1, power(x, y - 1)))


def _power_dxy(x: Term, y: Term) -> Term:
    """x^(y-1) + y x^(y-1) ln x."""
    power_less = power(x, y - 1)
    return power_less + where(equal(x, 0) & (y > 1), 0, y * (power_less * log(x)))


ELEMENTARY: tuple[Rule, ...] = (
    Rule(libm("cbrt"), "f", (times(lambda x, r: 1 / (3 * r * r), singular=True),), edge="+inf at 0"),
    Rule(libm("rsqrt"), "f", (times(lambda x, r: -0.5 * r * (r * r), singular=True),), edge="-inf at 0"),
    Rule(
        libm("expm1"), "f", (times(lambda x: exp(x), singular=True),), doc="r + 1 would cancel for negative x"
    ),
    Rule(libm("log1p", "logp1"), "f", (times(lambda x: 1 / (1 + x), singular=True),), edge="+inf at -1"),
    Rule(libm("exp2m1"), "f", (times(lambda x: LN2 * exp2(x), singular=True),)),
    Rule(libm("exp10m1"), "f", (times(lambda x: LN10 * exp10(x), singular=True),)),
    Rule(libm("log2p1"), "f", (times(lambda x: LOG2_E / (1 + x), singular=True),), edge="+inf at -1"),
    Rule(libm("log10p1"), "f", (times(lambda x: LOG10_E / (1 + x), singular=True),), edge="+inf at -1"),
    Rule(
        libm("hypot", "cabs"),
        "ff",
        (
            times(lambda x, y, r: x / where(equal(r, 0), 1, r)),
            times(lambda x, y, r: y / where(equal(r, 0), 1, r)),
        ),
        edge="(0,0) at the origin, a subgradient",
    ),
    Rule(libm("asinh"), "f", (times(lambda x: 1 / hypot(1, x)),)),
    Rule(
        libm("acosh"),
        "f",
        (times(lambda x: 1 / (sqrt(x - 1) * sqrt(x + 1)), singular=True),),
        edge="+inf at 1",
    ),
    Rule(
        libm("atanh"),
        "f",
        (times(lambda x: 1 / ((1 - x) * (1 + x)), singular=True),),
        edge="+inf at 1 and -1",
    ),
)

TURNS: tuple[Rule, ...] = (
    Rule(libm("sinpi"), "f", (times(lambda x: PI * cospi(x)),)),
    Rule(libm("cospi"), "f", (times(lambda x: -PI * sinpi(x)),)),
    Rule(libm("tanpi"), "f", (times(lambda x, r: PI * (1 + r * r)),)),
    Rule(libm("asinpi"), "f", (times(lambda x: ONE_OVER_PI / sqrt((1 - x) * (1 + x)), singular=True),)),
    Rule(libm("acospi"), "f", (times(lambda x: -ONE_OVER_PI / sqrt((1 - x) * (1 + x)), singular=True),)),
    Rule(libm("atanpi"), "f", (times(lambda x: ONE_OVER_PI / (1 + x * x)),)),
)

SPECIAL: tuple[Rule, ...] = (
    Rule(
        libm("erf"),
        "f",
        (times(lambda x: TWO_OVER_SQRT_PI * _gaussian(x), text="(2/sqrt(pi))*exp(-x*x)"),),
        doc="exp(-x*x), x*x corrected",
    ),
    Rule(
        libm("erfc"),
        "f",
        (times(lambda x: -TWO_OVER_SQRT_PI * _gaussian(x), text="-(2/sqrt(pi))*exp(-x*x)"),),
        doc="exp(-x*x), x*x corrected",
    ),
    Rule(libm("tgamma"), "f", (times(lambda x, r: r * digamma(x), singular=True),), edge="NaN at the poles"),
    Rule(
        libm("lgamma", "gamma"), "f", (times(lambda x: digamma(x), singular=True),), edge="NaN at the poles"
    ),
    Rule(
        ("lgamma_r", "lgammaf_r", "gamma_r", "gammaf_r"),
        "fp",
        (times(lambda x, p: digamma(x), singular=True), None),
        writes=(Write(1, "int"),),
        edge="NaN at the poles",
        doc="the sign carries nothing",
    ),
    Rule(libm("j0"), "f", (times(lambda x: -bessel("j1", x)),)),
    Rule(libm("y0"), "f", (times(lambda x: -bessel("y1", x), singular=True),), edge="+inf at 0"),
    Rule(libm("j1"), "f", (times(lambda x: _first_order("j", x)),)),
    Rule(libm("y1"), "f", (times(lambda x: _first_order("y", x), singular=True),)),
    Rule(libm("jn"), "if", (None, times(lambda n, x: _neighbours("jn", n, x)))),
    Rule(libm("yn"), "if", (None, times(lambda n, x: _neighbours("yn", n, x), singular=True))),
    Rule(
        ("__ferrodiff_digamma",),
        "f",
        (times(lambda x: polygamma(1, x), singular=True),),
        doc="of our own derivatives",
    ),
    Rule(
        ("__ferrodiff_polygamma",),
        "if",
        (None, times(lambda n, x: polygamma(successor(n), x), singular=True)),
        doc="of our own derivatives",
    ),
    Rule(
        ("__ferrodiff_pow_dx", "__ferrodiff_pow_dxf"),
        "fff",
        (
            times(lambda x, y, p: _power_dxx(x, y), singular=True),
            times(lambda x, y, p: _power_dxy(x, y), singular=True),
            None,
        ),
        doc="y*x^(y-1), a function of x and y alone: p is x^y",
    ),
)

REMAINDERS: tuple[Rule, ...] = (
    Rule(
        libm("fmod"),
        "ff",
        (SAME, times(lambda x, y, r: -rint((x - r) / y), singular=True)),
        doc="the truncated quotient, taken from the remainder so that it fits the primal",
    ),
    Rule(
        libm("remainder", "drem"),
        "ff",
        (SAME, times(lambda x, y, r: -rint((x - r) / y), singular=True)),
        doc="the rounded quotient, taken from the remainder so that it fits the primal",
    ),
    Rule(
        libm("remquo"),
        "ffp",
        (SAME, times(lambda x, y, p, r: -rint((x - r) / y), singular=True), None),
        writes=(Write(2, "int"),),
    ),
    Rule(
        libm("fdim"),
        "ff",
        (chosen(lambda x, y: x > y), times(lambda x, y: -indicator(x > y, x))),
        edge="(0,0) on ties",
    ),
)


def _ratio(a: Term, c: Term, d: Term) -> Term:
    """a/(c^2 + d^2), in the order that does not overflow."""
    h = hypot(c, d)
    return a / h / h


def _real_slope(c: Term, d: Term, p: Term, q: Term) -> Term:
    """The real part of (p + iq)/(c + id)."""
    return p * _ratio(c, c, d) + q * _ratio(d, c, d)


def _imaginary_slope(c: Term, d: Term, p: Term, q: Term) -> Term:
    """The imaginary part of (p + iq)/(c + id)."""
    return q * _ratio(c, c, d) - p * _ratio(d, c, d)


COMPLEX: tuple[Rule, ...] = (
    Rule(
        ("__muldc3", "__mulsc3"),
        "ffff",
        fields=(
            (
                times(lambda a, b, c, d: c),
                times(lambda a, b, c, d: -d),
                times(lambda a, b, c, d: a),
                times(lambda a, b, c, d: -b),
            ),
            (
                times(lambda a, b, c, d: d),
                times(lambda a, b, c, d: c),
                times(lambda a, b, c, d: b),
                times(lambda a, b, c, d: a),
            ),
        ),
        doc="(a + ib)(c + id)",
    ),
    Rule(
        ("__divdc3", "__divsc3"),
        "ffff",
        fields=(
            (
                times(lambda a, b, c, d: _ratio(c, c, d), singular=True, text="c/h/h, h = hypot(c, d)"),
                times(lambda a, b, c, d: _ratio(d, c, d), singular=True, text="d/h/h"),
                times(lambda a, b, c, d, p, q: -_real_slope(c, d, p, q), singular=True, text="-Re(r/w)"),
                times(lambda a, b, c, d, p, q: _imaginary_slope(c, d, p, q), singular=True, text="Im(r/w)"),
            ),
            (
                times(lambda a, b, c, d: -_ratio(d, c, d), singular=True, text="-d/h/h"),
                times(lambda a, b, c, d: _ratio(c, c, d), singular=True, text="c/h/h"),
                times(lambda a, b, c, d, p, q: -_imaginary_slope(c, d, p, q), singular=True, text="-Im(r/w)"),
                times(lambda a, b, c, d, p, q: -_real_slope(c, d, p, q), singular=True, text="-Re(r/w)"),
            ),
        ),
        doc="r = (a + ib)/w with w = c + id",
    ),
)

STEPS: tuple[Rule, ...] = (
    *(Rule(libm(name), "f", (None,), doc="an integer result") for name in ("logb", "ilogb", "llogb")),
    *(
        Rule((name,), "f", (None,), doc="a classification")
        for name in words("isnan isinf finite __isnan __isinf __finite __signbit __fpclassify")
    ),
    *(
        Rule((f"{name}f",), "f", (None,), doc="a classification")
        for name in words("isnan isinf finite __isnan __isinf __finite __signbit __fpclassify")
    ),
)

BUILTINS: tuple[Rule, ...] = (
    Rule(("__adddf3", "__addsf3"), "ff", (SAME, SAME)),
    Rule(("__subdf3", "__subsf3"), "ff", (SAME, NEGATED)),
    Rule(("__muldf3", "__mulsf3"), "ff", (times(lambda x, y: y), times(lambda x, y: x))),
    Rule(
        ("__divdf3", "__divsf3"),
        "ff",
        (times(lambda x, y: 1 / y, singular=True), times(lambda x, y, r: -(r * (1 / y)), singular=True)),
    ),
    Rule(("__negdf2", "__negsf2"), "f", (NEGATED,)),
    Rule(("__extendsfdf2", "__extendhfsf2", "__extendhfdf2"), "f", (Casting("fpext"),)),
    Rule(("__truncdfsf2", "__truncsfhf2", "__truncdfhf2"), "f", (Casting("fptrunc"),)),
    *(
        Rule((f"__{name}{kind}2",), "ff", (None, None), doc="a comparison")
        for name in words("eq ne lt le gt ge unord")
        for kind in ("df", "sf")
    ),
    *(
        Rule((f"__{name}{kind}{width}",), "f", (None,), doc="to integers")
        for name in ("fix", "fixuns")
        for kind in ("df", "sf")
        for width in ("si", "di", "ti")
    ),
    *(
        Rule((f"__{name}{width}{kind}",), "i", (None,), doc="from integers")
        for name in ("float", "floatun")
        for width in ("si", "di", "ti")
        for kind in ("df", "sf")
    ),
)

RULES = ELEMENTARY + TURNS + SPECIAL + REMAINDERS + COMPLEX + STEPS + BUILTINS
