"""Natural loops, induction variables and trip counts.

The *backedge count* of one run of a loop is how often its latch was taken; iteration numbers go from 0 to
that count. Affine values are ``start + step * iteration`` for integers and pointers (step in bytes).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.ir import evaluate
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import Constant, ConstInt, const_int
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import (
    BinaryOp,
    Branch,
    Call,
    Compare,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Store,
)
from ferrodiff.adcore.ir.types import IntType, i64
from ferrodiff.adcore.ir.values import Argument, Block, Value


@dataclass(eq=False)
class Loop:
    """A natural loop: all blocks from which a latch can be reached without leaving through the header."""

    header: Block
    blocks: set[Block]
    latches: list[Block]
    parent: Loop | None = None
    children: list[Loop] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """1 for an outermost loop."""
        return 1 if self.parent is None else self.parent.depth + 1

    def contains(self, other: Loop | None) -> bool:
        """Whether ``other`` is this loop or lies inside it."""
        while other is not None:
            if other is self:
                return True
            other = other.parent
        return False

    def ancestors(self) -> list[Loop]:
        """This loop and the loops around it, innermost first."""
        found: list[Loop] = []
        at: Loop | None = self
        while at is not None:
            found.append(at)
            at = at.parent
        return found


class Loops:
    """The loop forest of a function. ``irreducible`` is a block of a cycle that is no natural loop, if any."""

    def __init__(self, cfg: Cfg) -> None:
        self.cfg = cfg
        self.loops: list[Loop] = []
        self._of: dict[Block, Loop] = {}
        self.irreducible: Block | None = self._find_irreducible()
        by_header: dict[Block, list[Block]] = {}
        for block in cfg.order:
            for target in cfg.successors[block]:
                if cfg.dominates(target, block):
                    by_header.setdefault(target, []).append(block)
        for header, latches in by_header.items():
            self.loops.append(Loop(header, self._body(header, latches), latches))
        self.loops.sort(key=lambda loop: len(loop.blocks))
        self._nest()

    def of(self, block: Block) -> Loop | None:
        """The innermost loop that holds a block."""
        return self._of.get(block)

    def is_invariant(self, value: Value, loop: Loop) -> bool:
        """Whether a value is computed outside the loop."""
        if isinstance(value, (Constant, Argument)):
            return True
        return isinstance(value, Instruction) and value.parent not in loop.blocks

    def adopt(self, block: Block, new: Block) -> None:
        """Note that a new block, split off an old one, lies in the same loops."""
        for loop in self.loops:
            if block in loop.blocks:
                loop.blocks.add(new)
        if block in self._of:
            self._of[new] = self._of[block]

    def preheader(self, loop: Loop) -> Block | None:
        """The only block that enters the loop, if it goes nowhere else."""
        outside = [p for p in self.cfg.predecessors[loop.header] if p not in loop.blocks]
        if len(outside) == 1 and self.cfg.successors[outside[0]] == [loop.header]:
            return outside[0]
        return None

    def exit_edges(self, loop: Loop, live_only: bool = True) -> list[tuple[Block, Block]]:
        """The edges that leave the loop; with ``live_only`` those from which a return can be reached."""
        return [
            (block, target)
            for block in self.cfg.order
            if block in loop.blocks
            for target in self.cfg.successors[block]
            if target not in loop.blocks and (not live_only or target in self.cfg.live)
        ]

    def _body(self, header: Block, latches: list[Block]) -> set[Block]:
        body = {header}
        work = [b for b in latches if b is not header]
        body.update(work)
        while work:
            for source in self.cfg.predecessors[work.pop()]:
                if source not in body:
                    body.add(source)
                    work.append(source)
        return body

    def _nest(self) -> None:
        for k, loop in enumerate(self.loops):
            for block in loop.blocks:
                self._of.setdefault(block, loop)
            for outer in self.loops[k + 1 :]:
                if loop.header in outer.blocks and outer is not loop:
                    loop.parent = outer
                    outer.children.append(loop)
                    break

    def _find_irreducible(self) -> Block | None:
        for block in self.cfg.order:
            for target in self.cfg.successors[block]:
                backwards = self.cfg.index[target] <= self.cfg.index[block]
                if backwards and not self.cfg.dominates(target, block):
                    return target
        return None


# -- induction variables -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Affine:
    """``start + step * iteration``; for pointers ``step`` counts bytes. ``update`` is the latch's value."""

    phi: Phi
    start: Value
    step: int
    update: Instruction


def affine_phi(phi: Phi, loop: Loop, loops: Loops, layout: DataLayout) -> Affine | None:
    """The affine form of a header phi whose step is a constant, or ``None``."""
    if phi.parent is not loop.header or len(loop.latches) != 1 or len(phi.operands) != 2:
        return None
    inside = [v for v, b in phi.incoming if b in loop.blocks]
    outside = [v for v, b in phi.incoming if b not in loop.blocks]
    if len(inside) != 1 or len(outside) != 1 or not isinstance(inside[0], Instruction):
        return None
    step = _step(inside[0], phi, layout)
    if step is None or step == 0:
        return None
    return Affine(phi, outside[0], step, inside[0])


def _step(update: Instruction, phi: Phi, layout: DataLayout) -> int | None:
    if isinstance(update, BinaryOp) and isinstance(phi.type, IntType):
        a, b = update.operands
        if update.opcode == "add" and a is phi and isinstance(b, ConstInt):
            return b.value
        if update.opcode == "add" and b is phi and isinstance(a, ConstInt):
            return a.value
        if update.opcode == "sub" and a is phi and isinstance(b, ConstInt):
            return -b.value
    if isinstance(update, GetElementPtr) and update.base is phi:
        return constant_offset(update, layout)
    return None


