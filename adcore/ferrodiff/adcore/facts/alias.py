"""Which memory a pointer may point into, who may write it, and whether a load can be repeated later.

A pointer is traced to its *roots*: the arguments, allocas, allocation calls, globals and loaded pointers it
may be based on. Two different identified objects never overlap. A ``noalias`` argument overlaps nothing
that is not based on it; a loaded pointer is based on an object only if that object's address was let out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ferrodiff.adcore.facts.cfg import Cfg
from ferrodiff.adcore.facts.loops import constant_offset
from ferrodiff.adcore.ir.constants import Constant, GlobalRef
from ferrodiff.adcore.ir.datalayout import DataLayout
from ferrodiff.adcore.ir.instructions import (
    Alloca,
    Call,
    Cast,
    Freeze,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
)
from ferrodiff.adcore.ir.types import is_pointer
from ferrodiff.adcore.ir.values import Argument, Function, Value, uses
from ferrodiff.adcore.session import global_behind


@dataclass(frozen=True)
class Effect:
    """What a call does to memory.

    ``writes``: pointers whose objects it may write, or ``None`` for all memory it can get at.
    ``captures``: whether it may keep the addresses it is given. ``allocates``: it returns fresh memory.
    """

    writes: tuple[Value, ...] | None = None
    captures: bool = True
    allocates: bool = False


HARMLESS = Effect(writes=(), captures=False)
UNKNOWN = Effect()

_WRITES_NOTHING = ("memory(none)", "memory(read", "readnone", "readonly")
_COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")


class Alias:
    """Alias facts of one function, a snapshot.

    ``effect`` says what a call does (``None`` for what is not known to it); calls of LLVM's own memory
    intrinsics and calls marked ``memory(none)``/``memory(read)`` are understood here.
    """

    def __init__(
        self, function: Function, cfg: Cfg, layout: DataLayout, effect: Callable[[Call], Effect | None]
    ) -> None:
        self.function = function
        self.cfg = cfg
        self.layout = layout
        self._effect = effect
        self._uses = uses(function)
        self._roots: dict[Value, frozenset[Value]] = {}
        self._captured: dict[Value, bool] = {}
        self._writers: list[tuple[Instruction, Effect | None]] = []
        self._position: dict[Instruction, int] = {}
        for block in cfg.order:
            for place, insn in enumerate(block.instructions):
                self._position[insn] = place
                if isinstance(insn, Call):
                    found = self.effect(insn)
                    if found.writes != ():
                        self._writers.append((insn, found))
                elif insn.opcode in ("store", "atomicrmw", "cmpxchg", "fence", "va_arg"):
                    self._writers.append((insn, None))

    def users(self, value: Value) -> list[Instruction]:
        """The instructions that use a value."""
        return self._uses.get(value, [])

    # -- objects -------------------------------------------------------------------------------------------

    def effect(self, call: Call) -> Effect:
        """What a call does to memory."""
        name = call.callee_name or ""
        if name.startswith(_COPIES):
            return Effect(writes=(call.args[0],), captures=False)
        found = self._effect(call)
        if found is not None:
            return found
        if any(word in call.function_attributes for word in _WRITES_NOTHING):
            return Effect(writes=(), captures=is_pointer(call.type))
        return UNKNOWN

    def roots(self, pointer: Value) -> frozenset[Value]:
        """The values a pointer may be based on."""
        found = self._roots.get(pointer)
        if found is None:
            found = self._roots[pointer] = frozenset(self._trace(pointer))
        return found

    def _trace(self, pointer: Value) -> set[Value]:
        found: set[Value] = set()
        seen: set[Value] = set()
        work = [pointer]
        while work:
            at = work.pop()
            if at in seen:
                continue
            seen.add(at)
            if isinstance(at, GetElementPtr):
                work.append(at.base)
            elif isinstance(at, (Phi, Freeze)):
                work.extend(at.operands)
            elif isinstance(at, Select):
                work.extend(at.operands[1:])
            elif isinstance(at, Cast) and at.opcode in ("bitcast", "addrspacecast"):
                work.append(at.operands[0])
            elif isinstance(at, Constant) and not isinstance(at, GlobalRef):
                behind = global_behind(at)
                if behind is not None:
                    work.append(behind)
            elif not (isinstance(at, Cast) and at.opcode == "inttoptr" and self._is_dangling(at)):
                found.add(at)
        return found

    def _is_dangling(self, cast: Cast) -> bool:
        """Whether an address was made of a number that no address and nothing from memory went into."""
        seen: set[Value] = set()
        work: list[Value] = [cast.operands[0]]
        while work:
            at = work.pop()
            if at in seen or isinstance(at, Constant):
                continue
            seen.add(at)
            if (
                not isinstance(at, Instruction)
                or isinstance(at, Load)
                or at.opcode in ("ptrtoint", "landingpad")
            ):
                return False
            if not isinstance(at, Call):
                work.extend(at.operands)
            elif any(is_pointer(a.type) for a in at.args):
                return False
            elif not self._is_foreign(at):
                work.extend(at.args)
        return True

    def _is_foreign(self, call: Call) -> bool:
        """Whether a callee has no body here (the library's functions on layouts, which know no addresses)."""
        module = self.function.module
        return module is not None and call.callee_name in module.declarations

    def is_local(self, root: Value) -> bool:
        """Whether a root is memory that this function made: an alloca or a fresh allocation."""
        return isinstance(root, Alloca) or (isinstance(root, Call) and self.effect(root).allocates)

    def is_identified(self, root: Value) -> bool:
        """Whether a root is an object different from every other identified one."""
        return self.is_local(root) or isinstance(root, GlobalRef)

    def is_captured(self, root: Value) -> bool:
        """Whether the object's address may be found in memory or elsewhere than in values based on it."""
        found = self._captured.get(root)
        if found is None:
            found = self._captured[root] = self._escapes(root)
        return found

    def _escapes(self, root: Value) -> bool:
        seen = {root}
        work = [root]
        while work:
            at = work.pop()
            for user in self._uses.get(at, ()):
                if isinstance(user, (Load,)) or user.opcode in ("icmp", "fence"):
                    continue
                if isinstance(user, Store):
                    if user.value is at:
                        return True
                elif isinstance(user, Call):
                    if self._call_captures(user, at):
                        return True
                elif isinstance(user, (GetElementPtr, Phi, Select, Freeze)) or user.opcode == "bitcast":
                    if user not in seen:
                        seen.add(user)
                        work.append(user)
                else:
                    return True
        return False

    def _call_captures(self, call: Call, value: Value) -> bool:
        if not self.effect(call).captures:
            return False
        return (
            any(
                argument is value and "nocapture" not in attrs and "captures(none)" not in attrs
                for argument, attrs in zip(call.args, call.arg_attributes, strict=True)
            )
            or value not in call.args
        )

    # -- overlap -------------------------------------------------------------------------------------------

    def may_alias(self, p: Value, q: Value) -> bool:
        """Whether the memory around ``p`` and around ``q`` may be the same object."""
        return any(self._roots_meet(a, b) for a in self.roots(p) for b in self.roots(q))

    def _roots_meet(self, a: Value, b: Value) -> bool:
        if a is b:
            return True
        if self.is_identified(a) and self.is_identified(b):
            return False
        for one, other in ((a, b), (b, a)):
            exclusive = isinstance(one, Argument) and one.has_attribute("noalias")
            if exclusive and (isinstance(other, (Argument, GlobalRef)) or self.is_local(other)):
                return False
            if (exclusive or self.is_local(one)) and not self.is_captured(one):
                return False
            if self.is_local(one) and isinstance(other, Argument):
                return False
        return True

    def overlap(self, p: Value, size_p: int | None, q: Value, size_q: int | None) -> bool:
        """Whether accesses of so many bytes (``None``: unknown) at two pointers may touch the same byte."""
        if not self.may_alias(p, q):
            return False
        if size_p is None or size_q is None:
            return True
        base_p, at_p = self.constant_place(p)
        base_q, at_q = self.constant_place(q)
        if base_p is not base_q or not self._is_stable(base_p):
            return True
        return at_p < at_q + size_q and at_q < at_p + size_p

    def constant_place(self, pointer: Value) -> tuple[Value, int]:
        """``pointer`` as another pointer plus a constant number of bytes, as far as that goes."""
        total = 0
        while isinstance(pointer, GetElementPtr):
            offset = constant_offset(pointer, self.layout)
            if offset is None:
                break
            total += offset
            pointer = pointer.base
        return pointer, total

    def _is_stable(self, base: Value) -> bool:
        """Whether a value is the same pointer whenever it is looked at (it does not change over iterations)."""
        if isinstance(base, Instruction):
            block = base.parent
            return block is not None and block not in self.cfg.reachable_from(block)
        return True

    # -- repeating loads -----------------------------------------------------------------------------------

    def runs_after(self, earlier: Instruction, later: Instruction) -> bool:
        """Whether ``later`` may run after ``earlier`` has."""
        a, b = earlier.parent, later.parent
        assert a is not None and b is not None
        if b in self.cfg.reachable_from(a):
            return True
        return a is b and self._position[later] > self._position[earlier]

    def overwriter(self, load: Instruction, pointer: Value, size: int | None) -> Instruction | None:
        """An instruction that may change, after ``load``, the memory it read; ``None`` if there is none."""
        if "invariant.load" in load.metadata:
            return None
        for insn, effect in self._writers:
            reached = insn.parent in self.cfg.live and self.runs_after(load, insn)
            if reached and self._may_write(insn, effect, pointer, size):
                return insn
        return None

    def _may_write(self, insn: Instruction, effect: Effect | None, pointer: Value, size: int | None) -> bool:
        if isinstance(insn, Store):
            written = self.layout.store_size(insn.value.type)
            return self.overlap(insn.pointer, written, pointer, size)
        if effect is not None and effect.writes is not None:
            return any(self.may_alias(p, pointer) for p in effect.writes)
        if isinstance(insn, Call):
            return any(self._call_reaches(insn, root) for root in self.roots(pointer))
        return True

    def _call_reaches(self, call: Call, root: Value) -> bool:
        """Whether an unknown call can get at a root's memory."""
        if isinstance(root, GlobalRef):
            return True
        if self.is_local(root) and not self.is_captured(root):
            return any(is_pointer(a.type) and root in self.roots(a) for a in call.args)
        return True
