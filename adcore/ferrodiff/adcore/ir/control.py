"""Instructions that direct control: terminators, calls and landing pads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import LocalValue, Value
from ferrodiff.adcore.ir.constants import ConstInt, GlobalRef
from ferrodiff.adcore.ir.instruction import Instruction, label_text
from ferrodiff.adcore.ir.types import FunctionType, Type
from ferrodiff.adcore.ir.values import Block, InlineAsm, MetadataOperand

_BARRIER = re.compile(r'asm (?:[a-z]+ )*"", "[^"=]*"\Z')


class Unreachable(Instruction):
    """``unreachable``."""

    __slots__ = ()
    opcode = "unreachable"
    is_terminator = True

    def __init__(self) -> None:
        super().__init__(ty.void, [])

    def text(self) -> str:
        return "unreachable"


class Return(Instruction):
    """``ret``: no operand for ``ret void``."""

    __slots__ = ()
    opcode = "ret"
    is_terminator = True

    def __init__(self, value: Value | None = None) -> None:
        super().__init__(ty.void, [] if value is None else [value])

    @property
    def value(self) -> Value | None:
        """The value returned, if any."""
        return self.operands[0] if self.operands else None

    def text(self) -> str:
        return f"ret {self.operands[0].operand}" if self.operands else "ret void"


class Branch(Instruction):
    """``br``: one target, or a condition and the targets if true and if false."""

    __slots__ = ("_targets",)
    opcode = "br"
    is_terminator = True

    def __init__(self, targets: Iterable[Block], condition: Value | None = None) -> None:
        super().__init__(ty.void, [] if condition is None else [condition])
        self._targets: list[Block] = list(targets)

    @property
    def targets(self) -> list[Block]:
        return self._targets

    @property
    def condition(self) -> Value | None:
        """The condition, or ``None`` of an unconditional branch."""
        return self.operands[0] if self.operands else None

    def map_blocks(self, function: Callable[[Block], Block]) -> None:
        self._targets = [function(b) for b in self._targets]

    def text(self) -> str:
        labels = ", ".join(label_text(b) for b in self._targets)
        return f"br {self.operands[0].operand}, {labels}" if self.operands else f"br {labels}"


class Switch(Instruction):
    """``switch``: ``default`` and ``cases``, pairs of constant and block."""

    __slots__ = ("cases", "default")
    opcode = "switch"
    is_terminator = True

    def __init__(self, value: Value, default: Block, cases: Iterable[tuple[ConstInt, Block]] = ()) -> None:
        super().__init__(ty.void, [value])
        self.default = default
        self.cases: list[tuple[ConstInt, Block]] = list(cases)

    @property
    def targets(self) -> list[Block]:
        return [self.default, *(b for _, b in self.cases)]

    def map_blocks(self, function: Callable[[Block], Block]) -> None:
        self.default = function(self.default)
        self.cases = [(c, function(b)) for c, b in self.cases]

    def text(self) -> str:
        cases = "".join(f"    {c.operand}, {label_text(b)}\n" for c, b in self.cases)
        return f"switch {self.operands[0].operand}, {label_text(self.default)} [\n{cases}  ]"


class Resume(Instruction):
    """``resume``."""

    __slots__ = ()
    opcode = "resume"
    is_terminator = True

    def __init__(self, value: Value) -> None:
        super().__init__(ty.void, [value])

    def text(self) -> str:
        return f"resume {self.operands[0].operand}"


class LandingPad(Instruction):
    """``landingpad``; ``clauses`` are raw texts (``cleanup``, ``catch ptr null``)."""

    __slots__ = ("clauses",)
    opcode = "landingpad"

    def __init__(self, type: Type, clauses: Iterable[str], name: str | None = None) -> None:
        super().__init__(type, [], name)
        self.clauses = tuple(clauses)

    def text(self) -> str:
        return "\n          ".join((f"landingpad {self.type.text}", *self.clauses))


class Call(Instruction):
    """``call``. ``operands`` (also ``args``) are the arguments; ``callee`` is apart.

    ``arg_attributes[k]`` are raw texts of argument k; ``function_attributes`` is the raw text after the
    argument list (``#19``); ``tail`` is ``""``, ``tail``, ``musttail`` or ``notail``; ``bundles`` are pairs
    of tag and values.
    """

    __slots__ = (
        "arg_attributes",
        "bundles",
        "callee",
        "calling_convention",
        "function_attributes",
        "function_type",
        "return_attributes",
        "tail",
    )
    opcode = "call"

    def __init__(
        self,
        callee: Value,
        function_type: FunctionType,
        args: list[Value],
        name: str | None = None,
        flags: tuple[str, ...] = (),
        *,
        arg_attributes: list[tuple[str, ...]] | None = None,
        return_attributes: tuple[str, ...] = (),
        calling_convention: str = "",
        function_attributes: str = "",
        tail: str = "",
        bundles: Iterable[tuple[str, list[Value]]] = (),
    ) -> None:
        super().__init__(function_type.ret, args, name, flags)
        self.callee = callee
        self.function_type = function_type
        self.arg_attributes: list[tuple[str, ...]] = (
            arg_attributes if arg_attributes is not None else [()] * len(args)
        )
        self.return_attributes = return_attributes
        self.calling_convention = calling_convention
        self.function_attributes = function_attributes
        self.tail = tail
        self.bundles: list[tuple[str, list[Value]]] = list(bundles)

    @property
    def args(self) -> list[Value]:
        """The arguments."""
        return self.operands

    @property
    def callee_name(self) -> str | None:
        """The name of the function called; ``None`` of an indirect call or inline assembly."""
        return self.callee.name if isinstance(self.callee, GlobalRef) else None

    @property
    def is_inline_asm(self) -> bool:
        """Whether the callee is inline assembly."""
        return isinstance(self.callee, InlineAsm)

    @property
    def is_barrier(self) -> bool:
        """Whether this is assembly without instructions or results, as in `std::hint::black_box`: nothing is done."""
        return self.is_inline_asm and _BARRIER.match(self.callee.ref) is not None

    def inputs(self) -> Iterable[Value]:
        if self.callee.__class__ is GlobalRef and not self.bundles and self.type is not ty.void:
            return self.operands
        return self._inputs()

    def _inputs(self) -> list[Value]:
        found: list[Value] = []
        for value in self.operands:
            wrapped = value.value if isinstance(value, MetadataOperand) else value
            found.append(value if wrapped is None else wrapped)
        if isinstance(self.callee, LocalValue):
            found.append(self.callee)
        for _, values in self.bundles:
            found.extend(values)
        return found

    def map_inputs(self, function: Callable[[Value], Value]) -> None:
        self.operands = [
            MetadataOperand(v.ref, function(v.value))
            if isinstance(v, MetadataOperand) and v.value is not None
            else function(v)
            for v in self.operands
        ]
        if not isinstance(self.callee, InlineAsm):
            self.callee = function(self.callee)
        self.bundles = [(tag, [function(v) for v in values]) for tag, values in self.bundles]

    def text(self) -> str:
        return (self.tail + " " if self.tail else "") + "call " + self._call_text()

    def _call_text(self) -> str:
        words = [*self.flags]
        if self.calling_convention:
            words.append(self.calling_convention)
        words.extend(self.return_attributes)
        words.append(self.function_type.text if self.function_type.vararg else self.function_type.ret.text)
        args = ", ".join(
            f"{v.type.text} {' '.join(a)} {v.ref}" if a else v.operand
            for v, a in zip(self.operands, self.arg_attributes, strict=True)
        )
        text = f"{' '.join(words)} {self.callee.ref}({args})"
        if self.function_attributes:
            text += " " + self.function_attributes
        if self.bundles:
            text += f" [ {', '.join(map(_bundle_text, self.bundles))} ]"
        return text


def _bundle_text(bundle: tuple[str, list[Value]]) -> str:
    tag, values = bundle
    return f'"{tag}"({", ".join(v.operand for v in values)})'


class Invoke(Call):
    """``invoke``: a call that goes on at ``normal``, or at ``unwind`` when it unwinds."""

    __slots__ = ("normal", "unwind")
    opcode = "invoke"
    is_terminator = True
    normal: Block
    unwind: Block

    @property
    def targets(self) -> Sequence[Block]:
        return (self.normal, self.unwind)

    def map_blocks(self, function: Callable[[Block], Block]) -> None:
        self.normal = function(self.normal)
        self.unwind = function(self.unwind)

    def text(self) -> str:
        return (
            f"invoke {self._call_text()}\n"
            f"          to {label_text(self.normal)} unwind {label_text(self.unwind)}"
        )
