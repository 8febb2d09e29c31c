"""Reading types, constants and attributes from canonical LLVM text.

One :class:`Cursor` walks over one line. Types and literals are looked up by their text first, because a
module uses few different ones many times.
"""

from __future__ import annotations

import re

from ferrodiff.adcore.errors import ReadError
from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import (
    Constant,
    aggregate,
    const_bytes,
    const_expr,
    float_from_text,
    global_ref,
    int_of,
    poison,
    raw_constant,
    splat,
    undef,
    zero,
)
from ferrodiff.adcore.ir.names import unescape, unquote_name
from ferrodiff.adcore.ir.opcodes import CASTS
from ferrodiff.adcore.ir.types import FloatType, IntType, Type, VectorType

NAME = r'(?:"[^"]*"|[-a-zA-Z$._0-9]+)'
TOKEN = re.compile(r"[%@]?[-+\w.$]+")
"""An operand that is one word: a local or global name without quotes, or a literal."""

_SIMPLE_TYPE = re.compile(
    r"(?:\[\d+ x [a-z]\w*\]|<\d+ x [a-z]\w*>|i\d+|ptr(?: addrspace\(\d+\))?|double|float|void|half|bfloat"
    r"|x86_fp80|fp128|ppc_fp128|label|metadata|token)(?![\w(])"
)
_TYPE_START = re.compile(
    r"(?:[\[{<%]|i\d+\b|ptr\b|double\b|float\b|void\b|half\b|bfloat\b|x86_fp80\b|fp128\b|ppc_fp128\b"
    r"|label\b|metadata\b|token\b|target\()"
)
_WORD = re.compile(r"[-+\w.]+")
_NUMBER = re.compile(r"-?\d+")
_NAME = re.compile(NAME)
_GLOBAL = re.compile("@(" + NAME + ")")
_LOCAL = re.compile("%" + NAME)
_TYPE_NAME = re.compile("%(" + NAME + ")")
_STRING = re.compile(r'c"([^"]*)"')
_ATTRIBUTE = re.compile(r'align \d+|(?:"[^"]*"|\w+)(?:=(?:"[^"]*"|\w+))?')
_PLAIN_TYPES: dict[str, Type] = {
    "ptr": ty.ptr,
    "void": ty.void,
    "label": ty.label,
    "metadata": ty.metadata,
    "token": ty.token,
    **{k: FloatType(k) for k in ty.FLOAT_BITS},
    **{t.text: t for t in (ty.i1, ty.i8, ty.i16, ty.i32, ty.i64, ty.i128)},
}
TYPES: dict[str, Type] = dict(_PLAIN_TYPES)
"""Types by their text, as met so far; bounded by :func:`parse_type`."""

LITERALS: dict[tuple[Type, str], Constant] = {}
"""One-word constants by type and text, as met so far."""

_MEMO_LIMIT = 200_000


