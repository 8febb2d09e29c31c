"""Formulas: one spelling of a derivative that can be emitted as IR or written as text.

A rule row is a Python function of terms, such as `lambda x, r: 1 / (3 * r * r)`. Terms overload arithmetic,
and the functions below (`sin(x)`, `where(c, a, b)`) stand for calls. What a term *is* depends on who
evaluates the row: `emission.Emitted` builds instructions, `Written` here builds the text shown in the
documentation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

Number = int | float


class Term(ABC):
    """A value inside a formula."""

    @abstractmethod
    def apply(self, operation: str, *operands: Term | Number) -> Self:
        """`operation(*operands)`; `self` only says which kind of term is wanted."""

    def __add__(self, other: Term | Number) -> Self:
        return self.apply("+", self, other)

    def __radd__(self, other: Number) -> Self:
        return self.apply("+", other, self)

    def __sub__(self, other: Term | Number) -> Self:
        return self.apply("-", self, other)

    def __rsub__(self, other: Number) -> Self:
        return self.apply("-", other, self)

    def __mul__(self, other: Term | Number) -> Self:
        return self.apply("*", self, other)

    def __rmul__(self, other: Number) -> Self:
        return self.apply("*", other, self)

    def __truediv__(self, other: Term | Number) -> Self:
        return self.apply("/", self, other)

    def __rtruediv__(self, other: Number) -> Self:
        return self.apply("/", other, self)

    def __neg__(self) -> Self:
        return self.apply("neg", self)

    def __gt__(self, other: Term | Number) -> Self:
        return self.apply(">", self, other)

    def __lt__(self, other: Term | Number) -> Self:
        return self.apply("<", self, other)

    def __ge__(self, other: Term | Number) -> Self:
        return self.apply(">=", self, other)

    def __and__(self, other: Term) -> Self:
        return self.apply("&", self, other)

    def __or__(self, other: Term) -> Self:
        return self.apply("|", self, other)

    def __invert__(self) -> Self:
        return self.apply("~", self)


def call(name: str, *operands: Term | Number) -> Term:
    """`name(*operands)`; at least one operand is a term."""
    return next(t for t in operands if isinstance(t, Term)).apply(name, *operands)


# Conditions. `==` is kept for Python.


def equal(a: Term, b: Term | Number) -> Term:
    """a == b, false where either is NaN."""
    return call("==", a, b)


def is_nan(a: Term) -> Term:
    """Whether a is NaN."""
    return call("is_nan", a)


def where(condition: Term, a: Term | Number, b: Term | Number) -> Term:
    """a where the condition holds, else b; both are computed."""
    return call("where", condition, a, b)


def indicator(condition: Term, like: Term) -> Term:
    """1 where the condition holds, else 0, in the float type of `like`."""
    return call("indicator", condition, like)


# Numbers of other types.


def as_float(n: Term, like: Term) -> Term:
    """The integer n in the float type of `like`."""
    return call("as_float", n, like)


def predecessor(n: Term) -> Term:
    """n - 1 of an integer, saturating."""
    return call("predecessor", n)


def opposite(n: Term) -> Term:
    """-n of an integer."""
    return call("opposite", n)


def successor(n: Term) -> Term:
    """n + 1 of an integer."""
    return call("successor", n)


# Functions of floats. Each is a name that emission knows how to compute.


def fabs(x: Term) -> Term:
    """|x|."""
    return call("fabs", x)


def copysign(x: Term | Number, y: Term) -> Term:
    """|x| with the sign of y."""
    return call("copysign", x, y)


def rint(x: Term) -> Term:
    """The nearest integer, ties to even."""
    return call("rint", x)


def fma(x: Term, y: Term, z: Term) -> Term:
    """x*y + z, rounded once."""
    return call("fma", x, y, z)


def smaller(x: Term, y: Term | Number) -> Term:
    """min(x, y), NaN if either is."""
    return call("minimum", x, y)


def sqrt(x: Term) -> Term:
    """The square root."""
    return call("sqrt", x)


def hypot(x: Term | Number, y: Term) -> Term:
    """sqrt(x^2 + y^2) without overflow."""
    return call("hypot", x, y)


def sin(x: Term) -> Term:
    """The sine."""
    return call("sin", x)


def cos(x: Term) -> Term:
    """The cosine."""
    return call("cos", x)


def sinpi(x: Term) -> Term:
    """sin(pi x)."""
    return call("sinpi", x)


def cospi(x: Term) -> Term:
    """cos(pi x)."""
    return call("cospi", x)


def sinh(x: Term) -> Term:
    """The hyperbolic sine."""
    return call("sinh", x)


def cosh(x: Term) -> Term:
    """The hyperbolic cosine."""
    return call("cosh", x)


def exp(x: Term) -> Term:
    """e^x."""
    return call("exp", x)


def exp2(x: Term) -> Term:
    """2^x."""
    return call("exp2", x)


def exp10(x: Term) -> Term:
    """10^x."""
    return call("exp10", x)


def log(x: Term) -> Term:
    """The natural logarithm."""
    return call("log", x)


def power(x: Term, y: Term) -> Term:
    """x^y."""
    return call("pow", x, y)


def power_dx(x: Term, y: Term, r: Term) -> Term:
    """y x^(y-1), where r = x^y; see `special`."""
    return call("pow_dx", x, y, r)


def powi(x: Term, n: Term) -> Term:
    """x^n for an integer n."""
    return call("powi", x, n)


def ldexp(x: Term | Number, n: Term, like: Term) -> Term:
    """x 2^n for an integer n, in the float type of `like`."""
    return call("ldexp", x, n, like)


def bessel(name: str, *operands: Term | Number) -> Term:
    """One of j0 j1 jn y0 y1 yn."""
    return call(name, *operands)


def digamma(x: Term) -> Term:
    """(ln Gamma)'; see `special`."""
    return call("digamma", x)


