"""Memory of a function that is reversed: reallocations expanded, sized stack moved, freed before panics."""

from __future__ import annotations

from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import Alloca, Call, Instruction
from ferrodiff.adcore.ir.types import i64, ptr, void
from ferrodiff.adcore.ir.values import Block, Function, Value
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


def move_stack_to_heap(function: Function, layout: DataLayout) -> None:
    """Stack memory of a size only known at run time becomes blocks of the heap.

    It is needed until its reverse, when the stack has long been unwound. A block is freed where the stack
    pointer is put back to before it, or at the returns. What is found nowhere to free stays as it is.
    """
    found = [i for i in function.instructions() if isinstance(i, Alloca) and i.count is not None]
    cfg = Cfg(function) if found else None
    for insn in found:
        count, block = insn.count, insn.parent
        assert cfg is not None and count is not None and block is not None
        ends = _ends(cfg, insn, block)
        if not ends or (insn.align or 1) > _MALLOC_ALIGNMENT:
            continue
        declare_memory(function)
        scratch = Block("stack")
        builder = Builder(function, scratch)
        builder.metadata = {k: v for k, v in insn.metadata.items() if k == "dbg"}
        wide = count if count.type == i64 else builder.zext(count, i64)
        heap = builder.call("malloc", ptr, [builder.mul(wide, layout.size_of(insn.allocated_type))])
        heap.return_attributes = ("noalias",)
        for end in ends:
            Builder(function).position_before(end).call("free", void, [heap])
        block.replace_with(insn, list(scratch.instructions))
        _replace(function, insn, heap)


_MALLOC_ALIGNMENT = 16


def _ends(cfg: Cfg, insn: Alloca, block: Block) -> list[Instruction]:
    """The instructions that end an alloca's life; none if some way round a loop passes none of them."""
    restored = _restores(cfg, insn, block)
    after = set().union(*(cfg.reachable_from(r.parent) for r in restored if r.parent is not None))
    returns = [b for b in cfg.order if b.terminator is not None and b.terminator.opcode == "ret"]
    if not restored and (
        block in cfg.reachable_from(block)
        or not all(cfg.dominates(block, b) for b in returns if b in cfg.reachable_from(block))
    ):
        return []
    inside = {r.parent for r in restored}
    return restored + [
        b.terminator
        for b in returns
        if b.terminator is not None and cfg.dominates(block, b) and b not in after and b not in inside
    ]


def _restores(cfg: Cfg, insn: Alloca, block: Block) -> list[Instruction]:
    """Where the stack pointer is put back to what it was last before an alloca."""
    found = [
        i
        for b in cfg.order
        for i in b.instructions
        if isinstance(i, Call)
        and (i.callee_name or "").startswith("llvm.stackrestore")
        and _is_between(cfg, i, insn, block)
    ]
    saves = {i.args[0] for i in found}
    return [i for i in found if not any(_is_before(cfg, i.args[0], s) for s in saves if s is not i.args[0])]


def _is_before(cfg: Cfg, a: Value, b: Value) -> bool:
    if not isinstance(a, Call) or not isinstance(b, Call) or a.parent is None or b.parent is None:
        return False
    return _precedes(cfg, a, a.parent, b, b.parent)


def _is_between(cfg: Cfg, restore: Call, insn: Alloca, block: Block) -> bool:
    """Whether the stack pointer that is put back was taken before the alloca, which came before this."""
    saved = restore.args[0]
    if not isinstance(saved, Call) or saved.parent is None or restore.parent is None:
        return False
    return _precedes(cfg, saved, saved.parent, insn, block) and _precedes(
        cfg, insn, block, restore, restore.parent
    )


def _precedes(cfg: Cfg, a: Instruction, at: Block, b: Instruction, to: Block) -> bool:
    if at is to:
        return at.instructions.index(a) < at.instructions.index(b)
    return cfg.dominates(at, to)


def _replace(function: Function, old: Instruction, new: Value) -> None:
    for each in list(function.instructions()):
        each.map_inputs(lambda v: new if v is old else v)


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
    _replace(function, insn, fresh)


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
    _replace(function, insn, fresh)


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
