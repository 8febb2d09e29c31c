"""Full unrolling of short loops before reverse mode, where it lets stack arrays become values.

Swapping two containers compiles to a loop of three word moves, and small matrices to loops of two or three
iterations. Unrolled, their memory dissolves into SSA values, which needs neither tape nor shadow.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.loops import Loop, Loops, trip_count
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import Alloca, GetElementPtr, Instruction, Phi, Select
from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.values import Block, Function, Value

ITERATIONS = 8
"""Loops of more iterations are left alone."""

SIZE = 160
"""Instructions that a loop may unroll to."""


def mark_short_loops(module: Module, names: Iterable[str]) -> str | None:
    """The module's text with short loops of some functions marked for full unrolling, or ``None``.

    Only loops that touch stack memory of their function are marked.
    """
    changed: list[Function] = []
    lines: list[str] = []
    first = 1 + max((int(k.lstrip("!")) for k in module.metadata if k.lstrip("!").isdigit()), default=0)
    for name in names:
        function = module.functions[name]
        if not any(isinstance(i, Alloca) for i in function.entry.instructions):
            continue
        marked = list(_short(function, module.datalayout))
        for latch in marked:
            node = first + len(lines)
            lines.append(f'!{node} = distinct !{{!{node}, !{{!"llvm.loop.unroll.full"}}}}')
            latch.metadata["llvm.loop"] = f"!{node}"
        if marked:
            changed.append(function)
    if not changed:
        return None
    return module.with_functions((), changed) + "\n" + "\n".join(lines) + "\n"


def _short(function: Function, layout: DataLayout) -> list[Instruction]:
    cfg = Cfg(function)
    loops = Loops(cfg)
    found = []
    for loop in loops.loops:
        count = _iterations(function, loop, loops, layout)
        if count is None or count > ITERATIONS or len(loop.latches) != 1:
            continue
        size = sum(len(b.instructions) for b in loop.blocks)
        last = loop.latches[0].terminator
        if size * count <= SIZE and last is not None and _touches_stack(loop):
            found.append(last)
    return found


def _iterations(function: Function, loop: Loop, loops: Loops, layout: DataLayout) -> int | None:
    trip = trip_count(loop, loops, layout)
    if trip is None:
        return _boolean(loop)
    start, bound = trip.inputs()
    if not isinstance(start, ConstInt) or not isinstance(bound, ConstInt):
        return None
    folded = trip.emit(Builder(function, Block("aside")), start, bound)
    return folded.value + 1 if isinstance(folded, ConstInt) else None


def _boolean(loop: Loop) -> int | None:
    """Loops of two iterations whose test LLVM has turned into a flag."""
    for phi in loop.header.phis:
        if phi.type.text == "i1" and all(isinstance(v, ConstInt) for v in phi.operands):
            last = loop.latches[0].terminator
            if last is not None and phi in last.operands:
                return 2
    return None


def _touches_stack(loop: Loop) -> bool:
    for block in loop.blocks:
        for insn in block.instructions:
            if insn.opcode in ("load", "store") and _on_stack(insn.operands[-1], set()):
                return True
    return False


def _on_stack(pointer: Value, seen: set[Value]) -> bool:
    if pointer in seen:
        return False
    seen.add(pointer)
    if isinstance(pointer, Alloca):
        return True
    if isinstance(pointer, GetElementPtr):
        return _on_stack(pointer.base, seen)
    if isinstance(pointer, (Phi, Select)):
        return any(_on_stack(v, seen) for v in pointer.operands)
    return False
