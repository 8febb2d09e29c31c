"""Pointers of which only run time knows whether they have a shadow.

A pointer to constant data may meet active pointers: in a phi or select, or in memory that holds both. Such a
function is derived anew with guards (`NeedsGuard`). The shadow of an inactive pointer is then the primal
pointer itself, through all arithmetic; in shadow memory it may be null, and is replaced when it is loaded.
What uses a guarded shadow compares it with its primal first and turns to a sink where they are the same.
"""

from __future__ import annotations

from collections.abc import Callable

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import Constant, GlobalRef, poison, zero
from ferrodiff.adcore.ir.instructions import Alloca, Call, Load
from ferrodiff.adcore.ir.types import ArrayType, PointerType, StructType, i8, void
from ferrodiff.adcore.ir.values import Argument
from ferrodiff.adcore.reverse.activity import holds_pointer
from ferrodiff.adcore.reverse.storage import Frame
from ferrodiff.adcore.rules.runtime import allocation
from ferrodiff.adcore.session import Session
from ferrodiff.adcore.stops import stop_if

SINK = 128
"""Bytes of a sink."""

TEXT_ALIGNMENT = 4
"""Constants that are aligned to less hold no floats."""

_LOST = "ferrodiff.lost_adjoint"
_MESSAGE = "an adjoint would be taken from memory that has no shadow, and be lost"


class NeedsGuard(Exception):
    """A pointer without a shadow meets pointers with one: start over with guards."""


class Guards:
    """The guarded pointers of one function; without ``on`` there are none.

    ``guarded`` are the indices of parameters whose shadows may be missing; ``is_thunk`` says that the function's
    parameters are a derivative's packed ones, whose shadows the user gave.
    """

    def __init__(
        self, session: Session, alias: Alias, on: bool, guarded: frozenset[int], is_thunk: bool
    ) -> None:
        self.session = session
        self.alias = alias
        self.on = on
        self.guarded = guarded
        self.is_thunk = is_thunk
        self._sinks: dict[tuple[Frame, str], Value] = {}

    def stand_in(self, value: Value) -> Value:
        """The shadow of an inactive pointer, or of an aggregate with such pointers, where active ones may be."""
        if not holds_pointer(value.type):
            return poison(value.type)
        if self.on and not isinstance(value, Constant):
            return value
        if all(self._holds_no_float(r) for r in self.alias.roots(value)):
            return zero(value.type) if isinstance(value.type, PointerType) else poison(value.type)
        self.require()
        return value

    def require(self) -> None:
        """Raises `NeedsGuard` unless there are guards."""
        if not self.on:
            raise NeedsGuard

    def _holds_no_float(self, root: Value) -> bool:
        """Whether nothing active can be reached from a root: no object, code, text, or a table of code."""
        if not isinstance(root, GlobalRef):
            return isinstance(root, Constant)
        module = self.session.module
        if root.name in module.functions:
            return True
        found = module.globals.get(root.name)
        if found is None or not found.is_constant:
            return False
        stated = found.raw.rpartition(", align ")[2].split(",")[0].split(" ")[0]
        return (stated.isdigit() and int(stated) < TEXT_ALIGNMENT) or self._is_code_table(found.initializer)

    def _is_code_table(self, initializer: Constant | None) -> bool:
        parts = getattr(initializer, "elements", ())
        pointers = [p for p in parts if isinstance(p.type, PointerType)]
        return bool(pointers) and all(
            isinstance(p, GlobalRef) and p.name in self.session.module.functions for p in pointers
        )

    def is_guarded(self, pointer: Value) -> bool:
        """Whether a pointer's shadow may be the pointer itself."""
        if not self.on:
            return False
        roots = self.alias.roots(pointer)
        return len(roots) != 1 or any(self._may_lack(r) for r in roots)

    def _may_lack(self, root: Value) -> bool:
        if isinstance(root, Alloca):
            return False
        if isinstance(root, Argument):
            return root.index in self.guarded
        if isinstance(root, Call):
            return allocation(root.callee_name or "") is None
        if self.is_thunk and isinstance(root, Load):
            return any(not isinstance(r, Argument) for r in self.alias.roots(root.pointer))
        return True

    # -- emitted code --------------------------------------------------------------------------------------

    def sink(self, frame: Frame, name: str) -> Value:
        """Scratch memory of a function."""
        found = self._sinks.get((frame, name))
        if found is None:
            found = self._sinks[frame, name] = frame.alloca(ArrayType(SINK, i8), name, None, 16)
        return found

    def missing(self, builder: Builder, shadow: Value, primal: Value) -> Value:
        """Whether a guarded shadow is none."""
        return builder.icmp("eq", shadow, primal)

    def stop_if(self, builder: Builder, lost: Value) -> None:
        """Stop the program where an adjoint would be taken from memory that has no shadow."""
        builder.call(stop_if(self.session, _LOST, _MESSAGE), void, [lost])


def normalise(
    builder: Builder,
    shadow: Value,
    primal: Value,
    leaves: Callable[[StructType | ArrayType], list[tuple[int, ...]]],
) -> Value:
    """A loaded shadow in which null pointers are replaced by the primal's."""
    if isinstance(shadow.type, PointerType):
        return builder.select(builder.icmp("eq", shadow, zero(shadow.type)), primal, shadow)
    assert isinstance(shadow.type, (StructType, ArrayType))
    for path in leaves(shadow.type):
        found, own = (builder.extract_value(v, *path) for v in (shadow, primal))
        shadow = builder.insert_value(shadow, normalise(builder, found, own, leaves), *path)
    return shadow
