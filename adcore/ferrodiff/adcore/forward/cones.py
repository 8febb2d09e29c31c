"""Local preaccumulation: one multiply-add per input and lane, instead of one per operation and lane.

Within a block, a *cone* is a float value (the root) and the operations that feed nothing but it. Its tangent
is a linear form in the tangents of its leaves, whose coefficients are computed once, on scalars; each lane
then costs one multiply-add per leaf: `operations + N * leaves` instead of `N * operations` (statement-level
preaccumulation; Griewank and Walther, *Evaluating Derivatives*, 2nd ed., section 10.2). Whether that is done
does not depend on N, so each lane of a batch is computed as a single tangent is.

A cone with one leaf is swept forwards, with the leaf's tangent 1: every convention (strong zero above all)
holds as it does operation by operation. One with several leaves is swept backwards, and only if no partial in
it can be infinite: zero times infinity would come out differently in that order. A cone that does not pay is
cut where all paths pass one value, or made smaller by its end: of `s + g(x)` remains `g(x)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from ferrodiff.adcore.facts.callees import Callee
from ferrodiff.adcore.forward import scalars
from ferrodiff.adcore.forward.context import Context
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import const_float
from ferrodiff.adcore.ir.instructions import Call, Instruction
from ferrodiff.adcore.ir.types import FloatType
from ferrodiff.adcore.ir.values import Block
from ferrodiff.adcore.lanes import Lanes, Tangent
from ferrodiff.adcore.rules.partial import Partial, Scale, Unit
from ferrodiff.adcore.rules.rule import PartialRow, Rule, Signed, Site, Times
from ferrodiff.adcore.rules.table import BY_OPCODE, rule_for_call

ARITHMETIC = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem", "fneg"})
BLIND = frozenset({"fcmp", "fptosi", "fptoui"})
"""Users of a float that never ask for its tangent."""

LEAST_GAIN = 2.0
"""A cone is preaccumulated if that divides the cost of each further lane by at least this much."""
MOST_OVERHEAD = 1.35
"""... and does not multiply the cost of a single lane by more than this."""
MOST_CUTS = 8
"""How often a cone is made smaller by its end; after that, only what has one leaf is looked at."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An active operand of a member: its index, whether its partial is more than a sign, and whether the
    partial may be infinite or a choice."""

    operand: int
    scaled: bool
    wild: bool


@dataclass(slots=True)
class Cone:
    """`members` in program order, the root last."""

    root: Instruction
    members: list[Instruction] = field(default_factory=list)


class Cones:
    """The cones of one block that are worth it."""

    def __init__(self, ctx: Context, block: Block) -> None:
        self.ctx = ctx
        self.edges: dict[Instruction, tuple[Edge, ...]] = {}
        for insn in block.instructions:
            found = self._edges_of(insn)
            if found:
                self.edges[insn] = found
        self.roots: dict[Instruction, Cone] = {}
        self.inner: set[Instruction] = set()
        work = [(cone, 0) for cone in self._grouped(list(self.edges))]
        while work:
            cone, depth = work.pop()
            self._peel(cone)
            if self._pays(cone):
                self.roots[cone.root] = cone
                self.inner.update(cone.members[:-1])
            else:
                work.extend((part, depth + 1) for part in self._parts(cone, depth))

    # -- finding ---------------------------------------------------------------------------------------------

    def _edges_of(self, insn: Instruction) -> tuple[Edge, ...]:
        """The active operands of an operation that can be in a cone; empty for all others."""
        ctx = self.ctx
        if not isinstance(insn.type, FloatType) or not ctx.is_active(insn):
            return ()
        if insn.opcode == "select":
            return tuple(Edge(k, True, True) for k in (1, 2) if ctx.is_active(insn.operands[k]))
        rule = self.rule(insn)
        if rule is None or rule.fields or rule.writes:
            return ()
        if rule.choice is not None:
            return tuple(Edge(k, True, True) for k in rule.choices if ctx.is_active(insn.operands[k]))
        pairs = enumerate(zip(rule.partials, insn.operands, strict=False))
        return tuple(
            Edge(k, not isinstance(row, Signed), _is_wild(row))
            for k, (row, operand) in pairs
            if row is not None and operand.type == insn.type and ctx.is_active(operand)
        )

    def rule(self, insn: Instruction) -> Rule | None:
        """The rule of an operation with one float result."""
        if insn.opcode in ARITHMETIC:
            return BY_OPCODE[insn.opcode]
        if isinstance(insn, Call) and self.ctx.analysis.callee_kind(insn) is Callee.RULE:
            return rule_for_call(insn.callee_name or "", insn.function_type)
        return None

    def _grouped(self, members: Sequence[Instruction]) -> list[Cone]:
        """Every operation belongs to the cone of its one consumer among `members`, or starts one of its own."""
        of: dict[Instruction, Cone] = {}
        for insn in reversed(members):
            owners = {id(c): c for c in self._consumers(insn, of)}
            cone = next(iter(owners.values())) if len(owners) == 1 else None
            of[insn] = cone or Cone(insn)
            of[insn].members.append(insn)
        cones = list({id(c): c for c in of.values()}.values())
        for cone in cones:
            cone.members.reverse()
        return cones

    def _consumers(self, insn: Instruction, of: dict[Instruction, Cone]) -> Iterator[Cone]:
        """The cones that use a value's tangent; a fresh one stands for any use outside of cones."""
        for user in self.ctx.uses.get(insn, ()):
            if user in of and self._reads(user, insn):
                yield of[user]
            elif user.opcode not in BLIND:
                yield Cone(insn)

    def _reads(self, user: Instruction, insn: Instruction) -> bool:
        """Whether every use of `insn` by `user` is one of the user's edges."""
        active = {edge.operand for edge in self.edges[user]}
        return all(k in active for k, operand in enumerate(user.operands) if operand is insn)

    def _peel(self, cone: Cone) -> None:
        """Leave sums of leaves out where that leaves no more of them: adding tangents first saves products."""
        members = set(cone.members)
        count = Counter(v for insn in cone.members for v in self._sources(insn))
        for insn in cone.members[:-1]:
            sources = Counter(self._sources(insn))
            if self._adds(insn) and not members & sources.keys():
                gone = [v for v, uses in sources.items() if count[v] == uses]
                if gone:
                    count.subtract(sources)
                    members.remove(insn)
        cone.members = [insn for insn in cone.members if insn in members]

    def _parts(self, cone: Cone, depth: int) -> list[Cone]:
        """A cone that does not pay, in smaller pieces: cut where all paths pass one value, or without its end."""
        if len(cone.members) == 1 or len(self._leaves(cone)) == 1:
            return []
        cut = self._narrowest(cone)
        if cut is not None:
            below = cone.members[:cut]
            return [Cone(cone.root, cone.members[cut:]), Cone(below[-1], below)]
        of_many = self._of_many(cone)
        ending = self._ending(cone, of_many) if depth < MOST_CUTS else of_many
        return self._grouped([insn for insn in cone.members if insn not in ending])

    def _narrowest(self, cone: Cone) -> int | None:
        """Where to cut a cone: before the deepest value that every path from its leaves to its root passes."""
        frontier: set[Value] = {cone.root}
        members = set(cone.members)
        cut: int | None = None
        for place in range(len(cone.members) - 1, -1, -1):
            insn = cone.members[place]
            frontier.discard(insn)
            frontier.update(self._sources(insn))
            if len(frontier) == 1 and next(iter(frontier)) in members:
                cut = place
        return cut

    def _of_many(self, cone: Cone) -> set[Instruction]:
        """The members with more than one leaf under them."""
        bits: dict[Value, int] = {leaf: 1 << k for k, leaf in enumerate(self._leaves(cone))}
        for insn in cone.members:
            bits[insn] = reduce(or_, (bits[v] for v in self._sources(insn)))
        return {insn for insn in cone.members if bits[insn].bit_count() > 1}

    def _ending(self, cone: Cone, of_many: set[Instruction]) -> set[Instruction]:
        """The root and, if it adds up, the additions under it; what has only one leaf under it stays whole."""
        ending = {cone.root}
        for insn in reversed(cone.members):
            if insn in ending and self._adds(insn):
                ending.update(v for v in of_many.intersection(self._sources(insn)) if self._adds(v))
        return ending

    def _adds(self, insn: Instruction) -> bool:
        """Whether tangents pass an operation with no factor."""
        return all(not edge.scaled for edge in self.edges[insn])

    def _sources(self, insn: Instruction) -> Iterator[Value]:
        return (insn.operands[edge.operand] for edge in self.edges[insn])

    def _leaves(self, cone: Cone) -> list[Value]:
        members = set(cone.members)
        found = dict.fromkeys(v for insn in cone.members for v in self._sources(insn) if v not in members)
        return list(found)

    def _pays(self, cone: Cone) -> bool:
        if len(cone.members) == 1:
            return False
        members = set(cone.members)
        leaves = self._leaves(cone)
        wild = any(edge.wild for insn in cone.members for edge in self.edges[insn])
        if len(leaves) > 1 and wild:
            return False
        direct = scalar = 0
        for insn in cone.members:
            edges = self.edges[insn]
            products = sum(e.scaled for e in edges)
            direct += products + len(edges) - 1
            scalar += products + sum(v in members for v in self._sources(insn)) - 1
        if len(leaves) == 1:
            scalar = direct
        each = 2 * len(leaves) - 1 + 2 * wild
        return direct >= LEAST_GAIN * each and scalar + each <= MOST_OVERHEAD * direct

    # -- emitting --------------------------------------------------------------------------------------------

    def tangent(self, root: Instruction) -> Tangent | None:
        """The root's tangent, at the builder's place; None where it is zero."""
        cone = self.roots[root]
        leaves = self._leaves(cone)
        if len(leaves) == 1:
            return self._along_one_leaf(cone, leaves[0])
        coefficients = Backwards(self.ctx, self, cone).run()
        total: Tangent | None = None
        # Products first: what only adds up stays an addition, as loops that sum up want it.
        for leaf, coefficient in sorted(coefficients.items(), key=lambda pair: isinstance(pair[1], int)):
            tangent = self.ctx.tangent(leaf)
            if tangent is not None:
                total = self.ctx.lanes.accumulate(total, _partial(coefficient), tangent)
        return total

    def _along_one_leaf(self, cone: Cone, leaf: Value) -> Tangent | None:
        """Sweeps forwards on scalars with the leaf's tangent 1, then scales each lane."""
        tangent = self.ctx.tangent(leaf)
        if tangent is None:
            return None
        inside = Inside(self.ctx, leaf)
        for insn in cone.members:
            inside.step(insn, self.rule(insn))
        found = inside.tangent(cone.root)
        if found is None:
            return None
        wild = any(edge.wild for insn in cone.members for edge in self.edges[insn])
        return self.ctx.lanes.apply(Scale(found[0], nonfinite=wild), tangent)


