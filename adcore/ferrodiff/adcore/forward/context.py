"""What the handlers of one function's forward derivative share: maps from primal values to copies and shadows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.facts.activity import Activity, Analysis, ConstRanges
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.instructions import Instruction
from ferrodiff.adcore.ir.types import FloatType, Type, is_float_like
from ferrodiff.adcore.ir.values import Block, Function, uses
from ferrodiff.adcore.lanes import Lanes, Tangent
from ferrodiff.adcore.session import Session
from ferrodiff.adcore.shadow import Fields, Shadow, Shadows

NONE, ACTIVE, GUARDED = 0, 1, 2
"""Forms of an argument: no shadow; shadows; shadows that may equal the primal (then there is none after all)."""


NO_RANGES = ConstRanges()


@dataclass(frozen=True)
class Signature:
    """Which derivative of a function is meant; also the key of the cache.

    `arguments` holds the form of each primal argument. `result` says whether the result's shadow is wanted,
    `guard` whether shadow pointers found in memory may be those of memory without a shadow.
    """

    function: str
    arguments: tuple[int, ...]
    result: bool
    width: int
    ranges: ConstRanges = NO_RANGES
    guard: bool = False
    mode: str = "forward"


class NeedsGuard(Exception):
    """An address without a shadow was put where shadow addresses are expected: start over with guards."""


class Context:
    """One primal function and its derivative under construction."""

    def __init__(
        self,
        session: Session,
        signature: Signature,
        primal: Function,
        derivative: Function,
        analysis: Analysis,
        form: str,
        call_derivative: Callable[[Function, Signature], Function],
    ) -> None:
        self.session = session
        self.signature = signature
        self.primal = primal
        self.derivative = derivative
        self.analysis = analysis
        self.facts: Activity = analysis.facts
        self.call_derivative = call_derivative
        self.builder = Builder(derivative)
        self.layout = session.module.datalayout
        self.lanes = Lanes(self.builder, signature.width, form)
        self.shadows = Shadows(self.lanes, self.layout)
        self.values: dict[Value, Value] = {}
        self.blocks: dict[Block, Block] = {}
        self.exits: dict[tuple[Block, Block], Block] = {}
        self.shadow: dict[Value, Shadow] = {}
        self.interleaved: dict[Value, FloatType] = {}
        self.skipped: set[Instruction] = set()
        self._uses: dict[Value, list[Instruction]] | None = None
        self._integers: dict[Value, bool | None] = {}
        self._scratch: Value | None = None

    @property
    def width(self) -> int:
        """Lanes."""
        return self.signature.width

    @property
    def uses(self) -> dict[Value, list[Instruction]]:
        """Users of every value of the primal."""
        if self._uses is None:
            self._uses = uses(self.primal)
        return self._uses

    def refuse(
        self, reason: str, insn: Instruction | None = None, help: str | None = None
    ) -> CannotDifferentiate:
        """The error to raise about a primal instruction."""
        return self.session.refuse(reason, insn, help)

    def prim(self, value: Value) -> Value:
        """The copy of a primal value."""
        return self.values.get(value, value)

    def is_active(self, value: Value) -> bool:
        """Whether a primal value has a shadow."""
        return value in self.facts.active

    def tangent(self, value: Value) -> Tangent | None:
        """The tangent of a float; None where it is zero."""
        found = self.shadow.get(value)
        assert not isinstance(found, Fields)
        return found

    def pointers(self, value: Value) -> tuple[Value, ...]:
        """The N shadows of an active address."""
        found = self.shadow.get(value)
        if found is None or isinstance(found, Fields):
            raise self.refuse(
                "the shadow of an address is not known here",
                value if isinstance(value, Instruction) else None,
            )
        return found

    def full(self, value: Value) -> Shadow:
        """The shadow of a value with every inactive part written out, at the builder's place."""

        def inactive(path: tuple[int, ...], ty: Type) -> Tangent:
            return self.inactive_leaf(value, path, ty)

        return self.shadows.complete(value.type, self.shadow.get(value), inactive)

    def inactive_leaf(self, value: Value, path: tuple[int, ...], ty: Type) -> Tangent:
        """The shadow of an inactive part: zero for floats, the primal for addresses, a copy for integers."""
        from ferrodiff.adcore.forward.integers import plain_shadow

        address = value in self.analysis.disguised
        if is_float_like(ty) and not (address and not path):
            return self.lanes.zero(ty)
        leaf: Value = self.prim(value)
        if path:
            leaf = self.builder.extract_value(leaf, *path, type=ty)
            return (leaf,) * self.width
        if value in self.facts.active and isinstance(value, Instruction):
            raise self.refuse("the shadow of this value is wanted where it was not expected", value)
        if self.analysis.is_mixed(value) and not self.signature.guard:
            raise NeedsGuard
        if address:
            return self.lanes.pack([leaf] * self.width) if is_float_like(ty) else (leaf,) * self.width
        return (plain_shadow(self, value, leaf),) * self.width

    def scratch(self, size: int) -> Value:
        """Local memory of at least `size` bytes that nobody reads."""
        from ferrodiff.adcore.ir.types import ArrayType, i8

        if size > 16:
            return self.builder.entry_alloca(ArrayType(size, i8), 16, "scratch")
        if self._scratch is None:
            self._scratch = self.builder.entry_alloca(ArrayType(16, i8), 16, "scratch")
        return self._scratch
