"""Rules of LLVM's instructions.

Structural instructions (phi, load, store, getelementptr, insertvalue, ...) move values without computing; the
transforms do the same with the tangents, so they have no partials and are listed in `STRUCTURAL` alone.
"""

from __future__ import annotations

from ferrodiff.adcore.ir.constants import constant_number
from ferrodiff.adcore.rules.emission import Emitted
from ferrodiff.adcore.rules.partial import Partial, Scale
from ferrodiff.adcore.rules.rule import NEGATED, SAME, Casting, Rule, Site, Special, chosen, times
from ferrodiff.adcore.rules.terms import rint
from ferrodiff.adcore.rules.words import words


def _reciprocal(site: Site) -> Emitted:
    """1/y, which both partials of a division need."""
    y = site.operand_terms[1]
    return site.once("reciprocal", lambda: 1 / y)


def _divisor(site: Site) -> Partial:
    """-r/y, as -r * (1/y): the reciprocal is shared with the other partial. A numerator of 1 gives -r*r."""
    (r,) = site.result_terms
    if constant_number(site.operands[0]) == 1.0:
        return Scale((-(r * r)).value, True, vanishing=True)
    return Scale((-(r * _reciprocal(site))).value, True, vanishing=True)


ARITHMETIC: tuple[Rule, ...] = (
    Rule(("fadd",), "ff", (SAME, SAME)),
    Rule(("fsub",), "ff", (SAME, NEGATED)),
    Rule(("fneg",), "f", (NEGATED,)),
    Rule(("fmul",), "ff", (times(lambda x, y: y), times(lambda x, y: x))),
    Rule(
        ("fdiv",),
        "ff",
        (
            Special("1/y", lambda site: Scale(_reciprocal(site).value, True), singular=True),
            Special("-r*(1/y)", _divisor, needs_result=True, singular=True),
        ),
        edge="a divisor below 6e-309 in magnitude has an infinite reciprocal; an infinite divisor blocks an "
        "infinite tangent, so that 1/(1 + exp(-x)) is flat far out",
    ),
    Rule(
        ("frem",),
        "ff",
        (SAME, times(lambda x, y, r: -rint((x - r) / y), singular=True)),
        doc="the truncated quotient, taken from the remainder so that it fits the primal",
        edge="jumps where x/y is an integer; there the side the primal took",
    ),
    Rule(("fpext",), "f", (Casting("fpext"),)),
    Rule(("fptrunc",), "f", (Casting("fptrunc"),)),
    Rule(
        ("select",),
        "b**",
        (None, chosen(lambda c, x, y: c), chosen(lambda c, x, y: ~c)),
        doc="the tangent of the picked value, never a product with a mask",
        choice=lambda c, x, y: c,
        choices=(1, 2),
    ),
)

DISCRETE: tuple[Rule, ...] = (
    Rule(("fcmp",), "ff", (None, None), doc="a comparison is piecewise constant"),
    Rule(("icmp",), "ii", (None, None)),
    *(
        Rule((opcode,), "ii", (None, None), doc="integer arithmetic")
        for opcode in words("add sub mul udiv sdiv urem srem shl lshr ashr and or xor")
    ),
    *(Rule((opcode,), "i", (None,), doc="integer conversion") for opcode in ("trunc", "zext", "sext")),
    *(Rule((opcode,), "f", (None,), doc="a step function") for opcode in ("fptosi", "fptoui")),
    *(Rule((opcode,), "i", (None,), doc="from integers") for opcode in ("sitofp", "uitofp")),
)

RULES = ARITHMETIC + DISCRETE

STRUCTURAL = frozenset(
    words(
        "phi load store getelementptr alloca insertvalue extractvalue insertelement extractelement "
        "shufflevector freeze bitcast ptrtoint inttoptr addrspacecast call invoke atomicrmw cmpxchg fence "
        "va_arg br switch ret unreachable resume landingpad indirectbr callbr"
    )
)
"""Instructions that move or address values, or direct control: the transforms' own business."""
