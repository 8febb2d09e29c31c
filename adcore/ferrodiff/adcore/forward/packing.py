"""Recurrences are not packed, nor is long code without loops.

A loop that carries floats from round to round (an integrator's state, a Newton iterate) takes as long as its
chain of operations. LLVM's SLP vectoriser packs a derivative's independent scalars into vectors all the same,
and the shuffles in between lengthen the chain: it does not see the chain, only the instructions saved. Long code
without loops gains nothing from it either, and takes it several times as long as all other passes together.
A derivative whose innermost loops are all recurrences, or a long one without loops, is therefore marked
`noimplicitfloat`, the one function attribute that keeps the vectorisers away (LLVM LangRef, "Function
Attributes"); explicit vectors, which carry a batch's lanes, are untouched by it. Inlining would spread the
attribute to the caller, so that is kept away too.
"""

from __future__ import annotations

from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.loops import Loop, Loops
from ferrodiff.adcore.forward.form import Users, feeds_itself, is_sum
from ferrodiff.adcore.ir.types import is_float_like
from ferrodiff.adcore.ir.values import Function, uses

UNPACKED = "noimplicitfloat"
"""The attribute of a function that the vectorisers leave alone."""
LONG = 300
"""Instructions of a derivative that counts as long."""


def keep_from_packing(function: Function) -> None:
    """Mark a generated function with nothing in it to vectorise but what SLP would spoil."""
    inner = [loop for loop in Loops(Cfg(function)).loops if not loop.children]
    users = uses(function)
    if all(_is_recurrence(loop, users) for loop in inner) and (inner or _is_long(function)):
        function.attributes = f"{function.attributes.replace('alwaysinline', '')} {UNPACKED} noinline".strip()


def _is_long(function: Function) -> bool:
    return sum(len(block.instructions) for block in function.blocks) >= LONG


def _is_recurrence(loop: Loop, users: Users) -> bool:
    """Whether some float's next value depends on its present one, other than by adding to it."""
    return any(
        is_float_like(phi.type) and feeds_itself(phi, loop.blocks) and not is_sum(phi, users, loop.blocks)
        for phi in loop.header.phis
    )
