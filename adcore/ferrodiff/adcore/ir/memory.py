"""Instructions on memory."""

from __future__ import annotations

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.instruction import Instruction
from ferrodiff.adcore.ir.types import Type


def _atomic_tail(syncscope: str, ordering: str) -> str:
    scope = f' syncscope("{syncscope}")' if syncscope else ""
    return f"{scope} {ordering}" if ordering else scope


class Alloca(Instruction):
    """``alloca``: stack memory for ``count`` (an operand, if given) values of ``allocated_type``."""

    __slots__ = ("align", "allocated_type", "inalloca")
    opcode = "alloca"

    def __init__(
        self,
        allocated_type: Type,
        align: int | None = None,
        count: Value | None = None,
        name: str | None = None,
        *,
        type: Type = ty.ptr,
        inalloca: bool = False,
    ) -> None:
        super().__init__(type, [] if count is None else [count], name)
        self.allocated_type = allocated_type
        self.align = align
        self.inalloca = inalloca

    @property
    def count(self) -> Value | None:
        """The element count, or ``None`` for one."""
        return self.operands[0] if self.operands else None

    def text(self) -> str:
        text = f"alloca {'inalloca ' if self.inalloca else ''}{self.allocated_type.text}"
        if self.operands:
            text += f", {self.operands[0].operand}"
        if self.align is not None:
            text += f", align {self.align}"
        if isinstance(self.type, ty.PointerType) and self.type.addrspace:
            text += f", addrspace({self.type.addrspace})"
        return text


class Load(Instruction):
    """``load``. ``ordering`` is ``""`` unless atomic; ``align`` in bytes."""

    __slots__ = ("align", "ordering", "syncscope", "volatile")
    opcode = "load"

    def __init__(
        self,
        type: Type,
        pointer: Value,
        align: int | None = None,
        name: str | None = None,
        *,
        volatile: bool = False,
        ordering: str = "",
        syncscope: str = "",
    ) -> None:
        super().__init__(type, [pointer], name)
        self.align = align
        self.volatile = volatile
        self.ordering = ordering
        self.syncscope = syncscope

    @property
    def pointer(self) -> Value:
        """The address."""
        return self.operands[0]

    def text(self) -> str:
        words = f"{'atomic ' if self.ordering else ''}{'volatile ' if self.volatile else ''}"
        text = f"load {words}{self.type.text}, {self.operands[0].operand}"
        if self.ordering:
            text += _atomic_tail(self.syncscope, self.ordering)
        return f"{text}, align {self.align}" if self.align is not None else text


class Store(Instruction):
    """``store``: operands are value and pointer."""

    __slots__ = ("align", "ordering", "syncscope", "volatile")
    opcode = "store"

    def __init__(
        self,
        value: Value,
        pointer: Value,
        align: int | None = None,
        *,
        volatile: bool = False,
        ordering: str = "",
        syncscope: str = "",
    ) -> None:
        super().__init__(ty.void, [value, pointer])
        self.align = align
        self.volatile = volatile
        self.ordering = ordering
        self.syncscope = syncscope

    @property
    def value(self) -> Value:
        """The value stored."""
        return self.operands[0]

    @property
    def pointer(self) -> Value:
        """The address."""
        return self.operands[1]

    def text(self) -> str:
        words = f"{'atomic ' if self.ordering else ''}{'volatile ' if self.volatile else ''}"
        text = f"store {words}{self.operands[0].operand}, {self.operands[1].operand}"
        if self.ordering:
            text += _atomic_tail(self.syncscope, self.ordering)
        return f"{text}, align {self.align}" if self.align is not None else text


class GetElementPtr(Instruction):
    """``getelementptr``: operands are the base and the indices into ``source_type``."""

    __slots__ = ("source_type",)
    opcode = "getelementptr"

    def __init__(
        self,
        type: Type,
        source_type: Type,
        operands: list[Value],
        name: str | None = None,
        flags: tuple[str, ...] = (),
    ) -> None:
        super().__init__(type, operands, name, flags)
        self.source_type = source_type

    @property
    def base(self) -> Value:
        """The pointer that is offset."""
        return self.operands[0]

    @property
    def indices(self) -> list[Value]:
        """The indices, a copy."""
        return self.operands[1:]

    def text(self) -> str:
        operands = ", ".join(v.operand for v in self.operands)
        return f"getelementptr {self._flags()}{self.source_type.text}, {operands}"


class AtomicRMW(Instruction):
    """``atomicrmw``: operands are pointer and value; ``operation`` is ``add``, ``xchg``, ..."""

    __slots__ = ("align", "operation", "ordering", "syncscope", "volatile")
    opcode = "atomicrmw"

    def __init__(
        self,
        operation: str,
        pointer: Value,
        value: Value,
        ordering: str,
        align: int | None = None,
        name: str | None = None,
        *,
        volatile: bool = False,
        syncscope: str = "",
    ) -> None:
        super().__init__(value.type, [pointer, value], name)
        self.operation = operation
        self.align = align
        self.volatile = volatile
        self.ordering = ordering
        self.syncscope = syncscope

    def text(self) -> str:
        pointer, value = self.operands
        text = f"atomicrmw {'volatile ' if self.volatile else ''}{self.operation} {pointer.operand}, "
        text += value.operand + _atomic_tail(self.syncscope, self.ordering)
        return f"{text}, align {self.align}" if self.align is not None else text


class CompareExchange(Instruction):
    """``cmpxchg``: operands are pointer, expected and new value; the result is ``{ T, i1 }``."""

    __slots__ = ("align", "failure_ordering", "ordering", "syncscope", "volatile", "weak")
    opcode = "cmpxchg"

    def __init__(
        self,
        pointer: Value,
        expected: Value,
        new: Value,
        ordering: str,
        failure_ordering: str,
        align: int | None = None,
        name: str | None = None,
        *,
        weak: bool = False,
        volatile: bool = False,
        syncscope: str = "",
    ) -> None:
        super().__init__(ty.StructType((new.type, ty.i1)), [pointer, expected, new], name)
        self.align = align
        self.weak = weak
        self.volatile = volatile
        self.ordering = ordering
        self.failure_ordering = failure_ordering
        self.syncscope = syncscope

    def text(self) -> str:
        words = f"{'weak ' if self.weak else ''}{'volatile ' if self.volatile else ''}"
        text = f"cmpxchg {words}{', '.join(v.operand for v in self.operands)}"
        text += f"{_atomic_tail(self.syncscope, self.ordering)} {self.failure_ordering}"
        return f"{text}, align {self.align}" if self.align is not None else text


class Fence(Instruction):
    """``fence``."""

    __slots__ = ("ordering", "syncscope")
    opcode = "fence"

    def __init__(self, ordering: str, syncscope: str = "") -> None:
        super().__init__(ty.void, [])
        self.ordering = ordering
        self.syncscope = syncscope

    def text(self) -> str:
        return "fence" + _atomic_tail(self.syncscope, self.ordering)
