"""Building the derivative of one function: prepare, augment, sweep, and put the pieces together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ferrodiff.adcore.facts.alias import HARMLESS, UNKNOWN, Alias, Effect
from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.layouts import Access
from ferrodiff.adcore.facts.memtypes import MemoryTypes
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.clone import PRIMAL_METADATA, clone_function
from ferrodiff.adcore.ir.constants import const_int, poison
from ferrodiff.adcore.ir.instructions import Call, GetElementPtr, Return
from ferrodiff.adcore.ir.types import PointerType, StructType, Type, i8, i32, i64, ptr, void
from ferrodiff.adcore.ir.values import Argument, Function
from ferrodiff.adcore.lanes import Lanes, Tangent
from ferrodiff.adcore.request import ArgumentRange, Request
from ferrodiff.adcore.reverse.activity import (
    Activity,
    Path,
    float_leaves,
    holds_pointer,
    leaf_type,
    result_paths,
)
from ferrodiff.adcore.reverse.adjoints import Adjoints
from ferrodiff.adcore.reverse.allocators import (
    expand_reallocations,
    move_stack_to_heap,
    release_before_panics,
)
from ferrodiff.adcore.reverse.augment import Augmented
from ferrodiff.adcore.reverse.byvalue import settle_by_value
from ferrodiff.adcore.reverse.calls import CallFacts, CallSweep, Derivative, Suffix, Wanted, smallest_float
from ferrodiff.adcore.reverse.guards import Guards
from ferrodiff.adcore.reverse.memory import MemorySweep
from ferrodiff.adcore.reverse.prepare import Shape, prepare
from ferrodiff.adcore.reverse.recall import Recall
from ferrodiff.adcore.reverse.report import Report, describe
from ferrodiff.adcore.reverse.retype import retype_pointers
from ferrodiff.adcore.reverse.scopes import separate, separate_shadows
from ferrodiff.adcore.reverse.shuttle import Shuttle
from ferrodiff.adcore.reverse.storage import Frame, Slots
from ferrodiff.adcore.reverse.sweep import Sweep
from ferrodiff.adcore.reverse.tape import Tape
from ferrodiff.adcore.reverse.unroll import unroll_moves
from ferrodiff.adcore.reverse.unwinding import is_tracked, track
from ferrodiff.adcore.reverse.windows import find_windows
from ferrodiff.adcore.rules.runtime import Kind, Role, allocation, inactive
from ferrodiff.adcore.rules.table import rule_for_instruction
from ferrodiff.adcore.session import Session

ADJOINT_FLAGS = ("reassoc", "nsz", "contract")
"""Fast-math flags of sums of adjoints: their order is free, NaN and infinity keep their meaning."""

SMALL_PARAMETER = 256
"""Bytes of an inactive parameter that may be copied along with active ones."""

_SHADOW_ATTRIBUTES = ("noundef", "nonnull", "align")
_LOST_ATTRIBUTES = (
    "captures",
    "nocapture",
    "initializes",
    "writeonly",
    "readnone",
    "returned",
    "dead_on",
    "nofree",
)


class AdjointLanes(Lanes):
    """Lanes whose sums may be reordered, so that reductions in the reverse sweep vectorise."""

    def _map2(self, operation: Callable[..., Value], a: Tangent, b: Tangent) -> Tangent:
        return tuple(operation(x, y, flags=ADJOINT_FLAGS) for x, y in zip(a, b, strict=True))


def written_types(call: Call) -> list[list[Access]]:
    """What is known of the memory that a library function writes, for every argument."""
    rule = rule_for_instruction(call)
    found: list[list[Access]] = [[] for _ in call.args]
    for write in rule.writes if rule is not None else ():
        found[write.operand].append(Access(0, 0, call.args[0].type if write.kind == "float" else i32))
    return found


@dataclass
class Thunk:
    """What is special about a thunk: which bytes of its arguments are inactive, and whether results are seeded."""

    const_ranges: tuple[tuple[int, int], ...]
    args_size: int
    result_size: int
    seeded: bool
    by_value: tuple[ArgumentRange, ...] = ()
    """Parameters whose gradient is returned by value."""


class Deriver:
    """Makes and remembers the reverse derivatives of a module's functions.

    ``reports`` has one entry per derivative made, in the order they were finished.
    """

    def __init__(self, session: Session, width: int, form: str, guard: bool = False) -> None:
        """``guard``: shadows may be missing (see `guards`)."""
        self.session = session
        self.guard = guard
        self.width = width
        self.form = form
        self.made: dict[Wanted, Derivative] = {}
        self.shuttle = Shuttle(session)
        self.reports: list[Report] = []
        self._types: dict[str, list[list[Access]]] = {}
        self._open: list[str] = []

    def derive(self, wanted: Wanted) -> Derivative:
        """The derivative of a function of the module."""
        found = self.made.get(wanted)
        if found is None:
            primal = self.session.definition(wanted.function)
            assert primal is not None
            if wanted.function in self._open and not wanted.split:
                raise self.session.refuse(f"`{wanted.function}` calls itself in a way that is not followed")
            self._open.append(wanted.function)
            found = Building(self, wanted, primal, None).run()
            self._open.pop()
        return found

    def derive_thunk(self, thunk: Function, request: Request) -> Derivative:
        """The derivative of a thunk: `void (args, args shadow.., result, result shadow..)`, packed by lanes."""
        seeded = request.result_activity not in ("None", "Const")
        by_value = tuple(a for a in request.arguments if a.activity.startswith("Active"))
        special = Thunk(request.const_ranges, request.args_size, request.result_size, seeded, by_value)
        dropped = frozenset() if seeded else frozenset({1})
        wanted = Wanted(thunk.name, (True, seeded), False, dropped)
        return Building(self, wanted, thunk, special).run()

    # -- facts about callees -------------------------------------------------------------------------------

    def effect(self, call: Call) -> Effect | None:
        """What a call does to memory, as far as tables tell."""
        name = call.callee_name or ""
        what = allocation(name)
        if what is not None:
            allocates = what.role in (Role.ALLOCATE, Role.ALLOCATE_ZEROED)
            return Effect(writes=(), captures=False, allocates=allocates)
        if self.session.definition(name) is not None:
            return UNKNOWN
        kind = inactive(name)
        if kind is not None:
            return None if kind in (Kind.TEXT, Kind.PRINT) else HARMLESS
        if call.is_barrier:
            return HARMLESS
        rule = rule_for_instruction(call)
        if rule is None:
            return None
        return Effect(writes=tuple(call.args[w.operand] for w in rule.writes), captures=False)

    def callee_types(self, call: Call) -> list[list[Access]]:
        """What the accesses in a callee tell about its arguments' memory."""
        name = call.callee_name or ""
        function = self.session.definition(name)
        if function is None:
            return written_types(call)
        found = self._types.get(name)
        if found is None:
            self._types[name] = []
            layout = self.session.module.datalayout
            alias = Alias(function, Cfg(function), layout, self.effect)
            types = MemoryTypes(function, alias, layout, self.callee_types, smallest_float(self.session))
            found = self._types[name] = [
                types.accesses_of(a) if isinstance(a.type, PointerType) else [] for a in function.arguments
            ]
        return found


