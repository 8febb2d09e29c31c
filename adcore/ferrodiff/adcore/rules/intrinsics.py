"""Rules of LLVM's intrinsics, and of the libm functions of the same name.

Sources of the formulas and the choices at edges: docs/rules.md. `r` is the primal's result.
"""

from __future__ import annotations

from ferrodiff.adcore.ir.constants import constant_number
from ferrodiff.adcore.rules.emission import Emitted
from ferrodiff.adcore.rules.numbers import LN2, LN10, LOG2_E, LOG10_E, PI
from ferrodiff.adcore.rules.partial import NoDerivative, Partial, Scale, Unit
from ferrodiff.adcore.rules.reductions import REDUCTIONS
from ferrodiff.adcore.rules.rule import (
    SAME,
    Rule,
    Site,
    Special,
    Write,
    both,
    chosen,
    libm,
    times,
)
from ferrodiff.adcore.rules.terms import (
    Term,
    as_float,
    copysign,
    cos,
    cosh,
    equal,
    exp,
    fabs,
    hypot,
    is_nan,
    ldexp,
    log,
    opposite,
    power_dx,
    powi,
    predecessor,
    sin,
    sinh,
    sqrt,
    where,
)
from ferrodiff.adcore.rules.words import words


def _sech_squared(x: Term) -> Term:
    """1/cosh(x)^2 from one exponential that cannot overflow: 1 - r*r would cancel for large x."""
    e = exp(-2 * fabs(x))
    return 4 * e / ((1 + e) * (1 + e))


def _over_square(a: Term, h: Term) -> Term:
    """a/h^2 where h^2 may not be representable."""
    return a / h / h


def _power_dy(x: Term, y: Term, r: Term) -> Term:
    """r ln x, and 0 where x^y is constant in y although ln x is infinite."""
    return where(equal(x, 0) & (y >= 0), 0, r * log(x))


def _powi_dx(site: Site) -> Partial:
    """n x^(n-1); the small constant exponents need no call."""
    x, n = site.operand_terms
    match constant_number(n.value):
        case 0:
            return NoDerivative()
        case 1:
            return Unit(1)
        case 2:
            return Scale((x + x).value)
        case known:
            slope = as_float(n, x) * powi(x, predecessor(n))
            whole = slope if known is not None else where(equal(n, 0), 0, slope)
            assert isinstance(whole, Emitted)
            return Scale(whole.value, known is None or known < 0)


OVERFLOW = "+inf where the result overflows"

ELEMENTARY: tuple[Rule, ...] = (
    Rule(both("sqrt"), "f", (times(lambda x, r: 0.5 / fabs(r), singular=True),), edge="+inf at 0"),
    Rule(both("sin"), "f", (times(lambda x: cos(x)),)),
    Rule(both("cos"), "f", (times(lambda x: -sin(x)),)),
    Rule(both("tan"), "f", (times(lambda x, r: 1 + r * r),)),
    Rule(
        both("asin"),
        "f",
        (times(lambda x: 1 / sqrt((1 - x) * (1 + x)), singular=True),),
        edge="+inf at 1 and -1",
    ),
    Rule(
        both("acos"),
        "f",
        (times(lambda x: -1 / sqrt((1 - x) * (1 + x)), singular=True),),
        edge="-inf at 1 and -1",
    ),
    Rule(both("atan"), "f", (times(lambda x: 1 / (1 + x * x)),)),
    Rule(
        both("atan2"),
        "ff",
        (
            times(lambda y, x: _over_square(x, hypot(x, y)), singular=True, text="x/h/h, h = hypot(x, y)"),
            times(lambda y, x: -_over_square(y, hypot(x, y)), singular=True, text="-y/h/h"),
        ),
        doc="not over x^2 + y^2, which overflows",
        edge="NaN at the origin",
    ),
    Rule(both("sinh"), "f", (times(lambda x: cosh(x), singular=True),)),
    Rule(both("cosh"), "f", (times(lambda x: sinh(x), singular=True),)),
    Rule(
        both("tanh"),
        "f",
        (times(lambda x: _sech_squared(x), text="1/cosh(x)^2"),),
        doc="1/cosh(x)^2 from one exponential; 1 - r^2 cancels for large x",
    ),
    Rule(both("exp"), "f", (times(lambda x, r: r, singular=True),), edge=OVERFLOW),
    Rule(both("exp2"), "f", (times(lambda x, r: LN2 * r, singular=True),), edge=OVERFLOW),
    Rule(
        (*both("exp10"), "pow10", "pow10f"),
        "f",
        (times(lambda x, r: LN10 * r, singular=True),),
        edge=OVERFLOW,
    ),
    Rule(both("log"), "f", (times(lambda x: 1 / x, singular=True),), edge="+inf at 0"),
    Rule(both("log2"), "f", (times(lambda x: LOG2_E / x, singular=True),), edge="+inf at 0"),
    Rule(both("log10"), "f", (times(lambda x: LOG10_E / x, singular=True),), edge="+inf at 0"),
    Rule(
        both("pow"),
        "ff",
        (
            times(lambda x, y, r: power_dx(x, y, r), singular=True),
            times(lambda x, y, r: _power_dy(x, y, r), singular=True),
        ),
        doc="pow_dx is y*x^(y-1), taken from r where that loses nothing",
        edge="(0,0) at (0,0); (1,0) at (0,1); (0,0) at (0,2); (inf,0) at (0,0.5); (-inf,-inf) at (0,-1); "
        "NaN in y for x < 0",
    ),
    Rule(
        ("llvm.powi", "__powidf2", "__powisf2"),
        "fi",
        (Special("n*powi(x, n - 1), 0 if n == 0", _powi_dx, singular=True), None),
    ),
    Rule(
        (*both("fma"), "llvm.fmuladd"),
        "fff",
        (times(lambda x, y, z: y), times(lambda x, y, z: x), SAME),
    ),
)

