"""Loops that sum up in a fixed order are split, so that all but the primal's sums is vectorised.

A strict floating-point sum (`s += f(i)`) keeps LLVM from vectorising its loop. So the loop runs in strips:
first what the primal's sums add in a strip goes to a buffer on the stack, in a loop that LLVM vectorises; then a
second loop adds it up, in the order it always had (loop fission with strip mining; Allen and Kennedy,
*Optimizing Compilers for Modern Architectures*, chapter 5). The primal's sums stay bit for bit what they are.

A tangent's sum stays in the first loop as four (in single precision eight) partial sums. Their number and the
length of a strip depend on nothing else, so each lane of a batch is summed as a single tangent is. Where a
batch has too many, the strip is gone through once per group of them (`groups`). Few iterations go through the
loop as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.loops import Loop, Loops, TripCount, affine_phi, trip_count
from ferrodiff.adcore.forward.groups import lane_groups, sums_at_once
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
from ferrodiff.adcore.ir.types import ArrayType, FloatType, VectorType, f32, i64
from ferrodiff.adcore.ir.values import Block, Function, uses
from ferrodiff.adcore.nodes import Nodes, members
from ferrodiff.adcore.session import Session

Users = dict[Value, list[Instruction]]

STRIP = 128
"""Iterations of a strip."""
FEWEST = 16
"""Iterations for which strips are worth their beginning and end."""
SUMMED = ("reassoc",)
"""Flags of a tangent's sum."""

_ELEMENTWISE = (
    *("fabs", "sqrt", "fma", "fmuladd", "copysign", "minnum", "maxnum", "minimum", "maximum", "minimumnum"),
    *(
        "maximumnum",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "nearbyint",
        "round",
        "roundeven",
        "smin",
        "smax",
        "umin",
    ),
    *("umax", "abs"),
)
VECTORISABLE = (
    *(f"llvm.{name}." for name in _ELEMENTWISE),
    "llvm.experimental.noalias.scope.decl",
    "llvm.assume",
)
"""Calls that LLVM's loop vectoriser turns into vector instructions, or passes over."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A header phi to which the loop only adds: the additions in order, and what each adds (`fsub`: takes off)."""

    phi: Phi
    links: tuple[BinaryOp, ...]
    addends: tuple[Value, ...]

    def is_tangent(self, primal: frozenset[Value]) -> bool:
        """Whether the order of the additions is free."""
        return all(link not in primal and not link.flags for link in self.links)


@dataclass(frozen=True, slots=True)
class Split:
    """A loop that can be split: one block, entered from `before`, left to `leave` after a known number of rounds."""

    body: Block
    before: Block
    leave: Block
    trip: TripCount
    sums: tuple[Sum, ...]


def split_sums(
    session: Session, function: Function, primal: frozenset[Value], width: int
) -> frozenset[Value]:
    """Split every loop of a forward derivative of `width` lanes where that pays.

    `primal` holds its copies of primal values; the same with those of the new loops is returned.
    """
    copies: set[Value] = set()
    layout = session.module.datalayout
    loops = Loops(Cfg(function))
    users: Users | None = None
    for loop in loops.loops:
        if loop.blocks != {loop.header} or not any(isinstance(p.type, FloatType) for p in loop.header.phis):
            continue
        users = users or uses(function)
        found = _split(loop, loops, users, layout)
        if found is not None:
            copies |= _Splitter(session, function, found, primal, width).run()
    return primal | copies


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
    leave = exits[0][1]
    if not sums or not all(_leaves_by_phi(insn, body, leave, users) for insn in body.instructions):
        return None
    return Split(body, before, leave, trip, tuple(sums))


def _leaves_by_phi(insn: Instruction, body: Block, leave: Block, users: Users) -> bool:
    """Whether a value is used outside its loop by phis of the loop's exit alone (loop-closed SSA form)."""
    outside = [user for user in users.get(insn, ()) if user.parent is not body]
    return all(isinstance(user, Phi) and user.parent is leave for user in outside)


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


# -- splitting ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Body:
    """One of the loops over a strip: its block, the sums it makes, and its copies of the old loop's values."""

    block: Block
    sums: list[Sum]
    copies: dict[Value, Value] = field(default_factory=dict)

    def copy(self, value: Value) -> Value:
        """A value of the old loop in this one; a value from outside is itself."""
        return self.copies.get(value, value)

    def own(self) -> Iterator[tuple[Value, Value]]:
        """The copies of the sums it makes."""
        for each in self.sums:
            yield from ((v, self.copies[v]) for v in (each.phi, *each.links))