class Cursor:
    """A place in a line of text."""

    __slots__ = ("pos", "text")

    def __init__(self, text: str, pos: int = 0) -> None:
        self.text = text
        self.pos = pos

    def error(self, message: str) -> ReadError:
        """An error that points here."""
        return ReadError(f"{message} at column {self.pos + 1}", self.text)

    def accept(self, word: str) -> bool:
        """Go past ``word`` if it stands here, and past one space after it."""
        if not self.text.startswith(word, self.pos):
            return False
        self.pos += len(word)
        if self.text.startswith(" ", self.pos):
            self.pos += 1
        return True

    def accept_word(self, word: str) -> bool:
        """:meth:`accept` for a whole word."""
        match = _WORD.match(self.text, self.pos)
        return match is not None and match.group() == word and self.accept(word)

    def expect(self, word: str) -> None:
        """Go past ``word`` or raise."""
        if not self.accept(word):
            raise self.error(f"expected '{word}'")

    def peek(self, word: str) -> bool:
        """Whether ``word`` stands here."""
        return self.text.startswith(word, self.pos)

    def word(self) -> str:
        """The word here; goes past it and one space."""
        match = _WORD.match(self.text, self.pos)
        if match is None:
            raise self.error("expected a word")
        self.accept(match.group())
        return match.group()

    def integer(self) -> int:
        """The number here."""
        match = _NUMBER.match(self.text, self.pos)
        if match is None:
            raise self.error("expected a number")
        self.accept(match.group())
        return int(match.group())

    def string(self) -> str:
        """The raw inside of the quoted string here."""
        end = self.text.find('"', self.pos + 1)
        if not self.peek('"') or end < 0:
            raise self.error("expected a string")
        inside = self.text[self.pos + 1 : end]
        self.accept(self.text[self.pos : end + 1])
        return inside

    def rest(self) -> str:
        """What is left of the line."""
        return self.text[self.pos :]

    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.pos >= len(self.text)

    # -- types -----------------------------------------------------------------------------------

    def at_type(self) -> bool:
        """Whether a type starts here."""
        return _TYPE_START.match(self.text, self.pos) is not None

    def type(self) -> Type:
        """The type here."""
        match = _SIMPLE_TYPE.match(self.text, self.pos)
        if match is not None:
            text = match.group()
            found = TYPES.get(text)
            if found is None:
                found = TYPES[text] = self._type()
            self.pos = match.end()
        else:
            found = self._type()
        if self.text.startswith(" ", self.pos):
            self.pos += 1
        return found

    def _type(self) -> Type:
        text = self.text
        start = text[self.pos : self.pos + 1]
        if start == "[":
            self.pos += 1
            count = self.integer()
            self.expect("x")
            element = self.type()
            self.expect("]")
            return self._back(ty.ArrayType(count, element))
        if start == "{" or text.startswith("<{", self.pos):
            return self._struct_type()
        if start == "<":
            self.pos += 1
            scalable = self.accept("vscale x")
            count = self.integer()
            self.expect("x")
            element = self.type()
            self.expect(">")
            return self._back(VectorType(count, element, scalable))
        if start == "%":
            match = _TYPE_NAME.match(text, self.pos)
            if match is None:
                raise self.error("expected a type's name")
            self.pos = match.end()
            return ty.NamedType(unquote_name(match.group(1)))
        return self._word_type()

    def _word_type(self) -> Type:
        match = _WORD.match(self.text, self.pos)
        word = match.group() if match else ""
        if word == "target":
            end = closing(self.text, self.pos + len("target"))
            found: Type = ty.TargetType(self.text[self.pos : end + 1])
            self.pos = end + 1
            return found
        self.pos += len(word)
        if word == "ptr" and self.text.startswith(" addrspace(", self.pos):
            end = self.text.index(")", self.pos)
            space = int(self.text[self.pos + len(" addrspace(") : end])
            self.pos = end + 1
            return ty.PointerType(space)
        if word in _PLAIN_TYPES:
            return _PLAIN_TYPES[word]
        if word[:1] == "i" and word[1:].isdigit():
            return IntType(int(word[1:]))
        self.pos -= len(word)
        raise self.error("expected a type")

    def _struct_type(self) -> Type:
        packed = self.accept("<{")
        if not packed:
            self.expect("{")
        fields: list[Type] = []
        closer = "}>" if packed else "}"
        while not self.accept(closer):
            fields.append(self.type())
            self.accept(",")
        return self._back(ty.StructType(tuple(fields), packed))

    def _back(self, found: Type) -> Type:
        """Undo the space that ``accept`` went past, so that every type ends at its last character."""
        if self.text[self.pos - 1 : self.pos] == " ":
            self.pos -= 1
        return found

    # -- attributes ------------------------------------------------------------------------------

    def attributes_until_operand(self) -> tuple[str, ...]:
        """Parameter attributes here, up to an operand (or the end)."""
        found: list[str] = []
        text = self.text
        while self.pos < len(text) and text[self.pos] not in "%@,)":
            match = _ATTRIBUTE.match(text, self.pos)
            if match is None or not _is_attribute(match.group(), text[match.end() : match.end() + 1]):
                break
            end = match.end()
            if text.startswith("(", end):
                end = closing(text, end) + 1
            found.append(text[self.pos : end])
            self.pos = end
            if text.startswith(" ", end):
                self.pos += 1
        return tuple(found)

    # -- constants -------------------------------------------------------------------------------

    def operand(self, type: Type) -> Value:
        """The operand here. A plain cursor knows no local values: constants only."""
        return self.constant(type)

    def typed_constant(self) -> Constant:
        """A type and a constant of it."""
        return self.constant(self.type())

    def constant(self, type: Type) -> Constant:
        """The constant of ``type`` here; goes past one space after it."""
        start = self.pos
        match = TOKEN.match(self.text, start)
        if match is not None and not self.text.startswith(('"', "(", " (", " @"), match.end()):
            key = (type, match.group())
            found = LITERALS.get(key)
            if found is None:
                found = self._constant(type)
                if self.text[start : self.pos].rstrip() == key[1] and len(LITERALS) < _MEMO_LIMIT:
                    LITERALS[key] = found
            self.pos = match.end() if self.pos < match.end() else self.pos
        else:
            found = self._constant(type)
        if self.text.startswith(" ", self.pos):
            self.pos += 1
        return found

    def _constant(self, type: Type) -> Constant:
        text, start = self.text, self.pos
        first = text[start : start + 1]
        if first == "@":
            match = _GLOBAL.match(text, start)
            if match is None:
                raise self.error("expected a global's name")
            self.pos = match.end()
            return global_ref(unquote_name(match.group(1)), type)
        if first in "[{<":
            return self._aggregate(type)
        if text.startswith('c"', start):
            match = _STRING.match(text, start)
            if match is None:
                raise self.error("unterminated string")
            self.pos = match.end()
            return const_bytes(unescape(match.group(1)))
        word_match = _WORD.match(text, start)
        if word_match is None:
            raise self.error("expected a constant")
        word = word_match.group()
        self.pos = word_match.end()
        literal = _literal(type, word)
        return literal if literal is not None else self._expression(type, word, start)

    def _aggregate(self, type: Type) -> Constant:
        text = self.text
        packed = text.startswith("<{", self.pos)
        opener = text[self.pos : self.pos + (2 if packed else 1)]
        closer = {"[": "]", "{": "}", "<": ">", "<{": "}>"}[opener]
        self.accept(opener)
        elements: list[Constant] = []
        while not self.accept(closer):
            elements.append(self.typed_constant())
            self.accept(",")
        return aggregate(type, elements)

    def _expression(self, type: Type, word: str, start: int) -> Constant:
        text = self.text
        self.accept(" ")
        if word == "splat":
            self.expect("(")
            element = self.typed_constant()
            self.expect(")")
            if not isinstance(type, VectorType):
                raise self.error("splat of no vector")
            return splat(type, element)
        if word in ("dso_local_equivalent", "no_cfi"):
            match = _GLOBAL.match(text, self.pos)
            if match is None:
                raise self.error("expected a global's name")
            self.pos = match.end()
            return raw_constant(type, text[start : self.pos])
        if word in ("blockaddress", "ptrauth"):
            self.pos = closing(text, text.index("(", start)) + 1
            return raw_constant(type, text[start : self.pos])
        return self._operation(type, word, start)

    def _operation(self, type: Type, word: str, start: int) -> Constant:
        flags: list[str] = []
        while not self.peek("("):
            flag = self.word()
            if self.peek("(") and flag == "inrange":
                end = closing(self.text, self.pos) + 1
                flag += self.text[self.pos : end]
                self.pos = end
                self.accept(" ")
            flags.append(flag)
        self.expect("(")
        source: Type | None = None
        if word == "getelementptr":
            source = self.type()
            self.expect(",")
        operands = [self.typed_constant()]
        if word in CASTS:
            self.expect("to")
            self.type()
        while self.accept(","):
            operands.append(self.typed_constant())
        if not self.peek(")"):
            raise self.error("expected ')'")
        self.pos += 1
        return const_expr(type, self.text[start : self.pos], word, operands, tuple(flags), source)


