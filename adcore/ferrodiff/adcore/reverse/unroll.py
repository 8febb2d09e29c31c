"""Loops that move the words of one value are unrolled.

Rust swaps values word by word. Word for word it is known where it stands in its value, and so whether it is a
float, an address or a number; of a word in a loop it is not.
"""

from __future__ import annotations

from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.loops import Loop, Loops, moves_words, trip_count
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.fold import fold_binary
from ferrodiff.adcore.ir.instructions import BinaryOp, Branch, Call, Instruction, Phi
from ferrodiff.adcore.ir.values import Block, Function

LONGEST = 64
"""Words of a value whose loop is unrolled."""


def unroll_moves(function: Function, layout: DataLayout) -> None:
    """Unroll, in place, loops of few iterations that only move words."""
    loops = Loops(Cfg(function))
    for loop in loops.loops:
        if len(loop.blocks) == 1 and moves_words(loop):
            count = _iterations(function, loop, loops, layout)
            if count is not None and count <= LONGEST:
                _unroll(function, loop.header, count)


def _iterations(function: Function, loop: Loop, loops: Loops, layout: DataLayout) -> int | None:
    trip = trip_count(loop, loops, layout)
    if trip is None or not all(isinstance(v, ConstInt) for v in trip.inputs()):
        return None
    folded = trip.emit(Builder(function, Block("aside")), *trip.inputs())
    return folded.value + 1 if isinstance(folded, ConstInt) else None


def _unroll(function: Function, block: Block, count: int) -> None:
    last = block.terminator
    assert isinstance(last, Branch)
    phis = list(block.phis)
    body = [i for i in block.instructions if not isinstance(i, (Phi, Branch, Call))]
    into = next(b for b in phis[0].incoming_blocks if b is not block) if phis else None
    now: dict[Value, Value] = {p: p.value_from(into) for p in phis if into is not None}
    made: list[Instruction] = []
    for _ in range(count):
        for insn in body:
            copy = insn.copy()
            copy.metadata = {k: v for k, v in insn.metadata.items() if k not in ("alias.scope", "noalias")}
            copy.map_inputs(lambda v: now.get(v, v))
            number = fold_binary(copy.opcode, *copy.operands) if isinstance(copy, BinaryOp) else None
            if number is not None:
                now[insn] = number
                continue
            if copy.name is not None:
                copy.name = function.fresh_name("word")
                now[insn] = copy
            made.append(copy)
        following = {p: p.value_from(block) for p in phis}
        now.update({p: now.get(v, v) for p, v in following.items()})
    leaving = next(t for t in last.targets if t is not block)
    inside = set(body)
    block.instructions = []
    for each in [*made, Branch([leaving])]:
        block.append(each)
    for other in function.instructions():
        if other.parent is not block:
            other.map_inputs(lambda v: now[v] if v in inside or v in phis else v)
