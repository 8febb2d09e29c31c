"""Adjoints of SSA values: accumulated directly inside a block, in entry allocas across blocks.

An adjoint belongs to one float of a value (``path`` leads to it in an aggregate). The neutral element is -0.0,
because ``x + -0.0`` is ``x`` for every x, so LLVM folds it away; adjoints are reset when they are taken.
"""

from __future__ import annotations

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import const
from ferrodiff.adcore.ir.instructions import Instruction, Phi
from ferrodiff.adcore.ir.values import Block, Function, uses
from ferrodiff.adcore.lanes import Lanes, Tangent
from ferrodiff.adcore.reverse.activity import Path, leaf_type
from ferrodiff.adcore.reverse.storage import Frame

Key = tuple[Value, Path]


class Adjoints:
    """The adjoints of one function's values in its reverse sweep."""

    def __init__(self, primal: Function, frame: Frame, lanes: Lanes) -> None:
        self.frame = frame
        self.lanes = lanes
        self.builder: Builder = lanes.builder
        self._crossing = {value for value, users in uses(primal).items() if _is_used_elsewhere(value, users)}
        self._slots: dict[Key, tuple[Value, ...]] = {}
        self._here: dict[Key, Tangent] = {}
        self.block: Block | None = None

    def let_cross(self, value: Value) -> None:
        """Have a value's adjoint kept across blocks."""
        self._crossing.add(value)

    def enter(self, block: Block) -> None:
        """Begin the reverse of a block of the primal."""
        self._here = {}
        self.block = block

    def add(self, value: Value, tangent: Tangent | None, path: Path = ()) -> None:
        """Accumulate into the adjoint of (a float in) a value."""
        if tangent is None:
            return
        key = (value, path)
        before = self._here.get(key)
        self._here[key] = tangent if before is None else self.lanes.add(before, tangent)

    def take(self, value: Value, path: Path = ()) -> Tangent | None:
        """The adjoint of (a float in) a value at its definition, which is reset. ``None`` if it is zero."""
        key = (value, path)
        here = self._here.pop(key, None)
        if not self._crosses(value):
            return here
        total = self._load(key)
        for place, piece in zip(self._slot(key), total, strict=True):
            self.builder.store(const(piece.type, -0.0), place)
        return total if here is None else self.lanes.add(total, here)

    def flush(self) -> None:
        """Move what this block has accumulated for values of other blocks to their places."""
        for key, tangent in self._here.items():
            total = self.lanes.add(self._load(key), tangent)
            for place, piece in zip(self._slot(key), total, strict=True):
                self.builder.store(piece, place)
        self._here = {}

    def _crosses(self, value: Value) -> bool:
        return value in self._crossing

    def _slot(self, key: Key) -> tuple[Value, ...]:
        found = self._slots.get(key)
        if found is None:
            leaf = leaf_type(key[0].type, key[1])
            found = self._slots[key] = tuple(
                self.frame.alloca(t, "adjoint", const(t, -0.0)) for t in self.lanes.types(leaf)
            )
        return found

    def _load(self, key: Key) -> Tangent:
        leaf = leaf_type(key[0].type, key[1])
        kinds = self.lanes.types(leaf)
        return tuple(self.builder.load(t, p) for t, p in zip(kinds, self._slot(key), strict=True))


def _is_used_elsewhere(value: Value, users: list[Instruction]) -> bool:
    home = value.parent if isinstance(value, Instruction) else None
    return any(isinstance(u, Phi) or u.parent is not home for u in users)