def polygamma(n: Term | Number, x: Term) -> Term:
    """The n-th derivative of digamma, n >= 1; see `special`."""
    return call("polygamma", n, x)


# Formulas as text.

_LOOSEST, _OR, _AND, _COMPARED, _SUM, _PRODUCT, _NEGATED, _ATOM = range(8)

_INFIX = {
    "|": (" or ", _OR),
    "&": (" and ", _AND),
    "==": (" == ", _COMPARED),
    ">": (" > ", _COMPARED),
    "<": (" < ", _COMPARED),
    ">=": (" >= ", _COMPARED),
    "+": (" + ", _SUM),
    "-": (" - ", _SUM),
    "*": ("*", _PRODUCT),
    "/": ("/", _PRODUCT),
}

_PREFIX = {"neg": ("-", _NEGATED), "~": ("not ", _NEGATED)}


class Written(Term):
    """A formula as text. `strength` is how tightly its outermost operator binds."""

    def __init__(self, text: str, strength: int = _ATOM) -> None:
        self.text = text
        self.strength = strength

    def __str__(self) -> str:
        return self.text

    def apply(self, operation: str, *operands: Term | Number) -> Written:
        written = [_written(o) for o in operands]
        if operation in _INFIX:
            sign, strength = _INFIX[operation]
            left, right = written
            return Written(left._within(strength) + sign + right._within(strength + 1), strength)
        if operation in _PREFIX:
            sign, strength = _PREFIX[operation]
            return Written(sign + written[0]._within(strength), strength)
        return _written_call(operation, written)

    def _within(self, strength: int) -> str:
        return self.text if self.strength >= strength else f"({self.text})"


def _written(operand: Term | Number) -> Written:
    if isinstance(operand, Written):
        return operand
    assert isinstance(operand, (int, float))
    return Written(_number(float(operand)))


def _number(value: float) -> str:
    from ferrodiff.adcore.rules.numbers import NAMES

    name = NAMES.get(value)
    if name is not None:
        return name
    if -value in NAMES:
        return "-" + NAMES[-value]
    return str(int(value)) if value == int(value) else repr(value)


def _written_call(operation: str, operands: list[Written]) -> Written:
    match operation, operands:
        case "where", [condition, a, b]:
            return Written(f"{a} if {condition} else {b}", _LOOSEST)
        case "indicator", [condition, _]:
            return Written(f"1 if {condition} else 0", _LOOSEST)
        case "is_nan", [a]:
            return Written(f"{a} is NaN", _COMPARED)
        case "as_float", [n, _]:
            return n
        case "ldexp", [x, n, _]:
            return Written(f"ldexp({x}, {n})")
        case "predecessor", [n]:
            return Written(f"{n._within(_SUM)} - 1", _SUM)
        case "successor", [n]:
            return Written(f"{n._within(_SUM)} + 1", _SUM)
        case "opposite", [n]:
            return Written(f"-{n._within(_NEGATED)}", _NEGATED)
        case _:
            return Written(f"{operation}({', '.join(o.text for o in operands)})")
