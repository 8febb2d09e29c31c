"""The reverse sweep: every live block of the primal run backwards, along the path that was taken."""

from __future__ import annotations

from dataclasses import replace

from ferrodiff.adcore.ir.base import LocalValue, Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import ConstInt, const_int, zero
from ferrodiff.adcore.ir.instructions import Branch, Call, Instruction, Phi, Return
from ferrodiff.adcore.ir.types import IntType, VectorType, i8, i64, is_float_like
from ferrodiff.adcore.ir.values import Block
from ferrodiff.adcore.lanes import Lanes, Tangent
from ferrodiff.adcore.reverse.activity import Activity, Path, bit_demand, leaf_type
from ferrodiff.adcore.reverse.adjoints import Adjoints
from ferrodiff.adcore.reverse.augment import Augmented
from ferrodiff.adcore.reverse.memory import MemorySweep
from ferrodiff.adcore.reverse.prepare import LoopPlan, Shape
from ferrodiff.adcore.reverse.recall import Recall
from ferrodiff.adcore.reverse.tape import Tape
from ferrodiff.adcore.reverse.windows import Window
from ferrodiff.adcore.rules.partial import (
    CastPartial,
    LaneDot,
    LanePick,
    LaneSum,
    NoDerivative,
    Partial,
    Pick,
    Scale,
    Unit,
)
from ferrodiff.adcore.rules.rule import PartialRow, Rule, Site
from ferrodiff.adcore.rules.table import rule_for_instruction
from ferrodiff.adcore.session import Session

Seeds = dict[Path, Tangent]


