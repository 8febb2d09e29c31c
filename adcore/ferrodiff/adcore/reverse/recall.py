"""How the reverse sweep gets at values of the forward sweep.

In this order: constants and arguments stand where they are; values outside loops stay in slots; counters and
affine values follow from the reverse sweep's own counters; what can be recomputed or reloaded is; everything
else is kept on the tape. Decisions are made on demand and once per value.
"""

from __future__ import annotations

from collections.abc import Container

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.facts.loops import Affine, affine_phi
from ferrodiff.adcore.ir.base import LocalValue, Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import GlobalRef
from ferrodiff.adcore.ir.instructions import Alloca, Call, Instruction, Load, Phi, Store
from ferrodiff.adcore.ir.types import IntType, PointerType, i8, i64
from ferrodiff.adcore.ir.values import Argument, Block
from ferrodiff.adcore.reverse.augment import insert_after
from ferrodiff.adcore.reverse.prepare import LoopPlan, Shape
from ferrodiff.adcore.reverse.storage import Slot, Slots
from ferrodiff.adcore.reverse.tape import Kept, Tape
from ferrodiff.adcore.rules.mangling import base_of_intrinsic

WEIGHT_LIMIT = 40
"""Operations that are recomputed rather than loaded from a tape."""

_WEIGHTS = {
    "fdiv": 8, "frem": 20, "udiv": 12, "sdiv": 12, "urem": 12, "srem": 12, "load": 2,
    "getelementptr": 0, "bitcast": 0, "extractvalue": 0, "insertvalue": 0, "freeze": 0, "zext": 0, "trunc": 0,
}  # fmt: skip
_PURE = frozenset(
    [
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "frem",
        "fneg",
        "add",
        "sub",
        "mul",
        "udiv",
        "sdiv",
        "urem",
        "srem",
        "shl",
        "lshr",
        "ashr",
        "and",
        "or",
        "xor",
        "icmp",
        "fcmp",
        "select",
        "trunc",
        "zext",
        "sext",
        "fptrunc",
        "fpext",
        "fptosi",
        "fptoui",
        "sitofp",
        "uitofp",
        "ptrtoint",
        "inttoptr",
        "bitcast",
        "getelementptr",
        "extractvalue",
        "insertvalue",
        "extractelement",
        "insertelement",
        "shufflevector",
        "freeze",
    ]
)
_CHEAP_CALLS = {
    "llvm.fabs": 1, "llvm.copysign": 1, "llvm.fma": 1, "llvm.fmuladd": 1, "llvm.sqrt": 10, "llvm.minnum": 2,
    "llvm.maxnum": 2, "llvm.minimum": 2, "llvm.maximum": 2, "llvm.minimumnum": 2, "llvm.maximumnum": 2,
    "llvm.floor": 1, "llvm.ceil": 1, "llvm.trunc": 1, "llvm.rint": 1, "llvm.nearbyint": 1, "llvm.umin": 1,
    "llvm.umax": 1, "llvm.smin": 1, "llvm.smax": 1, "llvm.abs": 1, "llvm.ctpop": 1, "llvm.ctlz": 1, "llvm.cttz": 1,
    "llvm.usub.sat": 1, "llvm.uadd.sat": 1, "llvm.uadd.with.overflow": 1, "llvm.usub.with.overflow": 1,
    "llvm.umul.with.overflow": 2, "llvm.sadd.with.overflow": 1, "llvm.ssub.with.overflow": 1,
    "llvm.smul.with.overflow": 2, "llvm.fshl": 1, "llvm.fshr": 1, "llvm.bswap": 1, "llvm.fptosi.sat": 2,
    "llvm.fptoui.sat": 2, "llvm.is.fpclass": 1, "llvm.ucmp": 2, "llvm.scmp": 2,
}  # fmt: skip

Leaf = Value | tuple[Value, LoopPlan]
Cone = tuple[int, frozenset[Leaf]]
_FREE: Cone = (0, frozenset())


