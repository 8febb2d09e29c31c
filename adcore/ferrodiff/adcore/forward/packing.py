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
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.instructions import BinaryOp, Instruction, Phi
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


def _is_recurrence(loop: Loop, users: dict[Value, list[Instruction]]) -> bool:
    return any(
        is_float_like(phi.type) and _comes_back(phi, loop) and not _is_sum(phi, loop, users)
        for phi in loop.header.phis
    )


def _comes_back(phi: Phi, loop: Loop) -> bool:
    """Whether a round's value depends on the same value of the round before; one that is only remembered does not."""
    work = list(_from_inside(phi, loop))
    seen: set[Value] = set()
    while work:
        value = work.pop()
        if value is phi:
            return True
        if value in seen or not isinstance(value, Instruction) or value.parent not in loop.blocks:
            continue
        seen.add(value)
        work.extend(_from_inside(value, loop) if isinstance(value, Phi) else value.operands)
    return False


def _from_inside(phi: Phi, loop: Loop) -> list[Value]:
    """What a phi takes from the loop's own blocks."""
    return [value for value, block in phi.incoming if block in loop.blocks]


def _is_sum(phi: Phi, loop: Loop, users: dict[Value, list[Instruction]]) -> bool:
    """Whether the loop only adds to a float: the vectoriser makes partial sums of those."""
    ends = set(_from_inside(phi, loop))
    at: Value = phi
    while at not in ends or at is phi:
        around = [user for user in users.get(at, []) if user.parent in loop.blocks]
        if (
            len(around) != 1
            or not isinstance(around[0], BinaryOp)
            or around[0].opcode not in ("fadd", "fsub")
        ):
            return False
        at = around[0]
    return True
