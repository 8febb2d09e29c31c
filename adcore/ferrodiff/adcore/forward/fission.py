"""Loops that sum up in a fixed order are split, so that all but the sums is vectorised.

A strict floating-point sum (`s += f(i)`) keeps LLVM from vectorising its loop, and a batch of N tangents has
N such sums beside the primal's. So the loop runs in strips: first the strip's addends go to a buffer on the
stack, in a loop without sums, which LLVM vectorises along the strip; then a second loop adds them up, in the
order they always had (loop fission with strip mining; Allen and Kennedy, *Optimizing Compilers for Modern
Architectures*, chapter 5). The primal's sum stays bit for bit what it is. A tangent's addends of one iteration
are added to each other first; that is done at every width alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.loops import Loop, Loops, TripCount, affine_phi, trip_count
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import const_int
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import (
    BinaryOp,
    Branch,
    Call,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Store,
)
from ferrodiff.adcore.ir.types import ArrayType, FloatType, VectorType, i64
from ferrodiff.adcore.ir.values import Block, Function, uses
from ferrodiff.adcore.lanes import FLAGS
from ferrodiff.adcore.nodes import Nodes, members
from ferrodiff.adcore.session import Session

Users = dict[Value, list[Instruction]]

BUFFERS = 16384
"""Bytes of stack that a loop's buffers may take together: half of the smallest first-level cache in use."""
LONGEST, SHORTEST = 128, 16
"""Iterations of a strip, at most and at least; a loop whose sums leave room for less is not split."""
LEAST_WORK = 6.0
"""Instructions in a loop for each addition that its longest sum makes one after another. With fewer, the sum
alone takes the time of the loop, and there is nothing to win."""

VECTORISABLE = tuple(
    f"llvm.{name}."
    for name in (
        *("fabs", "sqrt", "fma", "fmuladd", "copysign", "minnum", "maxnum", "minimum", "maximum"),
        *("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven", "smin", "smax", "umin", "umax"),
        *("abs", "minimumnum", "maximumnum"),
    )
) + ("llvm.experimental.noalias.scope.decl", "llvm.assume")
"""Calls that LLVM's loop vectoriser turns into vector instructions, or passes over."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A header phi to which the loop only adds: the additions in order, and what each adds (`fsub`: takes off)."""

    phi: Phi
    links: tuple[BinaryOp, ...]
    addends: tuple[Value, ...]

    def merges(self, primal: frozenset[Value]) -> bool:
        """Whether the addends of one iteration may be added to each other first."""
        return len(self.links) > 1 and all(s not in primal and s.flags == FLAGS for s in self.links)


@dataclass(frozen=True, slots=True)
class Split:
    """A loop that can be split: one block, entered from `before`, left to `leave` after a known number of rounds."""

    body: Block
    before: Block
    leave: Block
    trip: TripCount
    sums: tuple[Sum, ...]


def split_sums(session: Session, function: Function, primal: frozenset[Value]) -> None:
    """Split every loop of a forward derivative where that pays; `primal` holds its copies of primal values."""
    layout = session.module.datalayout
    loops = Loops(Cfg(function))
    users: Users | None = None
    for loop in loops.loops:
        if loop.blocks != {loop.header} or not any(isinstance(p.type, FloatType) for p in loop.header.phis):
            continue
        users = users or uses(function)
        found = _split(loop, loops, users, layout)
        if found is not None and _pays(found):
            _Splitter(session, function, found, primal).run()


# -- finding -----------------------------------------------------------------------------------------------


def _split(loop: Loop, loops: Loops, users: Users, layout: DataLayout) -> Split | None:
    body = loop.header
    before = loops.preheader(loop)
    last = body.terminator
    exits = loops.exit_edges(loop, live_only=False)
    trip = trip_count(loop, loops, layout)
    if before is None or trip is None or len(exits) != 1 or not isinstance(last, Branch):
        return None
    if not all(_vectorises(insn) for insn in body.instructions[:-1]):
        return None
    sums = []
    for phi in body.phis:
        found = _sum(phi, body, users)
        if found is not None:
            sums.append(found)
        elif not (_steps(phi, loop, loops, layout) or _looks_back(phi, body)):
            return None
    return Split(body, before, exits[0][1], trip, tuple(sums)) if len(sums) > 1 else None


def _vectorises(insn: Instruction) -> bool:
    if isinstance(insn.type, VectorType) or any(isinstance(v.type, VectorType) for v in insn.operands):
        return False
    if isinstance(insn, Call):
        return insn.opcode == "call" and (insn.callee_name or "").startswith(VECTORISABLE)
    if isinstance(insn, (Load, Store)):
        return not insn.volatile and not insn.ordering
    return insn.opcode not in ("alloca", "atomicrmw", "cmpxchg", "fence", "frem", "va_arg")