def constant_offset(gep: GetElementPtr, layout: DataLayout) -> int | None:
    """The byte offset of a ``getelementptr`` whose indices are all constants, else ``None``."""
    return evaluate.constant_offset(layout, gep.source_type, gep.operands[1:])


# -- trip counts -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TripCount:
    """How to compute the backedge count before the loop: the exit test and the affine value it looks at.

    The loop goes on while ``first + step * i  predicate  bound`` holds, i = 0, 1, ...
    """

    affine: Affine
    after_update: bool
    predicate: str
    bound: Value

    def inputs(self) -> tuple[Value, Value]:
        """The values the count is computed from; both are computed outside the loop."""
        return self.affine.start, self.bound

    def emit(self, builder: Builder, start: Value, bound: Value) -> Value:
        """The count as an ``i64``, computed at the builder's place from (copies of) ``inputs()``."""
        kind = start.type
        step = self.affine.step
        if not isinstance(kind, IntType):
            start, bound, kind = builder.ptrtoint(start), builder.ptrtoint(bound), i64
        first = builder.add(start, step if self.after_update else 0)
        count = _distance(builder, self.predicate, first, bound, step)
        return _to_i64(builder, count)


_MIRROR = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle", "ult": "ugt", "ule": "uge", "ugt": "ult"}
_MIRROR |= {"uge": "ule", "eq": "eq", "ne": "ne"}
_NEGATE = {"slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt", "ult": "uge", "ule": "ugt", "ugt": "ule"}
_NEGATE |= {"uge": "ult", "eq": "ne", "ne": "eq"}


def trip_count(loop: Loop, loops: Loops, layout: DataLayout) -> TripCount | None:
    """The backedge count of a counted loop with one live exit, or ``None`` if it is not known at entry."""
    exits = loops.exit_edges(loop)
    if len(exits) != 1 or len(loop.latches) != 1:
        return None
    block, target = exits[0]
    last = block.terminator
    if loops.of(block) is not loop or not loops.cfg.dominates(block, loop.latches[0]):
        return None
    if not isinstance(last, Branch) or not isinstance(last.condition, Compare):
        return None
    test = last.condition
    if test.opcode != "icmp":
        return None
    predicate = test.predicate if last.targets[1] is target else _NEGATE[test.predicate]
    for side in (0, 1):
        found = _tested(test.operands[side], loop, loops, layout)
        bound = test.operands[1 - side]
        if found is not None and loops.is_invariant(bound, loop):
            affine, after = found
            word = predicate if side == 0 else _MIRROR[predicate]
            if _countable(word, affine):
                return TripCount(affine, after, word, bound)
    return None


def _tested(value: Value, loop: Loop, loops: Loops, layout: DataLayout) -> tuple[Affine, bool] | None:
    for phi in loop.header.phis:
        affine = affine_phi(phi, loop, loops, layout)
        if affine is not None and value is phi:
            return affine, False
        if affine is not None and value is affine.update:
            return affine, True
    return None


def _countable(predicate: str, affine: Affine) -> bool:
    """Whether the test ends the loop after a number of steps that needs no wrapping around."""
    if predicate == "ne":
        never_skips = {"nuw", "nsw", "inbounds", "nusw"} & set(affine.update.flags)
        return abs(affine.step) == 1 or bool(never_skips)
    if predicate in ("slt", "sle", "ult", "ule"):
        return affine.step > 0
    return predicate in ("sgt", "sge", "ugt", "uge") and affine.step < 0


def _distance(builder: Builder, predicate: str, first: Value, bound: Value, step: int) -> Value:
    """The least i >= 0 for which ``first + i * step  predicate  bound`` fails."""
    up = step > 0
    gap = builder.sub(bound, first) if up else builder.sub(first, bound)
    size = abs(step)
    if predicate == "ne":
        return gap if size == 1 else _divided(builder, gap, size)
    if predicate in ("slt", "ult", "sgt", "ugt"):
        count = gap if size == 1 else builder.add(_divided(builder, builder.sub(gap, 1), size), 1)
    else:
        count = builder.add(gap if size == 1 else _divided(builder, gap, size), 1)
    runs = builder.icmp(predicate, first, bound)
    return builder.select(runs, count, 0)


def _divided(builder: Builder, value: Value, size: int) -> Value:
    if isinstance(value, ConstInt):
        return const_int(value.type, value.unsigned // size)
    return builder.udiv(value, size)


def _to_i64(builder: Builder, count: Value) -> Value:
    assert isinstance(count.type, IntType)
    if count.type.bits == 64:
        return count
    return builder.zext(count, i64) if count.type.bits < 64 else builder.trunc(count, i64)


def moves_words(loop: Loop) -> bool:
    """Whether a loop does nothing but move integers from place to place."""
    body = [i for b in loop.blocks for i in b.instructions if not _is_note(i)]
    stores = [i for i in body if isinstance(i, Store)]
    if not stores or any(i.opcode not in _MOVING for i in body):
        return False
    return all(isinstance(s.value, Load) and isinstance(s.value.type, IntType) for s in stores)


def _is_note(insn: Instruction) -> bool:
    return isinstance(insn, Call) and (insn.callee_name or "").startswith("llvm.experimental.noalias.")


_MOVING = frozenset(["phi", "getelementptr", "load", "store", "add", "icmp", "br"])