class Building:
    """One derivative under construction."""

    def __init__(self, deriver: Deriver, wanted: Wanted, primal: Function, thunk: Thunk | None) -> None:
        self.deriver = deriver
        self.session = deriver.session
        self.layout = deriver.session.module.datalayout
        self.wanted = wanted
        self.primal = primal
        self.thunk = thunk
        kind = "augmented" if wanted.split else "reverse"
        name = self.session.fresh_name(f"{primal.name}.{kind}")
        self.function, _, _ = clone_function(primal, name, keep=PRIMAL_METADATA | {"dbg"})
        self.session.generated[name] = self.function
        self.function.attributes = self.session.attributes(primal)
        self.function.return_attributes = ()
        self.function.linkage = "internal"
        self.parameters = list(self.function.arguments)
        for argument in self.parameters:
            argument.attributes = tuple(a for a in argument.attributes if not a.startswith(_LOST_ATTRIBUTES))

    def run(self) -> Derivative:
        """Build everything."""
        late = self._prepare_thunk() if self.thunk is not None else None
        expand_reallocations(self.function)
        move_stack_to_heap(self.function, self.layout)
        unroll_moves(self.function, self.layout)
        retype_pointers(self.function, self._facts)
        shape = prepare(self.function, self.layout)
        self.alias = Alias(self.function, shape.cfg, self.layout, self.deriver.effect)
        self.memory = self._memory_types(self.alias)
        derivative = self._declare(shape)
        guards = Guards(
            self.session, self.alias, self.deriver.guard, self.wanted.guarded, self.thunk is not None
        )
        facts = CallFacts(
            self.session,
            self.wanted,
            self.deriver.derive,
            self.alias,
            self.memory,
            late,
            guards,
            self._ranges(),
        )
        active = [a for a, flag in zip(self.parameters, self.wanted.active, strict=True) if flag]
        self.activity = Activity(self.alias, self.memory, active, self.wanted.returns, facts)
        if self.activity.learn():
            self.activity = Activity(self.alias, self.memory, active, self.wanted.returns, facts)
        self._settle_leaves(derivative, shape)
        self._frames()
        lanes = AdjointLanes(Builder(self.reverse), self.deriver.width, self.deriver.form)
        adjoints = Adjoints(self.function, self.reverse_frame, lanes)
        tape = Tape(shape, self.function, self.slots, self.layout, self.reverse_frame)
        augmented = Augmented(
            self.session,
            self.function,
            self.alias,
            self.memory,
            self.activity,
            self.slots,
            self.deriver.width,
            lambda call: calls.forward(call),
            facts.is_ours,
            facts.is_plain,
            guards,
        )
        recall = Recall(shape, self.alias, self.slots, tape, augmented.twin, lanes.builder)
        recall.shadowed = augmented.shadow
        calls = CallSweep(self.session, facts, self.activity, augmented, recall, adjoints, lanes)
        self._add_shadows(derivative, augmented)
        seeds = self._add_seeds(derivative, lanes)
        augmented.run()
        recall.has_frees = augmented.has_frees
        recall.prepare_cones()
        memory = MemorySweep(
            self.session,
            self.memory,
            self.activity,
            augmented,
            recall,
            adjoints,
            lanes,
            calls,
            self.deriver.shuttle,
        )
        sweep = Sweep(
            self.session,
            shape,
            self.activity,
            augmented,
            recall,
            tape,
            adjoints,
            lanes,
            seeds,
            memory,
        )
        if self.deriver.width == 1 and not guards.on:
            self._carry_windows(shape, sweep, memory, adjoints)
        self._assemble(derivative, shape, sweep, tape, adjoints, lanes, augmented)
        calls.finish()
        self.deriver.reports.append(describe(self.session, self.primal, tape))
        return derivative

    def _carry_windows(self, shape: Shape, sweep: Sweep, memory: MemorySweep, adjoints: Adjoints) -> None:
        for window in find_windows(shape, self.alias):
            if self.activity.has_adjoint(window.load) and self.activity.has_adjoint(window.earlier):
                sweep.windows.append(window)
                memory.carriers[window.load] = window.carrier
                memory.carrying.add(window.earlier)
                adjoints.let_cross(window.carrier)
                adjoints.let_cross(window.earlier)

    def _facts(self) -> tuple[Alias, MemoryTypes]:
        """Facts of the function as it stands."""
        alias = Alias(self.function, Cfg(self.function), self.layout, self.deriver.effect)
        return alias, self._memory_types(alias)

    def _memory_types(self, alias: Alias) -> MemoryTypes:
        smallest = smallest_float(self.session)
        found = MemoryTypes(self.function, alias, self.layout, self.deriver.callee_types, smallest)
        for index, accesses in self.wanted.told:
            found.learn(self.parameters[index], accesses)
        if self.thunk is not None:
            # What is in inactive parameters is of no interest, and so is the padding between their fields.
            for start, end in self.thunk.const_ranges:
                if end - start <= SMALL_PARAMETER:
                    found.learn(self.parameters[0], [Access(o, 0, i8) for o in range(start, end)])
        return found

    # -- signature -----------------------------------------------------------------------------------------

    def _ranges(self) -> tuple[tuple[int, int], ...] | None:
        return None if self.thunk is None else self.thunk.const_ranges

    def _declare(self, shape: Shape) -> Derivative:
        derivative = Derivative(self.wanted, self.primal, self.function)
        if self.wanted.split:
            derivative.argument_leaves = [
                [p for p, _ in float_leaves(a.type)] if flag else []
                for a, flag in zip(self.parameters, self.wanted.active, strict=True)
            ]
            last = shape.last.terminator if shape.last is not None else None
            if isinstance(last, Return) and last.value is not None:
                derivative.result_leaves = result_paths(last.value)
            reverse = Function(self.session.fresh_name(f"{self.primal.name}.back"), void, linkage="internal")
            reverse.attributes = self.session.attributes(self.primal)
            reverse.module = self.primal.module
            self.session.generated[reverse.name] = reverse
            derivative.reverse = reverse
            self._return_types(derivative)
            self.deriver.made[self.wanted] = derivative
        return derivative

    def _settle_leaves(self, derivative: Derivative, shape: Shape) -> None:
        if self.wanted.split:
            for argument, paths in zip(self.parameters, derivative.argument_leaves, strict=True):
                if not set(self.activity.leaves(argument)) <= set(paths):
                    raise self.session.refuse(
                        f"`{self.primal.name}` takes floats as integers and calls itself"
                    )
            return
        if self.thunk is None:
            derivative.argument_leaves = [self.activity.leaves(a) for a in self.parameters]
            last = shape.last.terminator if shape.last is not None else None
            if isinstance(last, Return) and last.value is not None and self.wanted.returns:
                derivative.result_leaves = self.activity.leaves(last.value)
        else:
            derivative.argument_leaves = [[] for _ in self.parameters]
        self._return_types(derivative)
        self.deriver.made[self.wanted] = derivative

    def _return_types(self, derivative: Derivative) -> None:
        gradients = [
            t
            for k, path in derivative.gradients()
            for t in self._lane_types(leaf_type(self.parameters[k].type, path))
        ]
        result = self.primal.return_type
        first: list[Type] = [] if result is void else [result]
        if derivative.reverse is not None:
            shadows = [result] * self.deriver.width if holds_pointer(result) else []
            self.function.return_type = StructType((*first, *shadows, ptr))
            derivative.reverse.return_type = StructType(tuple(gradients))
        elif self.thunk is None:
            self.function.return_type = StructType((*first, *gradients))

    def _lane_types(self, type: Type) -> tuple[Type, ...]:
        return Lanes(Builder(self.function), self.deriver.width, self.deriver.form).types(type)

    def _frames(self) -> None:
        self.forward_frame = Frame(self.function)
        if not self.wanted.split:
            self.reverse, self.reverse_frame = self.function, self.forward_frame
            self.slots = Slots(self.forward_frame, self.reverse_frame, self.layout)
            return
        derivative = self.deriver.made[self.wanted]
        assert derivative.reverse is not None
        self.reverse = derivative.reverse
        self.reverse_frame = Frame(self.reverse)
        record = Argument(ptr, "record", 0, ("noundef",))
        self.reverse.arguments = [record]
        self.reverse.forget_names()
        self.slots = Slots(self.forward_frame, self.reverse_frame, self.layout)
        self.slots.open_record(record)

    def _add_shadows(self, derivative: Derivative, augmented: Augmented) -> None:
        if self.thunk is not None:
            self._thunk_shadows(augmented)
            return
        for index in derivative.shadowed():
            argument = self.parameters[index]
            kept = [a for a in argument.attributes if a.startswith(_SHADOW_ATTRIBUTES)]
            if argument.has_attribute("noalias") and self._is_exclusive(argument):
                kept.insert(0, "noalias")
            augmented.shadow[argument] = tuple(
                self._parameter(self.function, argument.type, f"{argument.name}.shadow", kept)
                for _ in range(self.deriver.width)
            )

    def _is_exclusive(self, argument: Argument) -> bool:
        """Shadows of shared references are exclusive too when they come straight from the caller's `&mut`."""
        if argument.index in self.wanted.guarded:
            return False
        return self.wanted.exclusive_shadows or not argument.has_attribute("readonly")

    def _parameter(self, function: Function, type: Type, name: str, attributes: list[str]) -> Argument:
        function.forget_names()
        argument = Argument(type, function.fresh_name(name), len(function.arguments), tuple(attributes))
        function.arguments.append(argument)
        function.forget_names()
        return argument

    def _thunk_shadows(self, augmented: Augmented) -> None:
        assert self.thunk is not None
        sizes = (self.thunk.args_size, self.thunk.result_size)
        values, result = self.parameters[0], self.parameters[1]
        incoming = [self._parameter(self.function, ptr, f"{a.name}.shadow", []) for a in (values, result)]
        self.function.arguments = [values, incoming[0], result, incoming[1]]
        for argument, shadow, size in zip((values, result), incoming, sizes, strict=True):
            lanes: list[Value] = [shadow]
            for lane in range(1, self.deriver.width):
                place = GetElementPtr(ptr, i8, [shadow, const_int(i64, lane * size)])
                lanes.append(self.forward_frame.add(place, "lane"))
            augmented.shadow[argument] = tuple(lanes)
        shadows = augmented.shadow[values]
        settle_by_value(self.session, self.memory, values, shadows, self.thunk.by_value, self.forward_frame)

    def _add_seeds(self, derivative: Derivative, lanes: Lanes) -> dict[Path, Tangent]:
        seeds: dict[Path, Tangent] = {}
        for path in derivative.result_leaves:
            kinds = lanes.types(leaf_type(self.primal.return_type, path))
            seeds[path] = tuple(self._parameter(self.reverse, t, "seed", []) for t in kinds)
        return seeds

    # -- thunks --------------------------------------------------------------------------------------------

    def _prepare_thunk(self) -> Suffix | None:
        """Give offset 0 of the arguments an address of its own; find a call that can be made late."""
        values = self.parameters[0]
        entry = self.function.entry
        first = GetElementPtr(ptr, i8, [values, const_int(i64, 0)], self.function.fresh_name("first"))
        for block in self.function.blocks:
            for insn in block.instructions:
                if not isinstance(insn, GetElementPtr):
                    insn.map_inputs(lambda v: first if v is values else v)
        first.parent = entry
        entry.instructions.insert(0, first)
        return self._late_call()

    def _late_call(self) -> Suffix | None:
        blocks = self.function.blocks
        if len(blocks) != 1:
            return None
        instructions = blocks[0].instructions
        places = [
            k
            for k, i in enumerate(instructions)
            if isinstance(i, Call) and self.session.definition(i.callee_name) is not None
        ]
        if len(places) != 1:
            return None
        call = instructions[places[0]]
        rest = [i for i in instructions[places[0] + 1 : -1] if i.opcode != "getelementptr"]
        copies = ("llvm.memcpy.", "llvm.lifetime.", "llvm.memmove.")
        for insn in rest:
            moves = isinstance(insn, Call) and (insn.callee_name or "").startswith(copies)
            if (
                insn.opcode not in ("store", "insertvalue", "extractvalue", "trunc", "zext", "lshr")
                and not moves
            ):
                return None
        rest = [i for i in rest if not (isinstance(i, Call) and "lifetime" in (i.callee_name or ""))]
        assert isinstance(call, Call)
        return Suffix(call, rest)

    # -- assembly ------------------------------------------------------------------------------------------

    def _assemble(
        self,
        derivative: Derivative,
        shape: Shape,
        sweep: Sweep,
        tape: Tape,
        adjoints: Adjoints,
        lanes: Lanes,
        augmented: Augmented,
    ) -> None:
        builder = lanes.builder
        if self.wanted.split:
            start = builder.new_block("entry")
        else:
            start = shape.last if shape.last is not None else builder.new_block("never")
        result = self._take_return(shape)
        finish = builder.new_block("finish")
        if shape.last is not None:
            sweep.run(start, finish)
        else:
            builder.position(start).br(finish)
        builder.position(finish)
        adjoints.enter(finish)
        gradients = self._gradients(derivative, adjoints)
        tape.finish()
        tape.release(builder)
        augmented.frees.release(builder)
        if not self.wanted.split and not is_tracked(self.session):
            release_before_panics(self.function, shape, tape, augmented.frees)
        if self.wanted.split:
            from ferrodiff.adcore.reverse.storage import declare_memory

            declare_memory(self.reverse)
            builder.call("free", void, [self.reverse.arguments[0]])
            self._return(builder, self.reverse, gradients)
            self._return_forward(derivative, shape, result, augmented)
        else:
            self._return(builder, self.function, ([result] if result is not None else []) + gradients)
        if self.wanted.split:
            self.slots.close_record()
            self.reverse_frame.finish()
        self.forward_frame.finish()
        if not self.wanted.split and self.deriver.width == 1 and not self.deriver.guard:
            entries = {p: b[0].instructions[-1] for p, b in sweep.entries.items() if len(b) == 1}
            separate_shadows(self.session, shape, self.alias, sweep.memory, entries)
        separate(self.session, tape, dict.fromkeys((self.function, self.reverse)))
        track(self.session, dict.fromkeys((self.function, self.reverse)))
        for insn in (*self.function.instructions(), *self.reverse.instructions()):
            insn.metadata.pop("dbg", None)
        for argument in self.parameters:
            # Derivatives return gradients or records, which functions with such a parameter must not.
            argument.attributes = tuple(a for a in argument.attributes if not a.startswith("sret"))
        if shape.last is None:
            self.function.blocks = [b for b in self.function.blocks if b not in (start, finish)]

    def _take_return(self, shape: Shape) -> Value | None:
        if shape.last is None:
            return None
        last = shape.last.terminator
        assert isinstance(last, Return)
        shape.last.remove(last)
        return last.value

    def _gradients(self, derivative: Derivative, adjoints: Adjoints) -> list[Value]:
        found: list[Value] = []
        for index, path in derivative.gradients():
            argument = self.parameters[index]
            taken = adjoints.take(argument, path)
            if taken is None:
                taken = adjoints.lanes.zero(leaf_type(argument.type, path))
            found.extend(taken)
        return found

    def _return(self, builder: Builder, function: Function, parts: list[Value]) -> None:
        if function.return_type is void:
            builder.ret()
            return
        whole: Value = poison(function.return_type)
        for index, part in enumerate(parts):
            whole = builder.insert_value(whole, part, index)
        builder.ret(whole)

    def _return_forward(
        self, derivative: Derivative, shape: Shape, result: Value | None, augmented: Augmented
    ) -> None:
        if shape.last is None:
            return
        builder = Builder(self.function).position(shape.last)
        parts: list[Value] = []
        if result is not None:
            parts.append(result)
            if holds_pointer(result.type):
                parts.extend(augmented.of(result))
        parts.append(self.slots.record[self.function])
        self._return(builder, self.function, parts)
