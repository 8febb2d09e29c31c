"""Products of tangents are fused with the additions they feed.

`llvm.fmuladd` is one rounding where the processor has a fused multiply-add, and two operations where it has not.
Letting LLVM choose (the flag `contract`) would round a lane of a batch differently from a single tangent, because
vectors and scalars are matched in different orders. Here the choice is made on the derivative's own structure,
which is the same at every width. The primal's arithmetic is never fused.
"""

from __future__ import annotations

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.instructions import BinaryOp, Instruction
from ferrodiff.adcore.ir.values import Block, Function, uses


def fuse(function: Function, primal: frozenset[Value]) -> None:
    """Fuse every addition of a derivative that adds a product nobody else needs; `primal` is left as it is."""
    users = uses(function)
    for block in function.blocks:
        gone: set[Instruction] = set()
        kept: list[Instruction] = []
        for insn in block.instructions:
            product = _product(insn, users, primal) if _is_own(insn, ("fadd", "fsub"), primal) else None
            if product is None:
                kept.append(insn)
            else:
                gone.add(product)
                kept += _fused(function, insn, product, users)
        if gone:
            block.instructions = [insn for insn in kept if insn not in gone]
            for insn in block.instructions:
                insn.parent = block


def _is_own(insn: Value, opcodes: tuple[str, ...], primal: frozenset[Value]) -> bool:
    """Whether it is arithmetic of the derivative whose rounding nobody has given away already."""
    return isinstance(insn, BinaryOp) and insn.opcode in opcodes and insn not in primal and not insn.flags


def _product(
    insn: Instruction, users: dict[Value, list[Instruction]], primal: frozenset[Value]
) -> BinaryOp | None:
    """The product that an addition can take up: the one on its right where there are two."""
    for operand in reversed(insn.operands):
        if _is_own(operand, ("fmul",), primal) and len(users.get(operand, ())) == 1:
            assert isinstance(operand, BinaryOp)
            if operand.parent is insn.parent:
                return operand
    return None


def _fused(
    function: Function, insn: Instruction, product: BinaryOp, users: dict[Value, list[Instruction]]
) -> list[Instruction]:
    """What stands in an addition's place."""
    scratch = Block("fused")
    builder = Builder(function, scratch)
    builder.metadata = {kind: node for kind, node in insn.metadata.items() if kind == "dbg"}
    left, right = product.operands
    on_right = insn.operands[1] is product
    rest = insn.operands[0] if on_right else insn.operands[1]
    if insn.opcode == "fsub":
        if on_right:
            left = builder.fneg(left)
        else:
            rest = builder.fneg(rest)
    fused = builder.intrinsic("llvm.fmuladd", [insn.type], [left, right, rest], insn.type)
    for user in users.get(insn, ()):
        user.map_inputs(lambda value: fused if value is insn else value)
    users[fused] = users.pop(insn, [])
    return list(scratch.instructions)
