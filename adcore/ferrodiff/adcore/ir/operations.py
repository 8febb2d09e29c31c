"""Instructions that compute: arithmetic, casts, comparisons, phi, vectors and aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.instruction import Instruction
from ferrodiff.adcore.ir.names import quote_name
from ferrodiff.adcore.ir.types import Type
from ferrodiff.adcore.ir.values import Block


class BinaryOp(Instruction):
    """``add`` ... ``frem``: two operands of the result's type."""

    __slots__ = ("opcode",)

    def __init__(
        self,
        opcode: str,
        type: Type,
        left: Value,
        right: Value,
        name: str | None = None,
        flags: tuple[str, ...] = (),
    ) -> None:
        super().__init__(type, [left, right], name, flags)
        self.opcode = opcode

    def text(self) -> str:
        a, b = self.operands
        return f"{self.opcode} {self._flags()}{self.type.text} {a.ref}, {b.ref}"


class UnaryOp(Instruction):
    """``fneg``."""

    __slots__ = ()
    opcode = "fneg"

    def __init__(
        self, type: Type, value: Value, name: str | None = None, flags: tuple[str, ...] = ()
    ) -> None:
        super().__init__(type, [value], name, flags)

    def text(self) -> str:
        return f"fneg {self._flags()}{self.operands[0].operand}"


class Cast(Instruction):
    """``trunc`` ... ``bitcast``: one operand, the result's type is the destination."""

    __slots__ = ("opcode",)

    def __init__(
        self, opcode: str, type: Type, value: Value, name: str | None = None, flags: tuple[str, ...] = ()
    ) -> None:
        super().__init__(type, [value], name, flags)
        self.opcode = opcode

    def text(self) -> str:
        return f"{self.opcode} {self._flags()}{self.operands[0].operand} to {self.type.text}"


class Compare(Instruction):
    """``icmp`` or ``fcmp`` with a ``predicate`` (``slt``, ``oeq``, ...)."""

    __slots__ = ("opcode", "predicate")

    def __init__(
        self,
        opcode: str,
        predicate: str,
        type: Type,
        left: Value,
        right: Value,
        name: str | None = None,
        flags: tuple[str, ...] = (),
    ) -> None:
        super().__init__(type, [left, right], name, flags)
        self.opcode = opcode
        self.predicate = predicate

    def text(self) -> str:
        a, b = self.operands
        return f"{self.opcode} {self._flags()}{self.predicate} {a.operand}, {b.ref}"


class Select(Instruction):
    """``select``: operands are condition, value if true, value if false."""

    __slots__ = ()
    opcode = "select"

    def __init__(
        self, condition: Value, yes: Value, no: Value, name: str | None = None, flags: tuple[str, ...] = ()
    ) -> None:
        super().__init__(yes.type, [condition, yes, no], name, flags)

    def text(self) -> str:
        return f"select {self._flags()}{', '.join(v.operand for v in self.operands)}"


class Phi(Instruction):
    """``phi``: ``operands[k]`` comes from ``incoming_blocks[k]``."""

    __slots__ = ("incoming_blocks",)
    opcode = "phi"

    def __init__(
        self,
        type: Type,
        values: list[Value] | None = None,
        blocks: list[Block] | None = None,
        name: str | None = None,
        flags: tuple[str, ...] = (),
    ) -> None:
        super().__init__(type, values if values is not None else [], name, flags)
        self.incoming_blocks: list[Block] = blocks if blocks is not None else []

    @property
    def incoming(self) -> list[tuple[Value, Block]]:
        """Pairs of value and source block."""
        return list(zip(self.operands, self.incoming_blocks, strict=True))

    def add_incoming(self, value: Value, block: Block) -> None:
        """Add one source."""
        self.operands.append(value)
        self.incoming_blocks.append(block)

    def value_from(self, block: Block) -> Value:
        """The value that comes from a block; ``KeyError`` if none does."""
        for value, source in zip(self.operands, self.incoming_blocks, strict=True):
            if source is block:
                return value
        raise KeyError(block.name)

    def map_blocks(self, function: Callable[[Block], Block]) -> None:
        self.incoming_blocks = [function(b) for b in self.incoming_blocks]

    def text(self) -> str:
        pairs = ", ".join(
            f"[ {v.ref}, %{quote_name(b.name)} ]"
            for v, b in zip(self.operands, self.incoming_blocks, strict=True)
        )
        return f"phi {self._flags()}{self.type.text} {pairs}"


class ExtractValue(Instruction):
    """``extractvalue aggregate, indices``."""

    __slots__ = ("indices",)
    opcode = "extractvalue"

    def __init__(self, type: Type, value: Value, indices: tuple[int, ...], name: str | None = None) -> None:
        super().__init__(type, [value], name)
        self.indices = tuple(indices)

    def text(self) -> str:
        return f"extractvalue {self.operands[0].operand}, {', '.join(map(str, self.indices))}"


