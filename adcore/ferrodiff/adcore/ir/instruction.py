"""The base of all instructions; ``str(insn)`` is the canonical text without indentation.

All inputs that are values stand in ``operands`` except a call's callee and operand bundles; ``inputs()``
gives them all and ``map_inputs`` replaces them. Blocks that an instruction names (branch targets, phi
sources) are reached by ``targets`` and ``map_blocks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Self

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import LocalValue, Value
from ferrodiff.adcore.ir.names import quote_name
from ferrodiff.adcore.ir.types import Type
from ferrodiff.adcore.ir.values import Block

FAST_MATH = frozenset({"fast", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"})
"""The fast-math flags."""

_SLOTS: dict[type, tuple[str, ...]] = {}


def _all_slots(cls: type) -> tuple[str, ...]:
    found = _SLOTS.get(cls)
    if found is None:
        found = tuple(s for base in cls.__mro__ for s in getattr(base, "__slots__", ()))
        _SLOTS[cls] = found
    return found


def label_text(block: Block) -> str:
    return f"label %{quote_name(block.name)}"


class Instruction(LocalValue):
    """Base of all instructions. ``type`` is the result's type (``void`` if there is none)."""

    __slots__ = ("flags", "metadata", "operands", "parent")
    opcode: str
    operands: list[Value]
    parent: Block | None
    flags: tuple[str, ...]
    metadata: dict[str, str]
    is_terminator = False

    def __init__(
        self, type: Type, operands: list[Value], name: str | None = None, flags: tuple[str, ...] = ()
    ) -> None:
        self.type = type
        self.operands = operands
        self.flags = flags
        self.metadata = {}
        self.parent = None
        self._name = name
        self.ref = "" if name is None else "%" + quote_name(name)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        text = self.text()
        if self.type is not ty.void:
            text = f"{self.ref or '%?'} = {text}"
        for kind, node in self.metadata.items():
            text += f", !{kind} {node}"
        return text

    def text(self) -> str:
        """The instruction without its result's name and without metadata."""
        raise NotImplementedError

    @property
    def targets(self) -> Sequence[Block]:
        """Blocks that control may go to next, in the instruction's order (repeats kept)."""
        return ()

    def inputs(self) -> Iterable[Value]:
        """Every value the instruction reads, constants included."""
        return self.operands

    def map_inputs(self, function: Callable[[Value], Value]) -> None:
        """Replace every input by ``function(input)``."""
        self.operands = [function(v) for v in self.operands]

    def map_blocks(self, function: Callable[[Block], Block]) -> None:
        """Replace every block named (targets, phi sources) by ``function(block)``."""

    def copy(self) -> Self:
        """A copy with the same inputs and the same name, in no block."""
        new = object.__new__(type(self))
        for slot in _all_slots(type(self)):
            value = getattr(self, slot)
            setattr(new, slot, value.copy() if value.__class__ in (list, dict) else value)
        new.parent = None
        return new

    def _flags(self) -> str:
        return " ".join(self.flags) + " " if self.flags else ""