SIGN: tuple[Rule, ...] = (
    Rule(both("fabs"), "f", (times(lambda x: copysign(1, x)),), edge="1 at 0, -1 at -0"),
    Rule(both("copysign"), "ff", (times(lambda x, y: copysign(1, x) * copysign(1, y)), None)),
)


def _takes_left(x: Term, y: Term, r: Term) -> Term:
    """The operand returned; x on ties. A NaN operand is never the one returned unless both are."""
    return equal(r, x)


def _takes_left_or_nan(x: Term, y: Term, r: Term) -> Term:
    """The operand returned where a NaN wins; x on ties."""
    return equal(r, x) | is_nan(x)


EXTREMA: tuple[Rule, ...] = (
    Rule(
        (
            *("llvm.maxnum", "llvm.minnum", "llvm.maximumnum", "llvm.minimumnum"),
            *libm("fmax", "fmin", "fmaximum_num", "fminimum_num"),
        ),
        "ff",
        (
            chosen(lambda x, y, r: _takes_left(x, y, r)),
            chosen(lambda x, y, r: ~_takes_left(x, y, r)),
        ),
        edge="(1,0) on ties; a NaN operand contributes nothing",
        choice=lambda x, y, r: _takes_left(x, y, r),
    ),
    Rule(
        ("llvm.maximum", "llvm.minimum", *libm("fmaximum", "fminimum")),
        "ff",
        (
            chosen(lambda x, y, r: _takes_left_or_nan(x, y, r)),
            chosen(lambda x, y, r: ~_takes_left_or_nan(x, y, r)),
        ),
        edge="(1,0) on ties; the NaN operand is the one returned",
        choice=lambda x, y, r: _takes_left_or_nan(x, y, r),
    ),
)

STEPS: tuple[Rule, ...] = (
    *(
        Rule(both(name), "f", (None,), doc="piecewise constant")
        for name in words("floor ceil trunc rint nearbyint round roundeven")
    ),
    *(
        Rule(
            (f"llvm.{name}", *libm(name)),
            "f",
            (None,),
            doc="an integer result",
        )
        for name in ["lrint", "llrint", "lround", "llround"]
    ),
    Rule(("llvm.is.fpclass",), "fi", (None, None), doc="a classification"),
    *(Rule((f"llvm.{name}.sat",), "f", (None,), doc="a step function") for name in ("fptosi", "fptoui")),
)

IDENTITIES: tuple[Rule, ...] = (
    Rule(("llvm.canonicalize", "llvm.arithmetic.fence", "llvm.ssa.copy"), "f", (SAME,)),
)

SCALING: tuple[Rule, ...] = (
    Rule(
        ("llvm.ldexp", *libm("ldexp", "scalbn", "scalbln")),
        "fi",
        (times(lambda x, n: ldexp(1, n, x), singular=True), None),
        edge="2^n overflows for n > 1023 even where x*2^n does not",
    ),
    Rule(
        ("llvm.frexp",),
        "f",
        fields=((times(lambda x, m, e: ldexp(1, opposite(e), x)),), (None,)),
        doc="2^-e for the mantissa, nothing for the exponent",
    ),
    Rule(
        libm("frexp"),
        "fp",
        (times(lambda x, p, r: where(equal(x, 0), 1, r / where(equal(x, 0), 1, x))), None),
        writes=(Write(1, "int"),),
        doc="2^-e, exactly the quotient of result and operand",
    ),
    Rule(("llvm.modf",), "f", fields=((SAME,), (None,)), doc="1 for the fraction, 0 for the integer part"),
    Rule(
        libm("modf"), "fp", (SAME, None), writes=(Write(1, "float"),), doc="the integer part carries nothing"
    ),
)

PAIRS: tuple[Rule, ...] = (
    Rule(
        ("llvm.sincos",),
        "f",
        fields=((times(lambda x, s, c: c),), (times(lambda x, s, c: -s),)),
        doc="each is the other's derivative",
    ),
    Rule(
        ("llvm.sincospi",),
        "f",
        fields=((times(lambda x, s, c: PI * c),), (times(lambda x, s, c: -PI * s),)),
    ),
    Rule(
        libm("sincos"),
        "fpp",
        (None, None, None),
        writes=(
            Write(1, "float", (times(lambda x, p, q: cos(x)), None, None)),
            Write(2, "float", (times(lambda x, p, q: -sin(x)), None, None)),
        ),
    ),
)

INTEGERS: tuple[Rule, ...] = (
    *(
        Rule((f"llvm.{name}",), "ii", (None, None), doc="integer arithmetic")
        for name in words(
            "smax smin umax umin sadd.sat uadd.sat ssub.sat usub.sat sshl.sat ushl.sat scmp ucmp ctlz "
            "cttz abs expect sadd.with.overflow uadd.with.overflow ssub.with.overflow usub.with.overflow "
            "smul.with.overflow umul.with.overflow"
        )
    ),
    *(Rule((f"llvm.{name}",), "i", (None,), doc="integer bits") for name in ["ctpop", "bswap", "bitreverse"]),
    *(Rule((f"llvm.{name}",), "iii", (None,) * 3, doc="integer bits") for name in ("fshl", "fshr")),
    *(
        Rule((f"llvm.vector.reduce.{name}",), "i", (None,), doc="over integers")
        for name in words("add mul and or xor smax smin umax umin")
    ),
)

RULES = ELEMENTARY + SIGN + EXTREMA + STEPS + IDENTITIES + SCALING + PAIRS + REDUCTIONS + INTEGERS
