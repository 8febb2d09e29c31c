"""The form of a row: which operations it covers, and one partial per operand.

A partial is written as a formula of the operands and the result, named as one reads them:

    Rule(libm("cbrt"), "f", (times(lambda x, r: 1 / (3 * r * r), singular=True),))

A formula takes the operands, then (optionally) the result; for an operation with several results, all of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType
from typing import Any

from ferrodiff.adcore.errors import CannotDifferentiate
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import const
from ferrodiff.adcore.ir.types import FloatType, StructType, Type, is_float_like
from ferrodiff.adcore.rules.emission import Emitted, emit_call
from ferrodiff.adcore.rules.partial import CastPartial, NoDerivative, Partial, Pick, Scale, Unit
from ferrodiff.adcore.rules.terms import Number, Term, Written

Formula = Callable[..., Any]
"""Terms to a term or a number; written as a lambda in the rows."""


class Site:
    """One primal operation whose partials are wanted, and the place where they are computed.

    `operands` and `result` are the primal's values; `type` is the float type (or vector of floats) it works
    in. Partials are emitted at the builder's position, where operands and result must be available; the
    result may be None for rules that do not use it (`Rule.uses_result`).
    """

    def __init__(
        self,
        builder: Builder,
        operands: Sequence[Value],
        result: Value | None,
        type: Type | None = None,
    ) -> None:
        self.builder = builder
        self.operands = tuple(operands)
        self.result = result
        self._shared: dict[str, Emitted] = {}
        self.type = type if type is not None else self._float_type()

    def _float_type(self) -> Type:
        candidates = [*self.operands] + ([self.result] if self.result is not None else [])
        for value in reversed(candidates):
            if is_float_like(value.type):
                return value.type
        raise CannotDifferentiate("the operation has no floating-point operand")

    def const(self, number: Number, type: Type | None = None) -> Value:
        """A constant of the operation's float type (or of `type`)."""
        return const(type or self.type, number)

    def call_math(self, name: str, *args: Value) -> Value:
        """Call a mathematical function on values of one shape."""
        return emit_call(self.builder, name, args)

    def term(self, value: Value) -> Emitted:
        """`value` as a term of a formula."""
        return Emitted(self.builder, value)

    @property
    def operand_terms(self) -> tuple[Emitted, ...]:
        """The operands as terms."""
        return tuple([Emitted(self.builder, v) for v in self.operands])

    def once(self, key: str, make: Callable[[], Emitted]) -> Emitted:
        """What `make` emits, shared by the partials of this site."""
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = make()
        return found

    @property
    def result_terms(self) -> tuple[Emitted, ...]:
        """The result as terms: one, or one per field of a struct."""
        if self.result is None:
            raise ValueError("this rule's formula needs the primal's result")
        if not isinstance(self.result.type, StructType):
            return (self.term(self.result),)
        fields = range(len(self.result.type.fields))
        return tuple(self.term(self.builder.extract_value(self.result, k)) for k in fields)

    def evaluate(self, formula: Formula) -> Term | Number:
        """A formula at this site."""
        found: Term | Number = formula(*self.operand_terms, *self._results(formula))
        return found

    def _results(self, formula: Formula) -> tuple[Emitted, ...]:
        return self.result_terms if len(parameters(formula)) > len(self.operands) else ()


def parameters(formula: Formula) -> tuple[str, ...]:
    """The names of a formula's parameters: operands first, then results."""
    code: CodeType = formula.__code__
    return code.co_varnames[: code.co_argcount]


