"""Calls whose derivatives are generated functions.

A call is reversed in one of two ways. *Split*: the forward sweep calls the callee's augmented form, which
returns a record; the reverse sweep hands the record to the callee's reverse. *Late*: where nothing after the
call but stores of its result follows (a thunk), the whole derivative of the callee is called in the reverse
sweep, when the seeds are known, and the stores are made after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ferrodiff.adcore.facts.layouts import Access, coverage
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import Constant, GlobalRef
from ferrodiff.adcore.ir.instructions import Call, ExtractValue, GetElementPtr, Instruction, Invoke, Load
from ferrodiff.adcore.ir.types import IntType, PointerType, StructType, Type, f64, ptr, void
from ferrodiff.adcore.ir.values import Argument, Block, Function
from ferrodiff.adcore.lanes import Lanes
from ferrodiff.adcore.reverse.activity import (
    Activity,
    Path,
    float_leaves,
    holds_pointer,
    is_in_integer,
    leaf_type,
    produced,
    result_paths,
)
from ferrodiff.adcore.reverse.adjoints import Adjoints
from ferrodiff.adcore.reverse.augment import Augmented
from ferrodiff.adcore.reverse.guards import Guards
from ferrodiff.adcore.reverse.recall import Recall
from ferrodiff.adcore.rules.runtime import Role, allocation
from ferrodiff.adcore.session import Session

if TYPE_CHECKING:
    from ferrodiff.adcore.facts.alias import Alias
    from ferrodiff.adcore.facts.memtypes import MemoryTypes


@dataclass(frozen=True)
class Wanted:
    """Which derivative of a function is wanted.

    ``active`` says of each parameter whether it has a shadow or a gradient; ``droppable`` are the inactive
    pointers through which results may leave without a derivative; ``owned`` are pointers to memory that the
    derivative itself made, so that it may be freed by it; ``told`` is what the caller knows of the memory
    behind a parameter, where the function's own accesses leave bytes unknown; ``guarded`` are parameters
    whose shadows may be missing.
    """

    function: str
    active: tuple[bool, ...]
    returns: bool
    droppable: frozenset[int] = frozenset()
    split: bool = False
    exclusive_shadows: bool = False
    owned: frozenset[int] = frozenset()
    told: tuple[tuple[int, tuple[Access, ...]], ...] = ()
    guarded: frozenset[int] = frozenset()


@dataclass(eq=False)
class Derivative:
    """A generated derivative.

    Parameters of ``forward`` are the primal's, then N shadows of every active parameter that holds pointers,
    then (unless split) the seeds of ``result_leaves``. It returns a struct: the primal's result if there is
    one, then the gradients of ``argument_leaves``; if split, the N shadows of a result that holds pointers, and
    the record. ``reverse`` takes the record and the seeds and returns the struct of gradients.
    """

    wanted: Wanted
    primal: Function
    forward: Function
    reverse: Function | None = None
    argument_leaves: list[list[Path]] = field(default_factory=list)
    result_leaves: list[Path] = field(default_factory=list)

    def shadowed(self) -> list[int]:
        """The parameters that are followed by shadows."""
        return [
            k for k, a in enumerate(self.primal.arguments) if self.wanted.active[k] and holds_pointer(a.type)
        ]

    def gradients(self) -> list[tuple[int, Path]]:
        """The gradients returned, in order."""
        return [(k, p) for k, paths in enumerate(self.argument_leaves) for p in paths]


@dataclass
class Suffix:
    """The instructions that a late call puts off, in order, the call first."""

    call: Call
    rest: list[Instruction]


def smallest_float(session: Session) -> int:
    """Bytes of the smallest kind of floats that memory holds anywhere in the module."""
    known = session.facts.get("smallest float")
    if known is None:
        found = set(re.findall(r"(?:load|store|x) (float|half)\b", session.module.text))
        known = session.facts["smallest float"] = 2 if "half" in found else 4 if found else 8
    assert isinstance(known, int)
    return known


class CallFacts:
    """What activity analysis asks about the generated calls of one function."""

    def __init__(
        self,
        session: Session,
        wanted: Wanted,
        derive: Callable[[Wanted], Derivative],
        alias: Alias,
        memory: MemoryTypes,
        late: Suffix | None,
        guards: Guards,
        const_ranges: tuple[tuple[int, int], ...] | None = None,
    ) -> None:
        self.session = session
        self.wanted = wanted
        self.derive = derive
        self.alias = alias
        self.memory = memory
        self.late = late
        self.guards = guards
        self.const_ranges = const_ranges
        self._ours: dict[Value, bool] = {}

    def is_generated(self, call: Call) -> bool:
        """Whether the callee has a body that is differentiated."""
        return self.session.definition(call.callee_name) is not None

    def derivative_of(self, call: Call, activity: Activity) -> Derivative:
        """The derivative of an active call's callee."""
        active = tuple(a in activity.varied for a in call.args)
        droppable = frozenset(
            k
            for k, a in enumerate(call.args)
            if not active[k] and isinstance(a.type, PointerType) and self.may_drop(a)
        )
        split = self.late is None or self.late.call is not call
        owned = frozenset(k for k, a in enumerate(call.args) if active[k] and self._owns(a))
        told = tuple((k, a) for k, a in enumerate(self._told(call)) if a and active[k])
        wanted = Wanted(
            call.callee_name or "",
            active,
            _has_leaves(call.type),
            droppable,
            split,
            not split,
            owned,
            told,
            frozenset(
                k
                for k, a in enumerate(call.args)
                if active[k] and holds_pointer(a.type) and self.guards.is_guarded(a)
            ),
        )
        return self.derive(wanted)

    def _told(self, call: Call) -> list[tuple[Access, ...]]:
        """For every argument the arrays behind it, where the callee's own accesses leave bytes unknown."""
        layout = self.session.module.datalayout
        own = self.memory.callee(call) if self.memory.callee is not None else []
        found: list[tuple[Access, ...]] = []
        for argument, known in zip(call.args, own, strict=False):
            arrays: tuple[Access, ...] = ()
            if isinstance(argument.type, PointerType) and coverage(known, layout) < 1:
                arrays = self.memory.arrays(argument)
                arrays = arrays if coverage(arrays, layout) > coverage(known, layout) else ()
            found.append(arrays)
        return found

    def _owns(self, pointer: Value) -> bool:
        if not isinstance(pointer.type, PointerType):
            return False
        roots = self.alias.roots(pointer)
        return bool(roots) and all(self.is_ours(r) for r in roots)

    def is_ours(self, root: Value) -> bool:
        """Whether a root is memory that this derivative made, or an address it keeps in such memory."""
        if isinstance(root, Constant):
            return not isinstance(root, GlobalRef)
        if isinstance(root, Argument):
            return root.index in self.wanted.owned and self.const_ranges is None
        if self.alias.is_local(root):
            return True
        known = self._ours.get(root)
        if known is None:
            self._ours[root] = True
            known = self._ours[root] = self._comes_from_ours(root)
        return known

    def is_constant(self, root: Value) -> bool:
        """Whether a root is a constant of the program: what stands there is never written, moved or freed."""
        found = self.session.module.globals.get(root.name) if isinstance(root, GlobalRef) else None
        return found is not None and found.is_constant

    def _comes_from_ours(self, root: Value) -> bool:
        if isinstance(root, ExtractValue):
            inner = root.operands[0]
            return isinstance(inner, Call) or self.is_ours(inner)
        if isinstance(root, Load):
            return all(self.is_ours(r) or self.is_constant(r) for r in self.alias.roots(root.pointer))
        return isinstance(root, Call)

    def is_plain(self, to: Value, source: Value) -> bool:
        """Whether memory of unknown layout can be copied word by word (see `Shuttle.words`)."""
        known = self.memory.only_floats(f64, to, source)
        made_here = self.memory.is_made_here(to) and self.memory.is_made_here(source)
        ours = made_here or (self._owns(to) and self._owns(source))
        # Where nothing is known of the memory a small float could be anywhere in it.
        return known and ours and smallest_float(self.session) == 8 and not self.memory.clashes(to, source)

    def argument_leaves(self, call: Call, activity: Activity) -> list[list[Path]]:
        """For every argument the floats in it that get gradients."""
        return self.derivative_of(call, activity).argument_leaves

    def result_leaves(self, call: Call, activity: Activity) -> list[Path]:
        """The floats in the result that take seeds."""
        return self.derivative_of(call, activity).result_leaves

    def returned(self, value: Value, activity: Activity) -> Iterable[Path]:
        """The floats of this function's own result that take seeds."""
        found = set(result_paths(value))
        return found if self.wanted.split else found | produced(value, activity)

    def input_activity(self, insn: Instruction) -> bool | None:
        """Of addresses inside a thunk's arguments, whether their range is active; ``None`` otherwise."""
        if self.const_ranges is None or not isinstance(insn, GetElementPtr):
            return None
        base, offset = self.alias.constant_place(insn)
        if not isinstance(base, Argument) or base.index != 0:
            return None
        return not any(start <= offset < end for start, end in self.const_ranges)

    def integers_may_carry(self) -> bool:
        """Whether integers of unknown meaning may be floats that are passed on to a callee (in thunks)."""
        return self.const_ranges is not None

    def may_drop(self, pointer: Value) -> bool:
        """Whether what is stored here leaves the function without a derivative on purpose."""
        roots = self.alias.roots(pointer)
        return bool(roots) and all(
            isinstance(r, Argument) and (r.index in self.wanted.droppable or r.has_attribute("sret"))
            for r in roots
        )


