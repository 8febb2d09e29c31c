"""Sliding windows: loads that read again what another load of the loop read one iteration earlier.

A stencil reads `u[i + 1]` and, an iteration later, the same element as `u[i]`. The adjoint of the second load
belongs to the first one an iteration earlier, so it travels in a register instead of through memory, and the
reverse loop touches each element once - without which it cannot be vectorised.
"""

from __future__ import annotations

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.facts.loops import Affine, Loops, affine_phi, constant_offset
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import ConstInt
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import BinaryOp, Call, GetElementPtr, Load, Phi, Store
from ferrodiff.adcore.ir.types import FloatType
from ferrodiff.adcore.ir.values import Block
from ferrodiff.adcore.reverse.prepare import LoopPlan, Shape

Place = tuple[Value, Value | None, int, int]
"""A base that does not change in the loop, an unknown start, constant bytes, and bytes per iteration."""


class Window:
    """`load` at iteration i reads what `earlier` read at iteration i - 1.

    `carrier` is a phi in no block: it stands for the value of `load`, and holds its adjoint until the reverse
    sweep reaches the previous iteration.
    """

    def __init__(self, plan: LoopPlan, load: Load, earlier: Load) -> None:
        self.plan = plan
        self.load = load
        self.earlier = earlier
        self.carrier = Phi(load.type, [earlier], [plan.latch])


def find_windows(shape: Shape, alias: Alias) -> list[Window]:
    """The windows of all innermost loops, each load in at most one."""
    found: list[Window] = []
    for plan in shape.plans.values():
        if not plan.loop.children:
            found.extend(_of_loop(plan, shape, alias))
    return found


def _of_loop(plan: LoopPlan, shape: Shape, alias: Alias) -> list[Window]:
    layout = alias.layout
    loads: list[tuple[Load, Place]] = []
    stores: list[Store] = []
    for block in plan.loop.blocks & shape.cfg.live:
        for insn in block.instructions:
            if isinstance(insn, Call) and alias.effect(insn).writes != ():
                return []
            if isinstance(insn, Store):
                stores.append(insn)
            elif isinstance(insn, Load) and isinstance(insn.type, FloatType) and not insn.volatile:
                place = _place(insn.pointer, plan, shape.loops, layout)
                if place is not None:
                    loads.append((insn, place))
    bases = [invariant_base(s.pointer, plan, shape.loops) for s in stores]
    found = []
    for load, place in loads:
        earlier = _earlier(load, place, loads, plan, shape)
        if earlier is not None and all(b is not None and apart(b, place[0], alias) for b in bases):
            found.append(Window(plan, load, earlier))
    return found


def _earlier(
    load: Load, place: Place, loads: list[tuple[Load, Place]], plan: LoopPlan, shape: Shape
) -> Load | None:
    base, start, offset, step = place
    for other, (other_base, other_start, other_offset, other_step) in loads:
        same = other_base is base and other_start is start and other_step == step
        follows = same and other_offset == offset + step and other.type is load.type and other is not load
        if follows and _runs_always(other.parent, plan, shape):
            return other
    return None


def _runs_always(block: Block | None, plan: LoopPlan, shape: Shape) -> bool:
    return block is not None and shape.cfg.dominates(block, plan.latch)


def _place(pointer: Value, plan: LoopPlan, loops: Loops, layout: DataLayout) -> Place | None:
    if not isinstance(pointer, GetElementPtr) or not loops.is_invariant(pointer.base, plan.loop):
        return None
    fixed = constant_offset(pointer, layout)
    if fixed is not None or len(pointer.operands) != 2:
        return None
    size = layout.size_of(pointer.source_type)
    index, extra = pointer.operands[1], 0
    if isinstance(index, BinaryOp) and index.opcode == "add" and isinstance(index.operands[1], ConstInt):
        extra = index.operands[1].value
        index = index.operands[0]
    if not isinstance(index, Phi):
        return None
    affine: Affine | None = affine_phi(index, plan.loop, loops, layout)
    if affine is None:
        return None
    if isinstance(affine.start, ConstInt):
        return pointer.base, None, (affine.start.value + extra) * size, affine.step * size
    return pointer.base, affine.start, extra * size, affine.step * size


def invariant_base(pointer: Value, plan: LoopPlan, loops: Loops) -> Value | None:
    """What a pointer is offset from that does not change in the loop; ``None`` if there is no such thing."""
    while not loops.is_invariant(pointer, plan.loop):
        if not isinstance(pointer, GetElementPtr):
            return None
        pointer = pointer.base
    return pointer


def apart(a: Value, b: Value, alias: Alias) -> bool:
    """Whether two pointers, looked at at the same time, never lead into one object."""
    assumed: set[tuple[Value, Value]] = set()

    def distinct(p: Value, q: Value) -> bool:
        p, q = _stripped(p), _stripped(q)
        if (p, q) in assumed or not alias.may_alias(p, q):
            return True
        if p is q or not (isinstance(p, Phi) and isinstance(q, Phi) and p.parent is q.parent):
            return False
        assumed.add((p, q))
        return all(distinct(p.value_from(s), q.value_from(s)) for s in p.incoming_blocks)

    return distinct(a, b)


def _stripped(pointer: Value) -> Value:
    while isinstance(pointer, GetElementPtr):
        pointer = pointer.base
    return pointer