def _sum(phi: Phi, body: Block, users: Users) -> Sum | None:
    """The sum a phi stands for: every link feeds the next one alone, the last one the phi."""
    if not isinstance(phi.type, FloatType):
        return None
    total = phi.operands[phi.incoming_blocks.index(body)]
    links: list[BinaryOp] = []
    addends: list[Value] = []
    at: Value = phi
    while at is not total:
        around = users.get(at, [])
        if len(around) != 1 or not isinstance(around[0], BinaryOp) or around[0].parent is not body:
            return None
        link = around[0]
        left, right = link.operands
        if link.opcode not in ("fadd", "fsub") or (link.opcode == "fsub" and left is not at):
            return None
        links.append(link)
        addends.append(right if left is at else left)
        at = link
    inside = [user for user in users.get(total, ()) if user.parent is body]
    return Sum(phi, tuple(links), tuple(addends)) if links and inside == [phi] else None


def _steps(phi: Phi, loop: Loop, loops: Loops, layout: DataLayout) -> bool:
    """Whether a phi is an induction variable."""
    if affine_phi(phi, loop, loops, layout) is not None:
        return True
    update = phi.operands[phi.incoming_blocks.index(loop.header)]
    if isinstance(update, GetElementPtr):
        return update.base is phi and all(loops.is_invariant(v, loop) for v in update.operands[1:])
    if isinstance(update, BinaryOp) and update.opcode == "add" and phi in update.operands:
        return all(v is phi or loops.is_invariant(v, loop) for v in update.operands)
    return False


def _looks_back(phi: Phi, body: Block) -> bool:
    """Whether a phi only carries a value of this round to the next."""
    work = [phi.operands[phi.incoming_blocks.index(body)]]
    if not isinstance(work[0], Load):
        return False
    seen: set[Value] = set()
    while work:
        value = work.pop()
        if value is phi:
            return False
        if isinstance(value, Instruction) and value.parent is body and value not in seen:
            seen.add(value)
            work.extend(value.operands)
    return True


def _pays(split: Split) -> bool:
    """Whether the loop takes longer than its longest sum, and the buffers fit."""
    longest = max(len(each.links) for each in split.sums)
    return len(split.body.instructions) >= LEAST_WORK * longest


# -- splitting ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Slot:
    """An addend on its way from one loop to the other."""

    opcode: str
    flags: tuple[str, ...]
    value: Value
    buffer: Value