def _is_wild(row: PartialRow) -> bool:
    return not (isinstance(row, Signed) or (isinstance(row, Times) and not row.singular))


class Inside:
    """A cone's own scalar tangents with respect to its leaf; what `scalars.by_rule` needs of a context."""

    def __init__(self, ctx: Context, leaf: Value) -> None:
        self.ctx = ctx
        self.builder = ctx.builder
        self.prim = ctx.prim
        self.lanes = Lanes(ctx.builder, 1, "scalar")
        self.found: dict[Value, Tangent | None] = {leaf: (const_float(leaf.type, 1.0),)}

    def tangent(self, value: Value) -> Tangent | None:
        """The tangent of a value of the cone; None where it is zero."""
        return self.found.get(value)

    def step(self, insn: Instruction, rule: Rule | None) -> None:
        """One member's tangent."""
        if rule is not None:
            self.found[insn] = scalars.by_rule(self, rule, insn, self.prim(insn))
            return
        condition, yes, no = insn.operands
        nothing = self.lanes.zero(insn.type)
        self.found[insn] = self.lanes.select(
            self.prim(condition), self.tangent(yes) or nothing, self.tangent(no) or nothing
        )


Coefficient = int | Value
"""What a value's tangent is multiplied with in the root's: +1, -1, or a value."""