class InsertValue(Instruction):
    """``insertvalue aggregate, element, indices``."""

    __slots__ = ("indices",)
    opcode = "insertvalue"

    def __init__(
        self, value: Value, element: Value, indices: tuple[int, ...], name: str | None = None
    ) -> None:
        super().__init__(value.type, [value, element], name)
        self.indices = tuple(indices)

    def text(self) -> str:
        value, element = self.operands
        return f"insertvalue {value.operand}, {element.operand}, {', '.join(map(str, self.indices))}"


class ExtractElement(Instruction):
    """``extractelement vector, index``."""

    __slots__ = ()
    opcode = "extractelement"

    def __init__(self, vector: Value, index: Value, name: str | None = None) -> None:
        super().__init__(vector.type.scalar, [vector, index], name)

    def text(self) -> str:
        return f"extractelement {', '.join(v.operand for v in self.operands)}"


class InsertElement(Instruction):
    """``insertelement vector, element, index``."""

    __slots__ = ()
    opcode = "insertelement"

    def __init__(self, vector: Value, element: Value, index: Value, name: str | None = None) -> None:
        super().__init__(vector.type, [vector, element, index], name)

    def text(self) -> str:
        return f"insertelement {', '.join(v.operand for v in self.operands)}"


class ShuffleVector(Instruction):
    """``shufflevector a, b, mask``; ``mask`` entries are lane numbers, ``None`` for a poison lane.

    ``scalable`` masks are ``zeroinitializer`` or poison and have one entry per minimum element.
    """

    __slots__ = ("mask",)
    opcode = "shufflevector"

    def __init__(
        self,
        first: Value,
        second: Value,
        mask: Iterable[int | None],
        name: str | None = None,
        flags: tuple[str, ...] = (),
    ) -> None:
        self.mask: tuple[int | None, ...] = tuple(mask)
        assert isinstance(first.type, ty.VectorType)
        result = ty.VectorType(len(self.mask), first.type.element, first.type.scalable)
        super().__init__(result, [first, second], name, flags)

    def text(self) -> str:
        first, second = self.operands
        scalable = "vscale x " if isinstance(self.type, ty.VectorType) and self.type.scalable else ""
        return (
            f"shufflevector {first.operand}, {second.operand}, "
            f"<{scalable}{len(self.mask)} x i32> {_mask_text(self.mask)}"
        )


def _mask_text(mask: tuple[int | None, ...]) -> str:
    if all(m == 0 for m in mask):
        return "zeroinitializer"
    if all(m is None for m in mask):
        return "poison"
    return "<" + ", ".join("i32 poison" if m is None else f"i32 {m}" for m in mask) + ">"


class Freeze(Instruction):
    """``freeze``."""

    __slots__ = ()
    opcode = "freeze"

    def __init__(self, value: Value, name: str | None = None) -> None:
        super().__init__(value.type, [value], name)

    def text(self) -> str:
        return f"freeze {self.operands[0].operand}"


class VAArg(Instruction):
    """``va_arg list, type``."""

    __slots__ = ()
    opcode = "va_arg"

    def __init__(self, type: Type, pointer: Value, name: str | None = None) -> None:
        super().__init__(type, [pointer], name)

    def text(self) -> str:
        return f"va_arg {self.operands[0].operand}, {self.type.text}"


class RawInstruction(Instruction):
    """Anything else, as text: ``pieces`` alternate with local operands and labels (``holes``)."""

    __slots__ = ("holes", "is_terminator", "opcode", "pieces")

    def __init__(
        self,
        opcode: str,
        type: Type,
        pieces: tuple[str, ...],
        holes: list[Value | Block],
        name: str | None = None,
        is_terminator: bool = False,
    ) -> None:
        super().__init__(type, [h for h in holes if isinstance(h, Value)], name)
        self.opcode = opcode
        self.pieces = pieces
        self.holes = holes
        self.is_terminator = is_terminator

    @property
    def targets(self) -> Sequence[Block]:
        return [h for h in self.holes if isinstance(h, Block)]

    def map_inputs(self, function: Callable[[Value], Value]) -> None:
        self.holes = [function(h) if isinstance(h, Value) else h for h in self.holes]
        self.operands = [h for h in self.holes if isinstance(h, Value)]

    def map_blocks(self, function: Callable[[Block], Block]) -> None:
        self.holes = [function(h) if isinstance(h, Block) else h for h in self.holes]

    def text(self) -> str:
        text = self.pieces[0]
        for hole, piece in zip(self.holes, self.pieces[1:], strict=True):
            text += (hole.ref if isinstance(hole, Value) else "%" + quote_name(hole.name)) + piece
        return text
