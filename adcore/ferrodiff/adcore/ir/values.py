"""Arguments, blocks and functions; the constants are re-exported, so this module names every value.

A function read from text parses its header when it is made and its body when ``blocks`` is first looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import LocalValue, Value
from ferrodiff.adcore.ir.constants import (
    ConstAggregate,
    Constant,
    ConstBytes,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstPoison,
    ConstSplat,
    ConstUndef,
    ConstZero,
    GlobalRef,
    RawConstant,
    aggregate,
    const,
    const_bytes,
    const_expr,
    const_float,
    const_int,
    constant_number,
    global_ref,
    is_zero,
    poison,
    raw_constant,
    splat,
    undef,
    zero,
)
from ferrodiff.adcore.ir.types import FunctionType, Type

if TYPE_CHECKING:
    from ferrodiff.adcore.ir.instructions import Instruction, Phi
    from ferrodiff.adcore.ir.module import Module

__all__ = [
    "Argument",
    "Block",
    "ConstAggregate",
    "ConstBytes",
    "ConstExpr",
    "ConstFloat",
    "ConstInt",
    "ConstPoison",
    "ConstSplat",
    "ConstUndef",
    "ConstZero",
    "Constant",
    "Function",
    "GlobalRef",
    "InlineAsm",
    "LocalValue",
    "MetadataOperand",
    "RawConstant",
    "Value",
    "aggregate",
    "const",
    "const_bytes",
    "const_expr",
    "const_float",
    "const_int",
    "constant_number",
    "global_ref",
    "is_zero",
    "poison",
    "raw_constant",
    "splat",
    "undef",
    "uses",
    "zero",
]


class Argument(LocalValue):
    """A parameter. ``attributes`` are raw texts such as ``noalias``, ``align 8``, ``sret(...)``."""

    __slots__ = ("attributes", "index")

    def __init__(self, type: Type, name: str, index: int, attributes: Iterable[str] = ()) -> None:
        self.type = type
        self.name = name
        self.index = index
        self.attributes: tuple[str, ...] = tuple(attributes)

    def has_attribute(self, name: str) -> bool:
        """Whether an attribute is there, with or without a value: ``has_attribute('dereferenceable')``."""
        return any(a == name or a.startswith((name + "(", name + " ")) for a in self.attributes)


class InlineAsm(Value):
    """``asm ...`` as a callee; ``ref`` is the whole text."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        self.type = ty.ptr
        self.ref = text


class MetadataOperand(Value):
    """``metadata ...`` as a call's argument; ``ref`` is the text after ``metadata``.

    ``value`` is the value that ``metadata ptr %x`` wraps, else ``None``.
    """

    __slots__ = ("value",)

    def __init__(self, text: str, value: Value | None = None) -> None:
        self.type = ty.metadata
        self.ref = text
        self.value = value

    @property
    def operand(self) -> str:
        return f"metadata {self.value.operand if self.value is not None else self.ref}"


class Block:
    """A basic block: a label and instructions, the last of which is the terminator."""

    __slots__ = ("instructions", "name", "parent")

    def __init__(self, name: str, parent: Function | None = None) -> None:
        self.name = name
        self.parent = parent
        self.instructions: list[Instruction] = []

    def __repr__(self) -> str:
        return f"<Block %{self.name} of {len(self.instructions)}>"

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    @property
    def terminator(self) -> Instruction | None:
        """The last instruction if it is a terminator; ``None`` while the block is being built."""
        if self.instructions and self.instructions[-1].is_terminator:
            return self.instructions[-1]
        return None

    @property
    def phis(self) -> list[Phi]:
        """The phi instructions at the head of the block."""
        found: list[Phi] = []
        for insn in self.instructions:
            if insn.opcode != "phi":
                break
            found.append(insn)  # type: ignore[arg-type]
        return found

    @property
    def successors(self) -> list[Block]:
        """Targets of the terminator in its order, each once."""
        last = self.instructions[-1] if self.instructions else None
        return list(dict.fromkeys(last.targets)) if last is not None else []

    def append(self, insn: Instruction) -> Instruction:
        """Put an instruction at the end."""
        insn.parent = self
        self.instructions.append(insn)
        return insn

    def insert_before(self, place: Instruction, insn: Instruction) -> Instruction:
        """Put an instruction right before one that is in this block."""
        insn.parent = self
        self.instructions.insert(self._index(place), insn)
        return insn

    def remove(self, insn: Instruction) -> None:
        """Take an instruction out of the block."""
        del self.instructions[self._index(insn)]
        insn.parent = None

    def replace_with(self, insn: Instruction, replacements: Iterable[Instruction]) -> None:
        """Put instructions in the place of one; uses of the old value are left alone."""
        place = self._index(insn)
        new = list(replacements)
        for each in new:
            each.parent = self
        self.instructions[place : place + 1] = new
        insn.parent = None

    def _index(self, insn: Instruction) -> int:
        try:
            return self.instructions.index(insn)
        except ValueError:
            raise ValueError(f"{insn!r} is not in {self!r}") from None