class _Splitter:
    """Puts strips beside one loop.

    before -> the old loop, for few iterations
    before -> strip -> body (once round per iteration of the strip; one for each group of tangents' sums)
           -> add (as often) -> after -> strip or leave
    """

    def __init__(
        self, session: Session, function: Function, split: Split, primal: frozenset[Value], width: int
    ) -> None:
        self.session = session
        self.split = split
        self.primal = primal
        self.builder = Builder(function)
        self.function = function
        self.strict = [each for each in split.sums if not each.is_tangent(primal)]
        free = [each for each in split.sums if each.is_tangent(primal)]
        at_once = sums_at_once(session.module, function)
        groups = lane_groups([each.addends for each in free], width, split.body, at_once)
        self.strip = function.add_block("strip", after=split.before)
        self.bodies: list[_Body] = []
        for group in groups:
            last = self.bodies[-1].block if self.bodies else split.body
            self.bodies.append(_Body(function.add_block("body", after=last), [free[k] for k in group]))
        self.add = function.add_block("add", after=self.bodies[-1].block)
        self.after = function.add_block("after", after=self.add)
        self.copies: dict[Value, Value] = {}
        self.nodes = Nodes(session)
        domain = self.nodes.add('!"addends"', distinct=True)
        self.scope = self.nodes.add(self.nodes.add(f'{domain}, !"buffer"', distinct=True))

    def run(self) -> set[Value]:
        """Rewrites the function; returns the new copies of primal values."""
        b, split = self.builder, self.split
        rounds = self._enter()
        carried = {phi: b.phi(phi.type, name=phi.name or "phi") for phi in split.body.phis}
        left = b.phi(i64, [(rounds, split.before)], "left")
        self._carry(carried)
        buffers = {
            link: b.entry_alloca(ArrayType(STRIP, link.type), 64, "addends")
            for each in self.strict
            for link in each.links
        }
        b.position(self.strip)
        count = b.select(b.icmp("ult", left, STRIP), left, const_int(i64, STRIP), name="count")
        b.br(self.bodies[0].block)
        exits = [*(body.block for body in self.bodies[1:]), self.add]
        entries = [self.strip, *(body.block for body in self.bodies)]
        for body, entry, following in zip(self.bodies, entries, exits, strict=False):
            self._copy_body(body, carried, entry)
            self._finish_body(body, buffers if entry is self.strip else {}, count, entry, following)
        for body in reversed(self.bodies):
            self.copies.update(body.copies)
        self.copies.update(pair for body in self.bodies for pair in body.own())
        added = self._add_up(carried, buffers, count)
        self._continue(carried, left, count)
        return {new for b in self.bodies for old, new in b.copies.items() if old in self.primal} | added

    def _copy(self, value: Value) -> Value:
        return self.copies.get(value, value)

    def _enter(self) -> Value:
        """The number of iterations decides which way they go; gives that number."""
        b, split = self.builder, self.split
        last = split.before.terminator
        assert last is not None
        b.position_before(last)
        start, bound = split.trip.inputs()
        rounds = b.add(split.trip.emit(b, start, bound), 1, name="rounds")
        few = b.icmp("ult", rounds, FEWEST)
        split.before.remove(last)
        b.position(split.before).cond_br(few, split.body, self.strip).metadata.update(_place(last))
        b.position(self.strip)
        return rounds

    def _carry(self, carried: dict[Phi, Phi]) -> None:
        """The first strip begins where the loop did."""
        for phi, outer in carried.items():
            outer.add_incoming(phi.value_from(self.split.before), self.split.before)

    def _copy_body(self, body: _Body, carried: dict[Phi, Phi], entry: Block) -> None:
        """The loop once more, with some of its sums; it begins where the strip does."""
        split = self.split
        gone = {i for each in split.sums if each not in body.sums for i in (each.phi, *each.links)}
        kept = [insn for insn in split.body.instructions[:-1] if insn not in gone]
        body.copies = {old: old.copy() for old in kept}
        for old, new in body.copies.items():
            assert isinstance(old, Instruction) and isinstance(new, Instruction)
            new.name = None if old.name is None else self.function.fresh_name(old.name)
            body.block.append(new)
            new.map_inputs(body.copy)
            new.metadata = dict(old.metadata)
            if isinstance(old, Phi) and isinstance(new, Phi):
                new.operands = [carried[old], body.copy(old.value_from(split.body))]
                new.incoming_blocks = [entry, body.block]
        for each in body.sums:
            for link in each.links:
                copy = body.copies[link]
                assert isinstance(copy, BinaryOp)
                copy.flags = SUMMED
        self._separate(body.block)

    def _separate(self, body: Block) -> None:
        """Tell LLVM that the loop's own accesses are not to the buffers: it cannot see through nested phis."""
        scopes = members(self.session, self.scope)
        made: dict[str | None, str] = {}
        for insn in body.instructions:
            if isinstance(insn, (Load, Store)):
                old = insn.metadata.get("noalias")
                if old not in made:
                    made[old] = self.nodes.add(", ".join([*members(self.session, old), *scopes]))
                insn.metadata["noalias"] = made[old]

    def _finish_body(
        self, made: _Body, buffers: dict[BinaryOp, Value], count: Value, entry: Block, following: Block
    ) -> None:
        """A body ends with the strip; the first one puts the addends of strict sums into their buffers."""
        body, b = made.block, self.builder
        old = self.split.body.terminator
        assert old is not None
        index = Phi(i64, name=self.function.fresh_name("index"))
        body.insert_before(body.instructions[0], index)
        b.position(body)
        for each in self.strict if buffers else ():
            for link, addend in zip(each.links, each.addends, strict=True):
                place = b.gep(link.type, buffers[link], index, flags=("inbounds",))
                b.store(made.copy(addend), place).metadata["alias.scope"] = self.scope
        after = b.add(index, 1, ("nuw", "nsw"))
        index.add_incoming(const_int(i64, 0), entry)
        index.add_incoming(after, body)
        branch = b.cond_br(b.icmp("ult", after, count), body, following)
        branch.metadata.update(_place(old), **{"llvm.loop": self._partial_sums()})

    def _partial_sums(self) -> str:
        """A node that tells LLVM's vectoriser how many partial sums to take."""
        single = all(each.phi.type is f32 for each in self.split.sums)
        hints = (
            f'!"llvm.loop.vectorize.width", i32 {8 if single else 4}',
            '!"llvm.loop.interleave.count", i32 1',
        )
        return self.nodes.add(", ".join(self.nodes.add(hint) for hint in hints), distinct=True)

    def _add_up(self, carried: dict[Phi, Phi], buffers: dict[BinaryOp, Value], count: Value) -> set[Value]:
        """The loop that adds up a strip, link by link as the loop did; returns its additions."""
        added: set[Value] = set()
        b = self.builder
        b.position(self.add)
        index = b.phi(i64, [(const_int(i64, 0), self.bodies[-1].block)], "index")
        sums = [
            b.phi(each.phi.type, [(carried[each.phi], self.bodies[-1].block)], "sum") for each in self.strict
        ]
        for each, phi in zip(self.strict, sums, strict=True):
            total: Value = phi
            for link in each.links:
                addend = b.load(link.type, b.gep(link.type, buffers[link], index, flags=("inbounds",)))
                total = b.binary(link.opcode, total, addend, link.flags)
                added.add(total)
            phi.add_incoming(total, self.add)
            self.copies[each.links[-1]] = total
        following = b.add(index, 1, ("nuw", "nsw"))
        index.add_incoming(following, self.add)
        b.cond_br(b.icmp("ult", following, count), self.add, self.after)
        return added

    def _continue(self, carried: dict[Phi, Phi], left: Phi, count: Value) -> None:
        """The next strip, or out of the loop with what it has computed."""
        b, split = self.builder, self.split
        b.position(self.after)
        rest = b.sub(left, count)
        left.add_incoming(rest, self.after)
        for phi, outer in carried.items():
            outer.add_incoming(self._copy(phi.value_from(split.body)), self.after)
        b.cond_br(b.icmp("eq", rest, 0), split.leave, self.strip)
        for phi in split.leave.phis:
            phi.add_incoming(self._copy(phi.value_from(split.body)), self.after)


def _place(insn: Instruction) -> dict[str, str]:
    """The source line of an instruction, for those that stand in its place."""
    return {kind: node for kind, node in insn.metadata.items() if kind == "dbg"}