class Sweep:
    """Emits the reverse blocks of one function. ``blocks`` maps primal blocks to them."""

    def __init__(
        self,
        session: Session,
        shape: Shape,
        activity: Activity,
        augmented: Augmented,
        recall: Recall,
        tape: Tape,
        adjoints: Adjoints,
        lanes: Lanes,
        seeds: Seeds,
        memory: MemorySweep,
    ) -> None:
        self.session = session
        self.shape = shape
        self.activity = activity
        self.augmented = augmented
        self.recall = recall
        self.tape = tape
        self.adjoints = adjoints
        self.lanes = lanes
        self.builder: Builder = lanes.builder
        self.seeds = seeds
        self.memory = memory
        self.blocks: dict[Block, Block] = {}
        self.windows: list[Window] = []
        self.entries: dict[LoopPlan, list[Block]] = {}
        """Where runs of a loop begin in the reverse sweep."""

    def run(self, start: Block, finish: Block) -> None:
        """Emit everything: ``start`` ends with a branch to the sweep, which ends at ``finish``."""
        cfg = self.shape.cfg
        live = [b for b in reversed(cfg.order) if b in cfg.live]
        for block in live:
            pad = next((i for i in block if i.opcode == "landingpad"), None)
            if pad is not None:
                raise self.session.refuse(
                    "a panic is caught and the function goes on",
                    pad,
                    "move `catch_unwind` to the caller of the derivative, or check beforehand what would panic",
                )
            self.blocks[block] = self.builder.new_block(f"back.{block.name}")
        self.builder.position(start)
        assert self.shape.last is not None
        self.builder.br(self.blocks[self.shape.last])
        for block in live:
            self._block(block, finish)

    # -- control -------------------------------------------------------------------------------------------

    def _block(self, block: Block, finish: Block) -> None:
        self.builder.position(self.blocks[block])
        self.recall.enter(block)
        self.adjoints.enter(block)
        for insn in reversed(self.augmented.primal[block]):
            if isinstance(insn, Phi):
                break
            self._instruction(insn)
        self.memory.finish_block()
        moved: list[tuple[Phi, Path, Tangent]] = [
            (phi, path, taken)
            for phi in block.phis
            if self.activity.has_adjoint(phi)
            for path in self.activity.leaves(phi)
            if (taken := self.adjoints.take(phi, path)) is not None
        ]
        moved.extend(
            (window.carrier, (), taken)
            for window in self.windows
            if window.plan.header is block and (taken := self.adjoints.take(window.carrier)) is not None
        )
        self.adjoints.flush()
        for plan in reversed(self.shape.exited.get(block, [])):
            self.recall.enter_loop(plan.parent)
            self.tape.enter_back(self.builder, plan, self.recall.count(plan))
            assert self.builder.block is not None
            self.entries.setdefault(plan, []).append(self.builder.block)
        self._leave(block, moved, finish)

    def _leave(self, block: Block, moved: list[tuple[Phi, Path, Tangent]], finish: Block) -> None:
        sources = self.shape.cfg.predecessors[block]
        if not sources:
            self.builder.br(finish)
            return
        if len(sources) == 1:
            self._edge(sources[0], moved)
            return
        plan = self.shape.plan_of(block)
        edges = [self.builder.new_block(f"back.{block.name}.to.{s.name}") for s in sources]
        if plan is not None and plan.header is block:
            self._choose_iteration(plan, sources, edges)
        else:
            self._choose_source(block, sources, edges)
        for source, edge in zip(sources, edges, strict=True):
            self.builder.position(edge)
            if plan is not None and plan.header is block and source is plan.latch:
                place = self.tape.iteration[plan]
                before = self.builder.sub(self.builder.load(i64, place), 1, ("nuw", "nsw"))
                self.builder.store(before, place)
            self._edge(source, moved)

    def _choose_iteration(self, plan: LoopPlan, sources: list[Block], edges: list[Block]) -> None:
        first = self.builder.icmp("eq", self.builder.load(i64, self.tape.iteration[plan]), 0)
        outside = edges[sources.index(plan.preheader)]
        again = edges[sources.index(plan.latch)]
        self.builder.cond_br(first, outside, again)

    def _choose_source(self, block: Block, sources: list[Block], edges: list[Block]) -> None:
        decided = self._deciding_branch(block, sources)
        if decided is not None:
            condition, order = decided
            self.builder.cond_br(self.recall.value(condition), edges[order[0]], edges[order[1]])
            return
        chosen = self.recall.value(self._selector(block, sources))
        self.builder.switch(chosen, edges[0], [(k, e) for k, e in enumerate(edges) if k])

    def _deciding_branch(self, block: Block, sources: list[Block]) -> tuple[Value, tuple[int, int]] | None:
        """The branch condition that tells two predecessors apart, and which comes first if it holds."""
        cfg = self.shape.cfg
        above = cfg.idom(block)
        if len(sources) != 2 or above is None or self.shape.loops.of(above) is not self.shape.loops.of(block):
            return None
        last = above.terminator
        if not isinstance(last, Branch) or last.condition is None:
            return None
        sides = []
        for source in sources:
            if source is above:
                sides.append(last.targets.index(block))
                continue
            taken = [k for k, t in enumerate(last.targets) if cfg.edge_dominates(above, t, source)]
            if len(taken) != 1:
                return None
            sides.append(taken[0])
        if sides[0] == sides[1]:
            return None
        return last.condition, (0, 1) if sides[0] == 0 else (1, 0)

    def _selector(self, block: Block, sources: list[Block]) -> Phi:
        function = self.shape.function
        phi = Phi(
            i8,
            [const_int(i8, k) for k in range(len(sources))],
            list(sources),
            function.fresh_name("came.from"),
        )
        phi.parent = block
        block.instructions.insert(0, phi)
        self.recall.why[phi] = "it tells which way the program came"
        return phi

    def _edge(self, source: Block, moved: list[tuple[Phi, Path, Tangent]]) -> None:
        for phi, path, tangent in moved:
            if phi.parent is None and source not in phi.incoming_blocks:
                self._first_of_window(phi, tangent)
                continue
            incoming = phi.value_from(source)
            if self.activity.has_adjoint(incoming):
                self.adjoints.add(incoming, tangent, path)
        self.adjoints.flush()
        self.builder.br(self.blocks[source])

    def _first_of_window(self, carrier: Phi, tangent: Tangent) -> None:
        """The first iteration has no earlier one: its load's adjoint goes to memory, if the load was reached."""
        window = next(w for w in self.windows if w.carrier is carrier)
        then, rest = self.builder.new_block("back.window"), self.builder.new_block("back.entered")
        (piece,) = tangent
        self.builder.cond_br(self.builder.fcmp("une", piece, zero(piece.type)), then, rest)
        self.builder.position(then)
        self.memory.accumulate(window.load, (), tangent)
        self.builder.br(rest)
        self.builder.position(rest)
        self.recall.enter(window.plan.header)

    # -- instructions --------------------------------------------------------------------------------------

    def _instruction(self, insn: Instruction) -> None:
        if isinstance(insn, Return):
            if insn.value is not None and self.activity.has_adjoint(insn.value):
                for path in self.activity.leaves(insn.value):
                    self.adjoints.add(insn.value, self.seeds.get(path), path)
            return
        if self.memory.reverse(insn):
            return
        if isinstance(insn, Call):
            self._written(insn)
        self._check_bits(insn)
        if not self.activity.has_adjoint(insn):
            return
        handler = getattr(self, f"_{insn.opcode}", None)
        if handler is not None:
            handler(insn)
        elif isinstance(insn.type, IntType) or insn.opcode == "bitcast":
            self._bits(insn)
        else:
            self._rule(insn)

    def _rule(self, insn: Instruction) -> None:
        rule = rule_for_instruction(insn)
        if rule is None:
            name = insn.callee_name if isinstance(insn, Call) else insn.opcode
            raise self.session.refuse(f"there is no derivative rule for `{name}`", insn)
        for field, tangent in self._results(rule, insn):
            self._operands(rule, insn, field, tangent)

    def _written(self, insn: Call) -> None:
        """Results that a function writes to memory."""
        rule = rule_for_instruction(insn)
        for write in rule.writes if rule is not None else ():
            pointer = insn.args[write.operand]
            taken = self.memory.take_written(insn, pointer, insn.operands[0].type, write)
            if rule is None or taken is None or write.partials is None:
                continue
            for operand, row in zip(insn.operands, write.partials, strict=True):
                if row is not None and self.activity.has_adjoint(operand):
                    partial = self._emitted(row, rule, insn)
                    self.adjoints.add(operand, self._apply(partial, taken, operand))

    def _results(self, rule: Rule, insn: Instruction) -> list[tuple[int | None, Tangent]]:
        if not rule.fields:
            taken = self.adjoints.take(insn)
            return [] if taken is None else [(None, taken)]
        found: list[tuple[int | None, Tangent]] = []
        for field in range(len(rule.fields)):
            taken = self.adjoints.take(insn, (field,))
            if taken is not None:
                found.append((field, taken))
        return found

    def _operands(self, rule: Rule, insn: Instruction, field: int | None, tangent: Tangent) -> None:
        for k, operand in enumerate(insn.operands[: rule.arity]):
            if self.activity.has_adjoint(operand) and rule.row(k, field) is not None:
                partial = self._partial(rule, insn, k, field)
                self.adjoints.add(operand, self._apply(partial, tangent, operand))

    def _partial(self, rule: Rule, insn: Instruction, k: int, field: int | None) -> Partial:
        row = rule.row(k, field)
        return NoDerivative() if row is None else self._emitted(row, rule, insn)

    def _emitted(self, row: PartialRow, rule: Rule, insn: Instruction) -> Partial:
        """A partial in terms of recalled values: emitted aside, then moved to the sweep value by value."""
        aside = Block("partial", self.builder.function)
        site = Site(Builder(self.builder.function, aside), list(insn.operands[: rule.arity]), insn)
        partial = row(site)
        own = set(aside.instructions)
        for each in aside.instructions:
            each.map_inputs(lambda v: v if v in own else self.recall.value(v))
            each.parent = self.builder.block
            assert self.builder.block is not None and self.builder.before is None
            self.builder.block.instructions.append(each)

        def here(value: Value) -> Value:
            return value if value in own or not isinstance(value, LocalValue) else self.recall.value(value)

        match partial:
            case Scale(value=value):
                return replace(partial, value=here(value))
            case Pick(condition=condition):
                return Pick(here(condition))
            case LaneDot(weights=weights):
                return LaneDot(here(weights))
            case LanePick(index=index):
                return LanePick(here(index))
            case _:
                return partial

    def _apply(self, partial: Partial, tangent: Tangent, operand: Value) -> Tangent | None:
        match partial:
            case Unit() | Scale() | Pick():
                return self.lanes.apply(partial, tangent)
            case CastPartial(opcode=opcode):
                opposite = "fptrunc" if opcode == "fpext" else "fpext"
                return self.lanes.cast(opposite, tangent, operand.type)
            case NoDerivative():
                return None
            case LaneSum():
                return self.lanes.map(lambda v: self._everywhere(v, operand), tangent)
            case LaneDot(weights=weights):
                spread = self.lanes.map(lambda v: self._everywhere(v, operand), tangent)
                return self.lanes.scale(weights, spread)
            case LanePick(index=index):
                zero = self.lanes.zero(operand.type)
                return tuple(
                    self.builder.insert_element(z, v, index) for z, v in zip(zero, tangent, strict=True)
                )

    def _everywhere(self, value: Value, operand: Value) -> Value:
        assert isinstance(operand.type, VectorType)
        return self.builder.splat_vector(value, operand.type)

    def _select(self, insn: Instruction) -> None:
        condition, yes, no = insn.operands
        for path in self.activity.leaves(insn):
            taken = self.adjoints.take(insn, path)
            if taken is None:
                continue
            chosen = self.recall.value(condition)
            nothing = self.lanes.zero(leaf_type(insn.type, path))
            if self.activity.has_adjoint(yes):
                self.adjoints.add(yes, self.lanes.select(chosen, taken, nothing), path)
            if self.activity.has_adjoint(no):
                self.adjoints.add(no, self.lanes.select(chosen, nothing, taken), path)

    def _freeze(self, insn: Instruction) -> None:
        for path in self.activity.leaves(insn):
            self.adjoints.add(insn.operands[0], self.adjoints.take(insn, path), path)

    def _check_bits(self, insn: Instruction) -> None:
        """Floats made from integers that were computed from the bits of active floats: no silent zero."""
        if (
            insn.opcode == "bitcast"
            and is_float_like(insn.type)
            and insn.operands[0] in self.activity.mangled
        ):
            raise self.session.refuse(
                "the bits of a float are changed as an integer",
                insn,
                help="use the float operations (`abs`, `copysign`, negation) instead of `to_bits`",
            )

    def _bits(self, insn: Instruction) -> None:
        """Integers that carry floats: the adjoint goes where the bits came from."""
        paths = set(self.activity.leaves(insn))
        for path in sorted(paths):
            taken = self.adjoints.take(insn, path)
            if taken is None:
                continue
            taken = self._surgery(insn, path, taken)
            for operand, wanted in bit_demand(insn, {path}):
                if self.activity.has_adjoint(operand):
                    for inner in wanted:
                        self.adjoints.add(operand, taken, inner)

    def _surgery(self, insn: Instruction, path: Path, taken: Tangent) -> Tangent:
        """The sign bit flipped, cleared or kept; other operations on the bits of a float are refused."""
        opcode = insn.opcode
        if opcode in ("bitcast", "trunc", "zext", "shl", "lshr", "or") and self._only_moves(insn, path):
            return taken
        mask = next((v.value for v in insn.operands if isinstance(v, ConstInt)), None)
        if mask is not None and len(path) == 2:
            offset, bits = path
            part = (mask >> offset) & ((1 << bits) - 1)
            ones = (1 << bits) - 1
            if (opcode == "and" and part == ones) or (opcode == "xor" and part == 0):
                return taken
            if opcode == "xor" and part == 1 << (bits - 1):
                return self.lanes.neg(taken)
        raise self.session.refuse(
            "the bits of a float are changed as an integer",
            insn,
            help="use the float operations (`abs`, `copysign`, negation) instead of `to_bits`",
        )

    def _only_moves(self, insn: Instruction, path: Path) -> bool:
        if insn.opcode != "or":
            return True
        if "disjoint" in insn.flags:
            return True
        carrying = [
            v for v in insn.operands if self.activity.has_adjoint(v) and path in self.activity.leaves(v)
        ]
        return len(carrying) <= 1 and all(not isinstance(v, ConstInt) for v in insn.operands)

    def _extractvalue(self, insn: Instruction) -> None:
        prefix: Path = insn.indices  # type: ignore[attr-defined]
        for path in self.activity.leaves(insn):
            taken = self.adjoints.take(insn, path)
            if self.activity.has_adjoint(insn.operands[0]):
                self.adjoints.add(insn.operands[0], taken, prefix + path)

    def _insertvalue(self, insn: Instruction) -> None:
        place: Path = insn.indices  # type: ignore[attr-defined]
        whole, part = insn.operands
        for path in self.activity.leaves(insn):
            taken = self.adjoints.take(insn, path)
            if path[: len(place)] == place:
                if self.activity.has_adjoint(part):
                    self.adjoints.add(part, taken, path[len(place) :])
            elif self.activity.has_adjoint(whole):
                self.adjoints.add(whole, taken, path)

    def _extractelement(self, insn: Instruction) -> None:
        vector, index = insn.operands
        taken = self.adjoints.take(insn)
        if taken is not None and self.activity.has_adjoint(vector):
            place = self.recall.value(index)
            pieces = self.lanes.unpack(taken)
            zero = self.lanes.zero(vector.type)
            self.adjoints.add(
                vector,
                tuple(self.builder.insert_element(z, v, place) for z, v in zip(zero, pieces, strict=True)),
            )

    def _insertelement(self, insn: Instruction) -> None:
        vector, element, index = insn.operands
        taken = self.adjoints.take(insn)
        if taken is None:
            return
        place = self.recall.value(index)
        if self.activity.has_adjoint(element):
            self.adjoints.add(
                element, self.lanes.pack([self.builder.extract_element(v, place) for v in taken])
            )
        if self.activity.has_adjoint(vector):
            nothing = zero(element.type)
            self.adjoints.add(vector, tuple(self.builder.insert_element(v, nothing, place) for v in taken))

    def _shufflevector(self, insn: Instruction) -> None:
        mask: tuple[int | None, ...] = insn.mask  # type: ignore[attr-defined]
        taken = self.adjoints.take(insn)
        if taken is None:
            return
        for side, source in enumerate(insn.operands):
            if not self.activity.has_adjoint(source):
                continue
            assert isinstance(source.type, VectorType)
            count = source.type.count
            pieces = []
            for vector in taken:
                total: Value = self.lanes.zero(source.type)[0]
                for lane, origin in enumerate(mask):
                    if origin is None or not side * count <= origin < (side + 1) * count:
                        continue
                    at = origin - side * count
                    add = self.builder.extract_element(vector, lane)
                    total = self.builder.insert_element(
                        total, self.builder.fadd(self.builder.extract_element(total, at), add), at
                    )
                pieces.append(total)
            self.adjoints.add(source, tuple(pieces))
