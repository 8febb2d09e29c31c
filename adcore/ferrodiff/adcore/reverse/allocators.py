"""Calls of allocators in a function that is reversed: reallocations expanded, memory freed before panics."""

from __future__ import annotations

from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt
from ferrodiff.adcore.ir.instructions import Call, Instruction
from ferrodiff.adcore.ir.types import i64, ptr, void
from ferrodiff.adcore.ir.values import Block, Function
from ferrodiff.adcore.reverse.frees import BLOCK_SIZE, Frees
from ferrodiff.adcore.reverse.prepare import Shape
from ferrodiff.adcore.reverse.storage import declare_memory
from ferrodiff.adcore.reverse.tape import Tape
from ferrodiff.adcore.rules.runtime import Role, allocation


def release_before_panics(function: Function, shape: Shape, tape: Tape, frees: Frees) -> None:
    """On paths that never return the tape is freed before the panic starts, or before it is passed on."""
    if not frees.waiting and not any(t.kept for t in tape.tapes.values()):
        return
    for block in shape.cfg.order:
        if block in shape.cfg.live or block.terminator is None:
            continue
        last = block.terminator
        place: Instruction | None = last if last.opcode == "resume" else None
        if last.opcode == "unreachable" and len(block.instructions) > 1:
            before = block.instructions[-2]
            place = before if isinstance(before, Call) and before.opcode == "call" else None
        if place is not None:
            builder = Builder(function).position_before(place)
            tape.release(builder)
            frees.release(builder)


def expand_reallocations(function: Function) -> None:
    """A reallocation as what it means: a new block, a copy, and the old block's release."""
    for block in function.blocks:
        for insn in list(block.instructions):
            if isinstance(insn, Call) and insn.opcode == "call":
                what = allocation(insn.callee_name or "")
                if what is not None and what.role is Role.REALLOCATE:
                    (_expand_c if what.old_size is None else _expand)(function, block, insn)


def _expand_c(function: Function, block: Block, insn: Call) -> None:
    """C's `realloc`: it is not told the old block's size, and takes null for an empty one."""
    old, size = insn.args
    scratch = Block("realloc")
    builder = Builder(function, scratch)
    builder.metadata = {k: v for k, v in insn.metadata.items() if k == "dbg"}
    declare_memory(function)
    fresh = builder.call("malloc", ptr, [size])
    fresh.return_attributes = ("noalias",)
    old_size = builder.call(BLOCK_SIZE, i64, [old])
    builder.memcpy(fresh, old, builder.select(builder.icmp("ult", old_size, size), old_size, size))
    builder.call("free", void, [old])
    block.replace_with(insn, list(scratch.instructions))
    for each in list(function.instructions()):
        each.map_inputs(lambda v: fresh if v is insn else v)


def _expand(function: Function, block: Block, insn: Call) -> None:
    name = insn.callee_name or ""
    old, old_size, align, size = insn.args
    scratch = Block("realloc")
    builder = Builder(function, scratch)
    builder.metadata = {k: v for k, v in insn.metadata.items() if k == "dbg"}
    plain = _sibling(function, name, Role.ALLOCATE)
    release = _sibling(function, name, Role.DEALLOCATE)
    fresh = builder.call(plain, ptr, [size, align])
    fresh.return_attributes = ("noalias",)
    smaller = builder.select(builder.icmp("ult", old_size, size), old_size, size)
    builder.memcpy(fresh, old, smaller, align.value if isinstance(align, ConstInt) else 1)
    builder.call(release, void, [old, old_size, align])
    block.replace_with(insn, list(scratch.instructions))
    for each in list(function.instructions()):
        each.map_inputs(lambda v: fresh if v is insn else v)


def _sibling(function: Function, name: str, role: Role) -> str:
    module = function.module
    assert module is not None
    for other in module.functions:
        what = allocation(other)
        if (
            what is not None
            and what.role is role
            and other.startswith(("__rust", "_R")) == name.startswith(("__rust", "_R"))
        ):
            return other
    plain = {Role.ALLOCATE: "alloc", Role.DEALLOCATE: "dealloc"}[role]
    return name.replace("14___rust_realloc", f"{len('__rust_' + plain)}___rust_{plain}").replace(
        "realloc", plain
    )
