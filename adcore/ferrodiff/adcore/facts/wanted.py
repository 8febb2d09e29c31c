"""Which shadows a finished activity analysis asks for: of integers that carry floats, and of guarded pointers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ferrodiff.adcore.facts.callees import Callee
from ferrodiff.adcore.facts.shapes import MERGES, holds_pointer
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.instructions import Call, Instruction
from ferrodiff.adcore.ir.types import IntType

if TYPE_CHECKING:
    from ferrodiff.adcore.facts.activity import Analysis


def find_guarded(analysis: Analysis) -> None:
    """Active pointers whose shadow may turn out to be the primal's own address when the program runs."""
    guarded = analysis.facts.guarded
    size = -1
    while size != len(guarded):
        size = len(guarded)
        for block in analysis.blocks:
            for insn in block.instructions:
                known = insn not in analysis.active or insn in guarded
                if not known and holds_pointer(insn.type, analysis.layout) and _is_guarded(analysis, insn):
                    guarded.add(insn)


def _is_guarded(analysis: Analysis, insn: Instruction) -> bool:
    opcode = insn.opcode
    if opcode == "load":
        return analysis.guard and analysis.tuple_root(insn.operands[0]) is None
    if opcode in MERGES:
        operands = insn.operands[1:] if opcode == "select" else insn.operands
        return any(v in analysis.facts.guarded or analysis.is_mixed(v) for v in operands)
    if isinstance(insn, Call):
        return analysis.guard and analysis.callee_kind(insn) is Callee.DEFINED
    if opcode == "insertvalue":
        return any(
            v in analysis.facts.guarded or (holds_pointer(v.type, analysis.layout) and analysis.is_mixed(v))
            for v in insn.operands
        )
    return bool(insn.operands) and insn.operands[0] in analysis.facts.guarded


def find_needed(analysis: Analysis) -> None:
    """Active integers whose shadow reaches memory, a float, a pointer or another function."""
    needed = analysis.facts.needed
    work: list[Value] = []

    def want(value: Value) -> None:
        if value in analysis.active and value not in needed:
            needed.add(value)
            work.append(value)

    for block in analysis.blocks:
        for insn in block.instructions:
            for value in _wanted_by(analysis, insn):
                want(value)
    while work:
        value = work.pop()
        if isinstance(value, Instruction) and value.opcode not in ("load", "call", "invoke"):
            for operand in value.operands:
                want(operand)


def _wanted_by(analysis: Analysis, insn: Instruction) -> Sequence[Value]:
    if insn.opcode == "store":
        return insn.operands[:1] if insn.operands[1] in analysis.active else ()
    if insn.opcode in ("atomicrmw", "cmpxchg"):
        return insn.operands[-1:] if insn.operands[0] in analysis.active else ()
    if insn.opcode in ("call", "invoke", "ret", "insertvalue", "inttoptr"):
        return insn.operands
    if insn.opcode == "bitcast" and not isinstance(insn.type.scalar, IntType):
        return insn.operands
    return ()
