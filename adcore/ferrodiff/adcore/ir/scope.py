"""Names inside one function while its body is read: values, blocks, and references ahead."""

from __future__ import annotations

import re

from ferrodiff.adcore.errors import ReadError
from ferrodiff.adcore.ir.base import LocalValue, Value
from ferrodiff.adcore.ir.constants import global_ref
from ferrodiff.adcore.ir.instruction import Instruction
from ferrodiff.adcore.ir.names import unquote_name
from ferrodiff.adcore.ir.text import LITERALS, TOKEN, literal
from ferrodiff.adcore.ir.types import Type
from ferrodiff.adcore.ir.values import Block, Function


class Unfit(Exception):
    """A line has not the simple shape that a quick reader handles."""


class Placeholder(LocalValue):
    """Stands for a value that is used before it is defined; none is left after reading."""

    __slots__ = ()

    def __init__(self, type: Type, token: str) -> None:
        self.type = type
        self.ref = token
        self._name = None


class Scope:
    """``values`` and ``blocks`` are keyed by their text (``%x``).

    Values that LLVM only numbered (``%3``) get a name (``v3``) with a prefix that no name in the function
    has, because numbers would have to be renumbered at every change.
    """

    def __init__(self, function: Function, prefix: str) -> None:
        self.function = function
        self.prefix = prefix
        self.values: dict[str, Value] = {}
        self.blocks: dict[str, Block] = {}
        self.placeholders: dict[str, Placeholder] = {}
        self.pending: list[Instruction] = []
        self.missing = False
        self.unnamed_arguments = 0
        for argument in function.arguments:
            number = (argument.name or "").removeprefix(prefix)
            if argument.name != number and number.isdigit():
                self.unnamed_arguments += 1
                self.values["%" + number] = argument
            else:
                self.values[argument.ref] = argument

    def name_of(self, token: str) -> str:
        """The name that a result called ``token`` gets."""
        if token[1] == '"':
            return unquote_name(token[1:])
        return self.prefix + token[1:] if token[1:].isdigit() else token[1:]

    def block(self, token: str) -> Block:
        """The block called ``token`` (``%bb3``), made when first mentioned."""
        found = self.blocks.get(token)
        if found is None:
            if token[:1] != "%":
                raise Unfit
            name = unquote_name(token[1:])
            found = Block(self.prefix + name if name.isdigit() and token[1] != '"' else name, self.function)
            self.blocks[token] = found
        return found

    def label(self, text: str) -> Block:
        """The block that ``label %x`` spells."""
        found = self.blocks.get(text[6:])
        if found is not None:
            return found
        if not text.startswith("label %") or (text[7] != '"' and not TOKEN.fullmatch(text, 6)):
            raise Unfit
        return self.block(text[6:])

    def word(self, type: Type, token: str) -> Value:
        """The operand that one word spells; ``Unfit`` if it is more than a word."""
        found: Value | None = LITERALS.get((type, token))
        if found is not None:
            return found
        if not TOKEN.fullmatch(token):
            if not (token.startswith(('%"', '@"')) and token.endswith('"') and token.count('"') == 2):
                raise Unfit
            if token[0] == "@":
                return global_ref(unquote_name(token[1:]), type)
            return self.local(type, token)
        if token[0] == "%":
            return self.local(type, token)
        found = literal(type, token)
        if found is None:
            raise Unfit
        return found

    def local(self, type: Type, token: str) -> Value:
        """The local value ``token``, or a placeholder for it."""
        found = self.values.get(token)
        if found is not None:
            return found
        self.missing = True
        placeholder = self.placeholders.get(token)
        if placeholder is None:
            placeholder = self.placeholders[token] = Placeholder(type, token)
        return placeholder

    def resolve(self) -> None:
        """Put the definitions in the place of all placeholders."""
        for insn in self.pending:
            insn.map_inputs(self._definition)

    def _definition(self, value: Value) -> Value:
        if not isinstance(value, Placeholder):
            return value
        found = self.values.get(value.ref)
        if found is None:
            raise ReadError(f"{value.ref} is used but not defined in @{self.function.name}")
        return found


def name_arguments(function: Function, text: str) -> str:
    """Choose the prefix for numbered values and name the numbered parameters with it."""
    prefix = "v"
    taken = [a.name or "" for a in function.arguments]
    while re.search(rf'[%\n"]{prefix}\d', text) or any(re.match(rf"{prefix}\d", n) for n in taken):
        prefix += "v"
    for argument in function.arguments:
        if argument.ref[1:].isdigit():
            argument.name = prefix + argument.ref[1:]
    return prefix