class _Splitter:
    """Rewrites one loop.

    before -> strip -> body (once round per iteration of the strip) -> add (as often) -> after -> strip or leave
    """

    def __init__(self, session: Session, function: Function, split: Split, primal: frozenset[Value]) -> None:
        self.session = session
        self.split = split
        self.primal = primal
        self.layout = session.module.datalayout
        nodes = Nodes(session)
        domain = nodes.add('!"addends"', distinct=True)
        self.buffers = nodes.add(nodes.add(f'{domain}, !"buffer"', distinct=True))
        self.builder = Builder(function)
        self.function = function
        self.strip = function.add_block("strip", after=split.before)
        self.add = function.add_block("add", after=split.body)
        self.after = function.add_block("after", after=self.add)

    def run(self) -> None:
        """Rewrites the function."""
        split, b = self.split, self.builder
        assert split.before.terminator is not None
        self._separate()
        b.position_before(split.before.terminator)
        start, bound = split.trip.inputs()
        rounds = b.add(split.trip.emit(b, start, bound), 1, name="rounds")
        slots = self._addends()
        length = self._length(slots)
        slots = [[_Slot(s.opcode, s.flags, s.value, self._buffer(s, length)) for s in each] for each in slots]

        b.position(self.strip)
        carried = {phi: b.phi(phi.type, name=phi.name or "phi") for phi in split.body.phis}
        left = b.phi(i64, name="left")
        short = b.icmp("ult", left, length)
        count = b.select(short, left, const_int(i64, length), name="count")
        b.br(split.body)
        self._enter(carried)
        self._store(slots, count)
        totals = self._add_up(slots, count, carried)
        self._continue(carried, left, count, rounds, totals)
        self._leave(totals)

    def _separate(self) -> None:
        """Tell LLVM that the loop's own accesses are not to the buffers: it cannot see through nested phis."""
        nodes, known = Nodes(self.session), members(self.session, self.buffers)
        made: dict[str | None, str] = {}
        for insn in self.split.body.instructions:
            if isinstance(insn, (Load, Store)):
                old = insn.metadata.get("noalias")
                if old not in made:
                    made[old] = nodes.add(", ".join([*members(self.session, old), *known]))
                insn.metadata["noalias"] = made[old]

    def _addends(self) -> list[list[_Slot]]:
        """What each sum adds in a round; merged into one where that is allowed."""
        b, last = self.builder, self.split.body.terminator
        assert last is not None
        b.position_before(last)
        found = []
        for each in self.split.sums:
            pairs = list(zip(each.links, each.addends, strict=True))
            if each.merges(self.primal):
                link, value = pairs[0]
                total = b.fneg(value, FLAGS) if link.opcode == "fsub" else value
                for link, value in pairs[1:]:
                    total = b.binary(link.opcode, total, value, FLAGS)
                found.append([_Slot("fadd", FLAGS, total, total)])
            else:
                found.append([_Slot(link.opcode, link.flags, value, value) for link, value in pairs])
        return found

    def _length(self, slots: Iterable[list[_Slot]]) -> int:
        """Iterations of a strip, a multiple of 16."""
        each = sum(self.layout.size_of(slot.value.type) for group in slots for slot in group)
        return max(SHORTEST, min(LONGEST, BUFFERS // each // 16 * 16))

    def _buffer(self, slot: _Slot, length: int) -> Value:
        return self.builder.entry_alloca(ArrayType(length, slot.value.type), 64, "addends")

    def _enter(self, carried: dict[Phi, Phi]) -> None:
        """The body's phis begin with the strip's; the sums' go."""
        sums = {each.phi for each in self.split.sums}
        for phi, outer in carried.items():
            at = phi.incoming_blocks.index(self.split.before)
            outer.add_incoming(phi.operands[at], self.split.before)
            if phi not in sums:
                phi.operands[at] = outer
                phi.incoming_blocks[at] = self.strip

    def _store(self, slots: list[list[_Slot]], count: Value) -> None:
        body, b = self.split.body, self.builder
        last = body.terminator
        assert last is not None
        index = Phi(i64, name=self.function.fresh_name("index"))
        body.insert_before(body.instructions[0], index)
        b.position_before(last)
        for slot in (slot for group in slots for slot in group):
            store = b.store(slot.value, b.gep(slot.value.type, slot.buffer, index, flags=("inbounds",)))
            store.metadata["alias.scope"] = self.buffers
        following = b.add(index, 1, ("nuw", "nsw"))
        index.add_incoming(const_int(i64, 0), self.strip)
        index.add_incoming(following, body)
        more = b.icmp("ult", following, count)
        gone = {each.phi for each in self.split.sums} | {link for s in self.split.sums for link in s.links}
        metadata = dict(last.metadata)
        body.remove(last)
        for insn in gone:
            body.remove(insn)
        b.position(body)
        b.cond_br(more, body, self.add).metadata.update(metadata)

    def _add_up(self, slots: list[list[_Slot]], count: Value, carried: dict[Phi, Phi]) -> dict[Value, Value]:
        """The loop that adds; gives each sum's old last link and its new one."""
        b = self.builder
        b.position(self.add)
        index = b.phi(i64, [(const_int(i64, 0), self.split.body)], "index")
        running = [b.phi(s.phi.type, [(carried[s.phi], self.split.body)], "sum") for s in self.split.sums]
        totals: dict[Value, Value] = {}
        for each, start, group in zip(self.split.sums, running, slots, strict=True):
            total: Value = start
            for slot in group:
                place = b.gep(slot.value.type, slot.buffer, index, flags=("inbounds",))
                total = b.binary(slot.opcode, total, b.load(slot.value.type, place), slot.flags)
            start.add_incoming(total, self.add)
            totals[each.links[-1]] = total
        following = b.add(index, 1, ("nuw", "nsw"))
        index.add_incoming(following, self.add)
        b.cond_br(b.icmp("ult", following, count), self.add, self.after)
        return totals

    def _continue(
        self, carried: dict[Phi, Phi], left: Phi, count: Value, rounds: Value, totals: dict[Value, Value]
    ) -> None:
        b = self.builder
        b.position(self.after)
        rest = b.sub(left, count)
        left.add_incoming(rounds, self.split.before)
        left.add_incoming(rest, self.after)
        for phi, outer in carried.items():
            following = phi.operands[phi.incoming_blocks.index(self.split.body)]
            outer.add_incoming(totals.get(following, following), self.after)
        b.cond_br(b.icmp("eq", rest, 0), self.split.leave, self.strip)

    def _leave(self, totals: dict[Value, Value]) -> None:
        """The entry goes to the strips; everything behind the loop sees the new sums."""
        assert self.split.before.terminator is not None
        body, strip, after = self.split.body, self.strip, self.after
        self.split.before.terminator.map_blocks(lambda block: strip if block is body else block)
        for phi in self.split.leave.phis:
            phi.incoming_blocks[:] = [after if block is body else block for block in phi.incoming_blocks]
        for block in self.function.blocks:
            if block not in (body, self.add, self.after, self.strip):
                for insn in block.instructions:
                    insn.map_inputs(lambda value: totals.get(value, value))