class Function:
    """A function: header, and blocks unless it is a declaration.

    ``linkage`` holds the words before the calling convention (``internal``, ``hidden``, ``dso_local``),
    ``attributes`` everything after the parameter list except personality and metadata (``unnamed_addr #0``).
    ``metadata`` maps attachment kinds to raw text; ``debug`` is that of ``dbg``.
    ``required_declarations`` maps names to ``declare`` lines that code built here relies on.
    """

    __slots__ = (
        "_blocks",
        "_body",
        "_names",
        "arguments",
        "attributes",
        "calling_convention",
        "linkage",
        "metadata",
        "module",
        "name",
        "personality",
        "required_declarations",
        "return_attributes",
        "return_type",
        "vararg",
    )

    def __init__(
        self,
        name: str,
        return_type: Type = ty.void,
        arguments: Iterable[Argument] = (),
        *,
        linkage: str = "",
        calling_convention: str = "",
        return_attributes: tuple[str, ...] = (),
        attributes: str = "",
        personality: str | None = None,
        vararg: bool = False,
        metadata: dict[str, str] | None = None,
        module: Module | None = None,
    ) -> None:
        self.name = name
        self.return_type = return_type
        self.arguments = list(arguments)
        self.linkage = linkage
        self.calling_convention = calling_convention
        self.return_attributes = return_attributes
        self.attributes = attributes
        self.personality = personality
        self.vararg = vararg
        self.metadata = metadata if metadata is not None else {}
        self.module = module
        self.required_declarations: dict[str, str] = {}
        self._blocks: list[Block] | None = []
        self._body: Callable[[Function], list[Block]] | None = None
        self._names: dict[str, int] | None = None

    def __repr__(self) -> str:
        return f"<Function @{self.name}>"

    @property
    def blocks(self) -> list[Block]:
        """The blocks, entry first; parsed on first use. Empty for a declaration."""
        if self._blocks is None:
            assert self._body is not None
            self._blocks = self._body(self)
        return self._blocks

    @blocks.setter
    def blocks(self, blocks: list[Block]) -> None:
        self._blocks = blocks

    def defer(self, body: Callable[[Function], list[Block]]) -> None:
        """Have ``blocks`` made by ``body`` when they are first looked at."""
        self._blocks = None
        self._body = body

    @property
    def is_declaration(self) -> bool:
        """Whether there is no body."""
        return self._blocks is not None and not self._blocks

    @property
    def entry(self) -> Block:
        """The entry block."""
        return self.blocks[0]

    @property
    def debug(self) -> str | None:
        """The raw ``!dbg`` attachment (``!8``), if any."""
        return self.metadata.get("dbg")

    @property
    def function_type(self) -> FunctionType:
        """Return and parameter types."""
        return FunctionType(self.return_type, tuple(a.type for a in self.arguments), self.vararg)

    @property
    def value(self) -> GlobalRef:
        """The function's address as an operand."""
        return global_ref(self.name)

    def instructions(self) -> Iterator[Instruction]:
        """All instructions in block order."""
        for block in self.blocks:
            yield from block.instructions

    def predecessors(self) -> dict[Block, list[Block]]:
        """Predecessors of every block, each once, computed anew at each call."""
        found: dict[Block, list[Block]] = {block: [] for block in self.blocks}
        for block in self.blocks:
            for successor in block.successors:
                found[successor].append(block)
        return found

    def fresh_name(self, hint: str) -> str:
        """A name that no value or block of this function has; ``hint`` itself if it is free."""
        names = self._names
        if names is None:
            names = self._names = self._collect_names()
        if hint not in names:
            names[hint] = 0
            return hint
        count = names[hint]
        while True:
            count += 1
            name = f"{hint}.{count}"
            if name not in names:
                names[hint] = count
                names[name] = 0
                return name

    def forget_names(self) -> None:
        """Have :meth:`fresh_name` look at the function again, after names were set by hand."""
        self._names = None

    def add_block(self, hint: str = "bb", after: Block | None = None) -> Block:
        """A new empty block with a fresh name, at the end or right after another one."""
        block = Block(self.fresh_name(hint), self)
        blocks = self.blocks
        blocks.insert(len(blocks) if after is None else blocks.index(after) + 1, block)
        return block

    def _collect_names(self) -> dict[str, int]:
        names = {a.name: 0 for a in self.arguments if a.name is not None}
        for block in self.blocks:
            names[block.name] = 0
            for insn in block.instructions:
                if insn.name is not None:
                    names[insn.name] = 0
        return names


def uses(function: Function) -> dict[Value, list[Instruction]]:
    """Every local value's users in block order; a user stands once per use. Unused values are absent.

    Callees, operand bundles and values wrapped as metadata count as uses.
    """
    found: dict[Value, list[Instruction]] = {}
    for block in function.blocks:
        for insn in block.instructions:
            for value in insn.inputs():
                if isinstance(value, LocalValue):
                    found.setdefault(value, []).append(insn)
    return found
