"""Which tangents' sums of a loop are made together.

Each sum of a tangent is kept as four partial sums (`fission`). A batch has so many that they no longer fit into
the processor's vector registers, and each addition would go through memory. The strip is then gone through once
per group of lanes: every sum is made by the same additions, and what several groups need is computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.instructions import BinaryOp, Call, GetElementPtr, Instruction, Load, Phi, Store
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.values import Block, Function

NARROW, WIDE = 2, 4
"""Sums made together with sixteen registers of 128 bits (x86-64 without AVX), and with more or wider ones."""
SLOW = 8
"""What a division or a square root costs, in multiplications."""


def lane_groups(addends: Sequence[Sequence[Value]], width: int, body: Block, at_once: int) -> list[list[int]]:
    """Which sums are made together, by index: those of a few lanes where that pays, else all.

    The sums come variable by variable, lane by lane; `addends[k]` is what the loop adds to the k-th.
    """
    everything = [list(range(len(addends)))]
    if (
        len(addends) <= at_once
        or len(addends) % width
        or any(isinstance(i, Store) for i in body.instructions)
    ):
        return everything
    order = sorted(everything[0], key=lambda k: k % width)
    size = max(at_once, len(addends) // width)
    groups = [order[k : k + size] for k in range(0, len(order), size)]
    needs = [_needed((v for k in group for v in addends[k]), body) for group in groups]
    once = sum(_cost(insn) for insn in set[Instruction]().union(*needs))
    repeated = sum(_cost(insn) for need in needs for insn in need)
    return groups if 4 * repeated <= 5 * once else everything


def sums_at_once(module: Module, function: Function) -> int:
    """How many sums fit into the registers of the processor a function is compiled for."""
    groups = [module.attribute_groups.get(word, "") for word in function.attributes.split()]
    words = " ".join([function.attributes, *groups])
    return NARROW if '"target-cpu"="x86-64"' in words else WIDE


def _needed(values: Iterable[Value], body: Block) -> set[Instruction]:
    found: set[Instruction] = set()
    work = list(values)
    while work:
        value = work.pop()
        if isinstance(value, Instruction) and value.parent is body and value not in found:
            found.add(value)
            work.extend(() if isinstance(value, Phi) else value.operands)
    return found


def _cost(insn: Instruction) -> int:
    if isinstance(insn, (Phi, Load, GetElementPtr)):
        return 0
    if isinstance(insn, BinaryOp) and insn.opcode in ("fdiv", "frem"):
        return SLOW
    return SLOW if isinstance(insn, Call) and "sqrt" in (insn.callee_name or "") else 1