class PartialRow:
    """The partial in one operand, as the tables hold it. Calling it emits it; `text` is for people."""

    formula: Formula | None = None

    def __call__(self, site: Site) -> Partial:
        raise NotImplementedError

    @property
    def text(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Signed(PartialRow):
    """Plus or minus one."""

    sign: int = 1

    def __call__(self, site: Site) -> Partial:
        return Unit(self.sign)

    @property
    def text(self) -> str:
        return "1" if self.sign > 0 else "-1"


@dataclass(frozen=True, slots=True)
class Times(PartialRow):
    """A factor. `singular` says that it may be infinite or NaN at finite input."""

    formula: Formula | None
    singular: bool = False
    summary: str = ""

    def __call__(self, site: Site) -> Partial:
        assert self.formula is not None
        found = site.evaluate(self.formula)
        if isinstance(found, Emitted):
            return Scale(found.value, self.singular)
        assert isinstance(found, (int, float))
        return Scale(site.const(found), False)

    @property
    def text(self) -> str:
        return self.summary or written(self.formula)


@dataclass(frozen=True, slots=True)
class Chosen(PartialRow):
    """One where the condition holds, else zero."""

    formula: Formula | None

    def __call__(self, site: Site) -> Partial:
        assert self.formula is not None
        found = site.evaluate(self.formula)
        assert isinstance(found, Emitted)
        return Pick(found.value)

    @property
    def text(self) -> str:
        return f"1 if {written(self.formula)} else 0"


@dataclass(frozen=True, slots=True)
class Casting(PartialRow):
    """The cast itself, applied to the tangent."""

    opcode: str

    def __call__(self, site: Site) -> Partial:
        return CastPartial(self.opcode)

    @property
    def text(self) -> str:
        return f"{self.opcode} of the tangent"


@dataclass(frozen=True, slots=True)
class Special(PartialRow):
    """A partial built by a function of its own; `summary` is its text.

    `singular` tells the documentation what `build` puts into its partials.
    """

    summary: str
    build: Callable[[Site], Partial]
    needs_result: bool = False
    singular: bool = False

    def __call__(self, site: Site) -> Partial:
        return self.build(site)

    @property
    def text(self) -> str:
        return self.summary


def written(formula: Formula | None) -> str:
    """A formula as text, in the names of its own parameters."""
    assert formula is not None
    found = formula(*(Written(name) for name in parameters(formula)))
    return str(found)


def times(formula: Formula, singular: bool = False, text: str = "") -> Times:
    """The partial given by a formula; `singular` if it may be infinite or NaN at finite input.

    `text` is how the documentation puts it where the formula is one for machines.
    """
    return Times(formula, singular, text)


def chosen(condition: Formula) -> Chosen:
    """One where the condition holds, zero elsewhere."""
    return Chosen(condition)


SAME = Signed(1)
NEGATED = Signed(-1)


@dataclass(frozen=True, slots=True)
class Write:
    """Memory that a call writes through pointer operand number `operand`.

    `size` is the width of what is written relative to the call's float type for `float` (1), or in bytes for
    `int`. `partials` has one entry per operand for a float, and is None where what is written carries no
    derivative: the shadow memory then becomes zero (floats) or a copy of the primal's (integers).
    """

    operand: int
    kind: str
    partials: tuple[PartialRow | None, ...] | None = None


@dataclass(frozen=True)
class Rule:
    """The derivative of one operation.

    `names` are LLVM opcodes, intrinsics without their type suffix, or symbols. `operands` has a letter per
    operand: `f` float (or vector of floats), `v` vector of floats, `b` condition, `i` integer, `p` pointer,
    `*` anything. `partials[k]` is None where operand k is known to contribute nothing. An operation that
    returns a struct has `fields[j][k]` instead. `choice`, where there is one, is a formula for the
    condition under which the result is operand `choices[0]`, else it is `choices[1]`: a select of two
    tangents is then the whole rule.
    """

    names: tuple[str, ...]
    operands: str
    partials: tuple[PartialRow | None, ...] = ()
    doc: str = ""
    edge: str = ""
    fields: tuple[tuple[PartialRow | None, ...], ...] = ()
    writes: tuple[Write, ...] = ()
    choice: Formula | None = None
    choices: tuple[int, int] = (0, 1)
    floats: dict[str, FloatType] = field(default_factory=dict, hash=False, compare=False)

    @property
    def arity(self) -> int:
        """The number of operands."""
        return len(self.operands)

    @property
    def name(self) -> str:
        """The first name, which the documentation and the tests use."""
        return self.names[0]

    @cached_property
    def is_inactive(self) -> bool:
        """Whether no operand contributes anything: the result's tangent is zero (or it has none)."""
        rows = [*self.partials, *(p for f in self.fields for p in f)]
        written = [p for w in self.writes for p in (w.partials or ())]
        return all(p is None for p in (*rows, *written))

    @cached_property
    def uses_result(self) -> bool:
        """Whether some partial's formula reads the primal's result; if not, `Site.result` may be None."""
        rows = (*self.partials, *(p for f in self.fields for p in f))
        return any(row is not None and self._reads_result(row) for row in rows)

    def uses_result_for(self, operand: int) -> bool:
        """Whether the partial in this operand reads the primal's result."""
        rows = [self.partials[operand]] if self.partials else [f[operand] for f in self.fields]
        return any(row is not None and self._reads_result(row) for row in rows)

    def _reads_result(self, row: PartialRow) -> bool:
        if row.formula is not None:
            return len(parameters(row.formula)) > self.arity
        return isinstance(row, Special) and row.needs_result

    def row(self, operand: int, field: int | None = None) -> PartialRow | None:
        """The table's entry for an operand (and a result field of a struct-valued operation)."""
        if self.fields:
            if field is None:
                raise CannotDifferentiate(f"{self.name} has several results")
            return self.fields[field][operand]
        return self.partials[operand] if self.partials else None

    def partial(self, site: Site, operand: int, field: int | None = None) -> Partial:
        """Emit the partial in one operand; `NoDerivative` where it is known to be zero."""
        row = self.row(operand, field)
        return NoDerivative() if row is None else row(site)

    def condition(self, site: Site) -> Value:
        """Emit the condition of a `choice` rule."""
        if self.choice is None:
            raise ValueError(f"{self.name} does not choose between operands")
        found = site.evaluate(self.choice)
        assert isinstance(found, Emitted)
        return found.value


def libm(*names: str) -> tuple[str, ...]:
    """The symbols of libm functions in double and in single precision."""
    return tuple(spelled for name in names for spelled in (name, name + "f"))


def both(*names: str) -> tuple[str, ...]:
    """LLVM's intrinsic of the same name, then the symbols of libm."""
    return (*(f"llvm.{name}" for name in names), *libm(*names))