def _partial(coefficient: Coefficient) -> Partial:
    return Unit(coefficient) if isinstance(coefficient, int) else Scale(coefficient)


class Backwards:
    """The coefficients of a cone with several leaves, from the root down."""

    def __init__(self, ctx: Context, cones: Cones, cone: Cone) -> None:
        self.ctx = ctx
        self.cones = cones
        self.cone = cone
        self.found: dict[Value, Coefficient] = {cone.root: 1}

    def run(self) -> dict[Value, Coefficient]:
        """Leaf to coefficient."""
        for insn in reversed(self.cone.members):
            arrived = self.found.pop(insn, None)
            if arrived is not None:
                self._spread(insn, arrived)
        return self.found

    def _spread(self, insn: Instruction, arrived: Coefficient) -> None:
        """Pass a member's coefficient on to its operands."""
        ctx = self.ctx
        rule = self.cones.rule(insn)
        assert rule is not None
        site = Site(ctx.builder, [ctx.prim(v) for v in insn.operands], ctx.prim(insn))
        for edge in self.cones.edges[insn]:
            row = rule.partials[edge.operand]
            assert row is not None
            self._add(insn.operands[edge.operand], self._times(arrived, row(site)))

    def _times(self, arrived: Coefficient, partial: Partial) -> Coefficient:
        """The coefficient after one more factor."""
        builder = self.ctx.builder
        if isinstance(partial, Unit):
            if isinstance(arrived, int):
                return arrived * partial.sign
            return arrived if partial.sign > 0 else builder.fneg(arrived)
        assert isinstance(partial, Scale)
        if isinstance(arrived, int):
            return partial.value if arrived > 0 else builder.fneg(partial.value)
        return builder.fmul(arrived, partial.value)

    def _add(self, target: Value, more: Coefficient) -> None:
        old = self.found.get(target)
        if old is None:
            self.found[target] = more
            return
        left, right = (const_float(target.type, c) if isinstance(c, int) else c for c in (old, more))
        self.found[target] = self.ctx.builder.fadd(left, right)