class Recall:
    """Values of the forward sweep for the reverse sweep.

    ``enter(block)`` says which primal block is being reversed; ``value(v)`` then emits what is needed at the
    builder's place.
    """

    def __init__(
        self,
        shape: Shape,
        alias: Alias,
        slots: Slots,
        tape: Tape,
        twin: dict[Instruction, Load],
        builder: Builder,
    ) -> None:
        self.shape = shape
        self.alias = alias
        self.slots = slots
        self.tape = tape
        self.twin = twin
        self.builder = builder
        self.layout = alias.layout
        self.has_frees = False
        self.shadowed: Container[Value] = ()
        self.kept: dict[Leaf, Kept] = {}
        self.why: dict[Value, str] = {}
        self._slot_of: dict[Value, Slot] = {}
        self._cones: dict[Value, Cone] = {}
        self._affine: dict[Value, Affine] = {}
        self._cache: dict[Value, Value] = {}
        self._home: LoopPlan | None = None

    def prepare_cones(self) -> None:
        """Weigh every instruction, defining blocks first; called after the forward sweep is augmented."""
        for plan in self.shape.plans.values():
            for phi in plan.header.phis:
                found = affine_phi(phi, plan.loop, self.shape.loops, self.layout)
                if found is not None:
                    self._affine[phi] = found
        for block in self.shape.cfg.order:
            around = self.shape.plan_of(block)
            if around is None:
                continue
            for insn in block.instructions:
                if insn.type.text != "void":
                    self._cones[insn] = self._weigh(insn, around)

    def enter(self, block: Block) -> None:
        """Begin the reverse of a block; what was recalled for another one is forgotten."""
        self._cache = {}
        self._home = self.shape.plan_of(block)

    def enter_loop(self, plan: LoopPlan | None) -> None:
        """Go on in the context of a loop (or of none)."""
        self._cache = {}
        self._home = plan

    # -- recalling -----------------------------------------------------------------------------------------

    def value(self, value: Value) -> Value:
        """A value of the forward sweep, at the builder's place."""
        if not isinstance(value, LocalValue):
            return value
        found = self.slots.mirror.get(value) or self._cache.get(value)
        if found is None:
            found = self._cache[value] = self._recall(value)
        return found

    def count(self, plan: LoopPlan) -> Value:
        """How often the latch was taken in the run of a loop that is about to be reversed."""
        trip = plan.trip
        if trip is not None and all(self._is_free(v) for v in trip.inputs()):
            start, bound = (self.value(v) for v in trip.inputs())
            return trip.emit(self.builder, start, bound)
        return self.value(plan.counter)

    def _is_free(self, value: Value) -> bool:
        if not isinstance(value, Instruction):
            return True
        weight, leaves = self._operand_cone(value, self._home)
        return weight < 4 and all(leaf in self.kept for leaf in leaves)

    def _recall(self, value: LocalValue) -> Value:
        if isinstance(value, Argument):
            return self._argument(value)
        assert isinstance(value, Instruction)
        if not self.slots.is_split and (isinstance(value, Alloca) or value.parent is None):
            return value  # at the start of the function
        assert value.parent is not None
        home = self.shape.plan_of(value.parent)
        if home is None:
            return self.slots.load(self.builder, self.slot(value))
        if self._home is None or not home.loop.contains(self._home.loop):
            return self._after_loop(value, home)
        if value is home.counter:
            return self.builder.load(i64, self.tape.iteration[home])
        if value in self._affine:
            return self._affine_value(self._affine[value], home)
        return self._in_loop(value, home)

    def _argument(self, value: Argument) -> Value:
        if not self.slots.is_split:
            return value
        return self.slots.load(self.builder, self.slot(value))

    def slot(self, value: Value) -> Slot:
        """The slot that always holds a value's latest instance."""
        found = self._slot_of.get(value)
        if found is None:
            found = self._slot_of[value] = self.slots.new(value.type, "keep")
            builder = Builder(self.slots.forward.function)
            if isinstance(value, Argument):
                self.slots.forward.add(_store(self.slots, found, value))
            else:
                assert isinstance(value, Instruction)
                scratch = Block("keep")
                self.slots.store(builder.position(scratch), found, value)
                insert_after(value, scratch.instructions[0])
        return found

    def _after_loop(self, value: Instruction, home: LoopPlan) -> Value:
        """The last value that a loop left, seen from outside it."""
        slot = self.slot(value)
        inner = home
        while inner.parent is not None and not (
            self._home is not None and inner.parent.loop.contains(self._home.loop)
        ):
            inner = inner.parent
        if inner.parent is None:
            return self.slots.load(self.builder, slot)
        kept = self.kept.get((value, inner))
        if kept is None:
            kept = self.tape.keep_exit(slot, inner, value, "the last value of an inner loop")
            self.kept[(value, inner)] = kept
        return self.tape.read(self.builder, kept, inner.parent)

    def _affine_value(self, affine: Affine, home: LoopPlan) -> Value:
        start = self.value(affine.start)
        counter = self.builder.load(i64, self.tape.iteration[home])
        if isinstance(affine.phi.type, PointerType):
            return self.builder.gep(i8, start, self.builder.mul(counter, affine.step))
        assert isinstance(affine.phi.type, IntType)
        bits = affine.phi.type.bits
        if bits < 64:
            counter = self.builder.trunc(counter, affine.phi.type)
        elif bits > 64:
            counter = self.builder.zext(counter, affine.phi.type)
        flags = tuple(f for f in ("nuw", "nsw") if f in affine.update.flags) if affine.step > 0 else ()
        return self.builder.add(start, self.builder.mul(counter, affine.step, flags), flags)

    def _in_loop(self, value: Instruction, home: LoopPlan) -> Value:
        kept = self.kept.get(value)
        if kept is None and self._recomputes(value):
            return self._again(value)
        if kept is None:
            kept = self.kept[value] = self.tape.keep(value, home, self.reason(value))
        return self.tape.read(self.builder, kept, home)

    def reason(self, value: Instruction) -> str:
        """Why a value had to be kept, in words."""
        if value in self.why:
            return self.why[value]
        if isinstance(value, Phi):
            return "it depends on the path or on earlier iterations"
        if isinstance(value, Call):
            return "computing it again is expensive"
        return "computing it again needs several values that would have to be kept"

    # -- deciding ------------------------------------------------------------------------------------------

    def _recomputes(self, value: Instruction) -> bool:
        weight, leaves = self._cones[value] if value in self._cones else (0, frozenset([value]))
        if value in leaves:
            return False
        new = [leaf for leaf in leaves if leaf not in self.kept]
        if not new:
            return True
        return len(new) == 1 and weight <= WEIGHT_LIMIT // 2 and not isinstance(new[0], tuple)

    def _again(self, value: Instruction) -> Value:
        operands: dict[Value, Value] = {}
        for operand in value.inputs():
            if isinstance(operand, LocalValue) and operand not in operands:
                operands[operand] = self.value(operand)
        copy = value.copy()
        copy.metadata = {}
        copy.name = None
        copy.map_inputs(lambda v: operands.get(v, v))
        return self.builder.insert(copy, "again")

    def _weigh(self, insn: Instruction, plan: LoopPlan) -> Cone:
        own: Cone = (0, frozenset([insn]))
        if insn is plan.counter:
            return _FREE
        if insn in self._affine:
            return self._operand_cone(self._affine[insn].start, plan.parent)
        weight = self._own_weight(insn)
        if weight is None:
            return own
        leaves: set[Leaf] = set()
        for operand in insn.operands:
            w, more = self._operand_cone(operand, plan)
            weight += w
            leaves |= more
        if weight > WEIGHT_LIMIT or len(leaves) > 3:
            return own
        return weight, frozenset(leaves)

    def _operand_cone(self, value: Value, context: LoopPlan | None) -> Cone:
        if not isinstance(value, Instruction) or value.parent is None:
            return _FREE
        home = self.shape.plan_of(value.parent)
        if home is None:
            return _FREE
        if context is None or not home.loop.contains(context.loop):
            inner = home
            while inner.parent is not None and not (
                context is not None and inner.parent.loop.contains(context.loop)
            ):
                inner = inner.parent
            return _FREE if inner.parent is None else (0, frozenset([(value, inner)]))
        return self._cones.get(value, (0, frozenset([value])))

    def _own_weight(self, insn: Instruction) -> int | None:
        """What computing an instruction again costs; ``None`` if that is impossible or too much."""
        if isinstance(insn, Load):
            return 2 if self._can_reload(insn) else None
        if isinstance(insn, Call):
            if insn.opcode != "call" or insn.callee_name is None:
                return None
            return _CHEAP_CALLS.get(base_of_intrinsic(insn.callee_name))
        if insn.opcode in _PURE:
            return _WEIGHTS.get(insn.opcode, 1)
        return None

    def _can_reload(self, insn: Load) -> bool:
        primal = self.twin.get(insn, insn)
        if insn.volatile or insn.ordering:
            self.why[insn] = "the load is volatile or atomic"
            return False
        if self.slots.is_split:
            self.why[insn] = "the caller may change the memory before the reverse sweep of a recursive call"
            return False
        if self.has_frees and not all(self._outlives(r) for r in self.alias.roots(primal.pointer)):
            self.why[insn] = "its memory is freed before the reverse sweep"
            return False
        size = self.layout.store_size(primal.type)
        writer = self.alias.overwriter(primal, primal.pointer, size)
        if writer is None:
            return True
        module = self.alias.function.module
        place = module.location(writer) if module is not None else None
        self.why[insn] = "its memory may be overwritten" + (f" at {place}" if place else "")
        return False

    def _outlives(self, root: Value) -> bool:
        return isinstance(root, (Argument, Alloca, GlobalRef)) or root in self.shadowed


def _store(slots: Slots, slot: Slot, value: Value) -> Instruction:
    return Store(value, slot.address[slots.forward.function])