def _is_attribute(word: str, after: str) -> bool:
    """Attributes are words that are no literal, or quoted strings."""
    if word in _LITERAL_WORDS:
        return False
    return after == "(" or not word[0].isdigit()


_LITERAL_WORDS = (
    frozenset(
        [
            "true",
            "false",
            "null",
            "none",
            "undef",
            "poison",
            "zeroinitializer",
            "splat",
            "c",
            "getelementptr",
            "blockaddress",
            "asm",
            "dso_local_equivalent",
            "no_cfi",
            "ptrauth",
            "add",
            "sub",
            "mul",
            "xor",
            "shl",
            "extractelement",
            "insertelement",
            "shufflevector",
        ]
    )
    | CASTS
)


def _literal(type: Type, word: str) -> Constant | None:
    """The constant that one word stands for; ``None`` if the word is no literal of the type."""
    if word in ("true", "false"):
        return int_of(ty.i1, int(word == "true"))
    if word in ("null", "zeroinitializer"):
        return zero(type)
    if word == "poison":
        return poison(type)
    if word == "undef":
        return undef(type)
    if word == "none":
        return raw_constant(type, word)
    if isinstance(type, IntType) and _NUMBER.fullmatch(word):
        return int_of(type, int(word))
    if isinstance(type, FloatType) and (word[0] in "-+" or word[0].isdigit()):
        return float_from_text(type, word)
    return None


def literal(type: Type, word: str) -> Constant | None:
    """The one-word constant ``word`` of ``type``, global names included; ``None`` if it is none."""
    if word[:1] == "@":
        found: Constant | None = global_ref(word[1:], type)
    else:
        found = _literal(type, word)
    if found is not None and len(LITERALS) < _MEMO_LIMIT:
        LITERALS[(type, word)] = found
    return found


def parse_type(text: str) -> Type:
    """The type that the whole of ``text`` spells; raises ``ReadError`` otherwise."""
    found = TYPES.get(text)
    if found is None:
        cursor = Cursor(text)
        found = cursor.type()
        if not cursor.at_end():
            raise cursor.error("text after a type")
        if len(TYPES) < _MEMO_LIMIT:
            TYPES[text] = found
    return found


def parse_constant(text: str) -> Constant:
    """The constant that ``text`` (type and value) spells; raises ``ReadError`` otherwise."""
    cursor = Cursor(text)
    found = cursor.typed_constant()
    if not cursor.at_end():
        raise cursor.error("text after a constant")
    return found


def closing(text: str, start: int) -> int:
    """Position of the ``)`` that closes the ``(`` at ``start``; quoted strings are passed over."""
    depth = 0
    position = start
    while position < len(text):
        char = text[position]
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return position
        elif char == '"':
            position = text.index('"', position + 1)
        position += 1
    raise ReadError("unbalanced parenthesis", text)