def _has_leaves(type: Type) -> bool:
    return bool(float_leaves(type)) or isinstance(type, (IntType, StructType)) or type.text.startswith("[")


class CallSweep:
    """Emits generated calls in both sweeps."""

    def __init__(
        self,
        session: Session,
        facts: CallFacts,
        activity: Activity,
        augmented: Augmented,
        recall: Recall,
        adjoints: Adjoints,
        lanes: Lanes,
    ) -> None:
        self.session = session
        self.facts = facts
        self.activity = activity
        self.augmented = augmented
        self.recall = recall
        self.adjoints = adjoints
        self.lanes = lanes
        self.builder: Builder = lanes.builder
        self.records: dict[Call, Value] = {}
        self._replaced: dict[Instruction, Value | None] = {}
        self._ending: dict[Block, Instruction] = {}

    def is_generated(self, call: Call) -> bool:
        """Whether the callee has a body that is differentiated."""
        return self.facts.is_generated(call)

    def is_plain(self, to: Value, source: Value) -> bool:
        """See `CallFacts.is_plain`."""
        return self.facts.is_plain(to, source)

    def may_drop(self, pointer: Value) -> bool:
        """See `CallFacts.may_drop`."""
        return self.facts.may_drop(pointer)

    # -- forward -------------------------------------------------------------------------------------------

    def forward(self, call: Call) -> None:
        """Replace an active call in the forward sweep by a call of its augmented form."""
        if call not in self.activity.active_calls or not self.is_generated(call):
            return
        late = self.facts.late
        if late is not None and late.call is call:
            for insn in (call, *late.rest):
                assert insn.parent is not None
                insn.parent.remove(insn)
            return
        derivative = self.facts.derivative_of(call, self.activity)
        width = self.lanes.width
        scratch = Block("call")
        builder = Builder(self.augmented.function, scratch)
        made = builder.call(
            derivative.forward, derivative.forward.return_type, self._arguments(call, derivative)
        )
        if isinstance(call, Invoke):
            made = self._invoke(call, made, scratch)
        place = 0
        result: Value | None = None
        if call.type is not void:
            result = builder.extract_value(made, place, type=call.type)
            place += 1
        if holds_pointer(call.type):
            shadows = [builder.extract_value(made, place + k, type=call.type) for k in range(width)]
            self.augmented.shadow[call] = tuple(shadows)
            place += width
        record = builder.extract_value(made, place, type=ptr)
        self.records[call] = record
        self._replace(call, list(scratch.instructions), result)

    def _arguments(self, call: Call, derivative: Derivative) -> list[Value]:
        args = list(call.args)
        for k in derivative.shadowed():
            args.extend(self.augmented.of(call.args[k]))
        return args

    def _invoke(self, call: Invoke, made: Call, scratch: Block) -> Call:
        """The same call, leaving its block by the same edges as the primal's."""
        new = Invoke(made.callee, made.function_type, list(made.operands), made.name)
        new.calling_convention = made.calling_convention
        new.normal, new.unwind = call.normal, call.unwind
        scratch.instructions[:] = [new]
        new.parent = scratch
        return new

    def _replace(self, call: Call, new: list[Instruction], result: Value | None) -> None:
        """Put the new call before the old one, which stands for its result until ``finish``."""
        block = call.parent
        assert block is not None
        if isinstance(call, Invoke):
            self._ending[block] = new[0]
            new[0].parent = block
            place = Builder(self.augmented.function).position_at_start(call.normal).before
            for each in new[1:]:
                assert place is not None
                call.normal.insert_before(place, each)
        else:
            for each in new:
                block.insert_before(call, each)
        self._replaced[call] = result

    def finish(self) -> None:
        """Take the old calls out of the forward sweep; their results come from the new ones."""
        if not self._replaced:
            return

        def new_value(value: Value) -> Value:
            new = self._replaced.get(value) if isinstance(value, Instruction) else None
            return value if new is None else new

        for block in self.augmented.function.blocks:
            block.instructions = [i for i in block.instructions if i not in self._replaced]
            if block in self._ending:
                block.append(self._ending[block])
            for insn in block.instructions:
                insn.map_inputs(new_value)

    # -- reverse -------------------------------------------------------------------------------------------

    def reverse(self, call: Call) -> None:
        """Emit the reverse of an active call."""
        derivative = self.facts.derivative_of(call, self.activity)
        lost = set(self.activity.leaves(call)) - set(derivative.result_leaves)
        if any(is_in_integer(call.type, path) for path in lost):
            raise self.session.refuse(
                "a float that a function returns as part of an integer is not followed", call
            )
        seeds: list[Value] = []
        for path in derivative.result_leaves:
            taken = self.adjoints.take(call, path) if self.activity.has_adjoint(call) else None
            seeds.extend(taken if taken is not None else self.lanes.zero(leaf_type(call.type, path)))
        late = self.facts.late
        if late is not None and late.call is call:
            place = 0 if call.type is void else 1
            made = self._late(call, derivative, seeds, late)
        else:
            assert derivative.reverse is not None
            place = 0
            record = self.recall.value(self.records[call])
            made = self.builder.call(derivative.reverse, derivative.reverse.return_type, [record, *seeds])
        for index, path in derivative.gradients():
            argument = call.args[index]
            kind = leaf_type(argument.type, path)
            pieces: list[Value] = []
            for piece in self.lanes.types(kind):
                pieces.append(self.builder.extract_value(made, place, type=piece))
                place += 1
            if self.activity.has_adjoint(argument):
                self.adjoints.add(argument, tuple(pieces), path)

    def _late(self, call: Call, derivative: Derivative, seeds: list[Value], late: Suffix) -> Value:
        args = self._arguments(call, derivative)
        made = self.builder.call(derivative.forward, derivative.forward.return_type, [*args, *seeds])
        known: dict[Value, Value] = {}
        if call.type is not void:
            known[call] = self.builder.extract_value(made, 0, type=call.type)
        for insn in late.rest:
            copy = insn.copy()
            copy.map_inputs(lambda v: known.get(v, v))
            if copy.name is not None:
                copy.name = None
                known[insn] = self.builder.insert(copy, "late")
            else:
                self.builder.insert(copy)
        return made

    def free_if(
        self, condition: Value, allocation_call: Call, block: Value, size: Value, align: Value | None
    ) -> None:
        """Give a block back to the allocator it came from if ``condition`` holds."""
        name = self._deallocator(allocation_call.callee_name or "")
        if name is None:
            return
        what = allocation(name)
        assert what is not None
        then, rest = self.builder.new_block("release"), self.builder.new_block("released")
        self.builder.cond_br(condition, then, rest)
        self.builder.position(then)
        args: dict[int, Value] = {what.pointer or 0: block}
        if what.old_size is not None:
            args[what.old_size] = size
        if what.align is not None and align is not None:
            args[what.align] = align
        self.builder.call(name, void, [args[k] for k in sorted(args)])
        self.builder.br(rest)
        self.builder.position(rest)

    def _deallocator(self, allocator: str) -> str | None:
        rust = "rust" in allocator
        for name in self.session.module.functions:
            what = allocation(name)
            if what is not None and what.role is Role.DEALLOCATE and ("rust" in name) == rust:
                return name
        return None
