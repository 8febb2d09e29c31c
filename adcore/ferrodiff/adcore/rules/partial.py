"""What one operand of an operation contributes to the tangent of its result.

A partial is computed once per primal value and serves every lane, and both modes: forward mode multiplies the
operand's tangent by it, reverse mode the result's adjoint. Its values have the primal's shape (a scalar, or a
vector where the primal operation itself works on vectors).
"""

from __future__ import annotations

from dataclasses import dataclass

from ferrodiff.adcore.ir.values import Value


@dataclass(frozen=True, slots=True)
class Unit:
    """Plus or minus the tangent itself; `sign` is +1 or -1."""

    sign: int = 1


@dataclass(frozen=True, slots=True)
class Scale:
    """`value` times the tangent.

    With `nonfinite` the value may be infinite or NaN at finite input, and *strong zero* applies: a zero
    tangent contributes exactly zero (`t == 0 ? 0 : value * t`). With `vanishing`, which implies it, a value
    of zero wins over an infinite tangent in the same way: 1/(1 + exp(-x)) overflows inside and is flat all
    the same.
    """

    value: Value
    nonfinite: bool = False
    vanishing: bool = False


@dataclass(frozen=True, slots=True)
class Pick:
    """The tangent where `condition` (i1, or a vector of i1) holds, else zero. Never a product with a mask."""

    condition: Value


@dataclass(frozen=True, slots=True)
class CastPartial:
    """The same cast of the tangent (`opcode` is `fpext` or `fptrunc`); an adjoint takes the opposite one."""

    opcode: str


@dataclass(frozen=True, slots=True)
class LaneSum:
    """The sum of the tangents of a vector operand's elements; an adjoint goes to every element."""


@dataclass(frozen=True, slots=True)
class LaneDot:
    """The dot product of `weights` (a vector like the operand) with the operand's tangent.

    An adjoint a gives a * weights.
    """

    weights: Value


@dataclass(frozen=True, slots=True)
class LanePick:
    """The tangent of the vector operand's element `index` (an i32); an adjoint goes to that element alone."""

    index: Value


@dataclass(frozen=True, slots=True)
class NoDerivative:
    """Known to contribute nothing: the operand is discrete, or the operation is piecewise constant in it."""


Partial = Unit | Scale | Pick | CastPartial | LaneSum | LaneDot | LanePick | NoDerivative
