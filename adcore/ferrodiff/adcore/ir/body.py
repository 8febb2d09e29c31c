"""Reading a function's body.

Every opcode has a complete reader on a cursor (``full.py``). The frequent ones have a quick reader here as
well, which splits the line at commas and looks up its parts; whatever does not fit its simple shape it
leaves to the complete one.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from typing import TypeVar

from ferrodiff.adcore.errors import ReadError
from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.callhead import call_head
from ferrodiff.adcore.ir.constants import global_ref
from ferrodiff.adcore.ir.full import FULL, FullReader, read_raw
from ferrodiff.adcore.ir.instructions import (
    Alloca,
    BinaryOp,
    Branch,
    Call,
    Cast,
    Compare,
    ExtractValue,
    GetElementPtr,
    InsertValue,
    Instruction,
    Invoke,
    LandingPad,
    Load,
    Phi,
    Resume,
    Return,
    Select,
    Store,
    Unreachable,
)
from ferrodiff.adcore.ir.names import unquote_name
from ferrodiff.adcore.ir.opcodes import BINARY, CASTS, COMPARISONS
from ferrodiff.adcore.ir.scope import Scope, Unfit
from ferrodiff.adcore.ir.text import LITERALS, NAME, Cursor, parse_type
from ferrodiff.adcore.ir.types import FunctionType, Type
from ferrodiff.adcore.ir.values import Block, Function, MetadataOperand

_LABEL = re.compile("(" + NAME + "):")
_RESULT = re.compile("(%" + NAME + ") = ")
_BREAK = "\x00"
"""Stands for a line break inside an instruction while lines are split."""

_JOIN = re.compile(r"\n(?=          |    [i\]]|  \])")
_TRAILING_METADATA = re.compile(r"(?:, ![\w.]+ !\d+)*$")
_DIRECT_CALLEE = re.compile("@(" + NAME + r")\(")
_ALIGN = "align "


def _join(match: re.Match[str]) -> str:
    return _BREAK


def _result(line: str) -> tuple[str, int]:
    """The token before ``=`` and the place after it."""
    if line[3] != '"':
        at = line.index(" = ", 3)
        return line[2:at], at + 3
    match = _RESULT.match(line, 2)
    if match is None:
        raise ReadError("expected a result", line)
    return match.group(1), match.end()


Quick = Callable[["BodyReader", str], Instruction]
C = TypeVar("C", bound=Call)


class BodyReader(Scope):
    """Reads one body. An unnamed entry block has the number after the unnamed arguments."""

    def read(self, text: str) -> list[Block]:
        """The blocks of a body's text (the lines between the header and the closing brace)."""
        instructions: list[Instruction] | None = None
        block: Block | None = None
        blocks: list[Block] = []
        for line in _JOIN.sub(_join, text).split("\n"):
            if line.startswith("  "):
                if line.startswith("    #"):
                    continue
                if instructions is None:
                    block = self.block(f"%{self.unnamed_arguments}")
                    blocks.append(block)
                    instructions = block.instructions
                try:
                    insn = self.instruction(line)
                except (Unfit, ValueError, LookupError, TypeError, AttributeError) as error:
                    raise ReadError("cannot read this instruction", line.replace(_BREAK, " ")) from error
                insn.parent = block
                instructions.append(insn)
            elif line and line[0] != ";":
                match = _LABEL.match(line)
                if match is None:
                    raise ReadError("expected a label", line)
                block = self.block("%" + match.group(1))
                blocks.append(block)
                instructions = block.instructions
        self.resolve()
        return blocks

    def instruction(self, line: str) -> Instruction:
        """The instruction in one (joined) line, its result defined and its metadata attached."""
        token, start = _result(line) if line[2] == "%" else (None, 2)
        at = line.find(", !", start)
        if at < 0:
            insn = self.dispatch(line[start:])
        else:
            if '"' in line or "(metadata" in line:
                trailing = _TRAILING_METADATA.search(line)
                at = trailing.start() if trailing is not None else len(line)
            insn = self.dispatch(line[start:at])
            metadata = insn.metadata
            for item in line[at + 3 :].split(", !"):
                kind, _, node = item.partition(" ")
                metadata[kind] = node
        if self.missing:
            self.pending.append(insn)
            self.missing = False
        if token is not None:
            self.values[token] = insn
            if token[1] in '"0123456789':
                insn.name = self.name_of(token)
            else:
                insn._name = token[1:]
                insn.ref = token
        return insn

    def dispatch(self, body: str) -> Instruction:
        """Try the quick reader, then the complete one, then keep the text."""
        opcode = body.partition(" ")[0]
        quick = _QUICK.get(opcode)
        if quick is not None:
            try:
                return quick(self, body)
            except Unfit:
                self.missing = False
        body = body.replace(_BREAK, "\n")
        full = FULL.get(opcode)
        if full is None:
            return read_raw(self, opcode, body)
        cursor = FullReader(body, self)
        insn = full(cursor)
        if not cursor.at_end():
            raise cursor.error("text after an instruction")
        return insn

    # -- quick readers ---------------------------------------------------------------------------

    def typed(self, text: str) -> Value:
        """The operand that ``type token`` spells."""
        kind, _, token = text.rpartition(" ")
        value = self.values.get(token)
        return value if value is not None else self.word(simple_type(kind), token)

    def quick_binary(self, body: str) -> Instruction:
        left, _, b = body.rpartition(", ")
        head, _, a = left.rpartition(" ")
        found = _BINARY_HEADS.get(head)
        if found is None:
            found = _BINARY_HEADS[head] = _split_head(head)
        opcode, flags, kind = found
        values = self.values
        x = values.get(a)
        y = values.get(b)
        return BinaryOp(
            opcode,
            kind,
            x if x is not None else self.word(kind, a),
            y if y is not None else self.word(kind, b),
            None,
            flags,
        )

    def quick_compare(self, body: str) -> Instruction:
        left, _, b = body.rpartition(", ")
        head, _, a = left.rpartition(" ")
        found = _COMPARE_HEADS.get(head)
        if found is None:
            opcode, words, kind = _split_head(head)
            if not words:
                raise Unfit
            found = (opcode, words[-1], words[:-1], kind, ty.with_scalar(kind, ty.i1))
            _COMPARE_HEADS[head] = found
        opcode, predicate, flags, kind, result = found
        values = self.values
        x = values.get(a)
        y = values.get(b)
        return Compare(
            opcode,
            predicate,
            result,
            x if x is not None else self.word(kind, a),
            y if y is not None else self.word(kind, b),
            None,
            flags,
        )

    def quick_cast(self, body: str) -> Instruction:
        left, _, to = body.rpartition(" to ")
        head, _, token = left.rpartition(" ")
        found = _BINARY_HEADS.get(head)
        if found is None:
            found = _BINARY_HEADS[head] = _split_head(head)
        opcode, flags, kind = found
        value = self.values.get(token)
        return Cast(
            opcode, simple_type(to), value if value is not None else self.word(kind, token), None, flags
        )

    def quick_load(self, body: str) -> Instruction:
        parts = body.split(", ")
        if len(parts) != 3 or not parts[2].startswith(_ALIGN):
            raise Unfit
        head = parts[0]
        kind = _LOAD_HEADS.get(head)
        if kind is None:
            kind = _LOAD_HEADS[head] = simple_type(head[5:])
        return Load(kind, self.typed(parts[1]), int(parts[2][6:]))

    def quick_store(self, body: str) -> Instruction:
        parts = body.split(", ")
        if len(parts) != 3 or not parts[2].startswith(_ALIGN):
            raise Unfit
        return Store(self.typed(parts[0][6:]), self.typed(parts[1]), int(parts[2][6:]))

    def quick_gep(self, body: str) -> Instruction:
        parts = body.split(", ")
        head = parts[0]
        found = _BINARY_HEADS.get(head)
        if found is None:
            found = _BINARY_HEADS[head] = _split_head(head)
        operands = [self.typed(p) for p in parts[1:]]
        for value in operands:
            if isinstance(value.type, ty.VectorType):
                raise Unfit
        return GetElementPtr(operands[0].type, found[2], operands, None, found[1])

    def quick_branch(self, body: str) -> Instruction:
        parts = body[3:].split(", ")
        if len(parts) == 1:
            return Branch([self.label(parts[0])])
        if len(parts) != 3:
            raise Unfit
        condition, yes, no = parts
        return Branch([self.label(yes), self.label(no)], self.typed(condition))

    def quick_phi(self, body: str) -> Instruction:
        head, _, items = body.partition(" [ ")
        found = _BINARY_HEADS.get(head)
        if found is None:
            found = _BINARY_HEADS[head] = _split_head(head)
        kind = found[2]
        operands: list[Value] = []
        blocks: list[Block] = []
        values = self.values
        for item in items[:-2].split(" ], [ "):
            token, _, source = item.partition(", ")
            value = values.get(token)
            operands.append(value if value is not None else self.word(kind, token))
            blocks.append(self.block(source))
        return Phi(kind, operands, blocks, None, found[1])

    def quick_extract(self, body: str) -> Instruction:
        left, _, index = body.rpartition(", ")
        kind, _, token = left.rpartition(" ")
        if not index.isdigit() or kind.endswith(","):
            raise Unfit
        source = simple_type(kind[13:])
        if isinstance(source, ty.StructType):
            element = source.fields[int(index)]
        elif isinstance(source, ty.ArrayType):
            element = source.element
        else:
            raise Unfit
        value = self.values.get(token)
        return ExtractValue(element, value if value is not None else self.word(source, token), (int(index),))

    def quick_insert(self, body: str) -> Instruction:
        parts = body.rsplit(", ", 2)
        if len(parts) != 3 or not parts[2].isdigit():
            raise Unfit
        return InsertValue(self.typed(parts[0][12:]), self.typed(parts[1]), (int(parts[2]),))

    def quick_alloca(self, body: str) -> Instruction:
        kind, _, align = body[7:].rpartition(", align ")
        if not align.isdigit() or not kind:
            raise Unfit
        return Alloca(simple_type(kind), int(align))

    def quick_return(self, body: str) -> Instruction:
        return Return(None if body == "ret void" else self.typed(body[4:]))

    def quick_unreachable(self, body: str) -> Instruction:
        return Unreachable()

    def quick_call(self, body: str) -> Instruction:
        return self.quick_callee(body, Call)

    def quick_invoke(self, body: str) -> Instruction:
        head, _, targets = body.partition(_BREAK)
        normal, _, unwind = targets.strip()[3:].partition(" unwind ")
        insn = self.quick_callee(head, Invoke)
        insn.normal = self.label(normal)
        insn.unwind = self.label(unwind)
        return insn

    def quick_callee(self, body: str, cls: type[C]) -> C:
        """A direct call without operand bundles, as the class given."""
        match = _DIRECT_CALLEE.search(body)
        if match is None or body.endswith("]"):
            raise Unfit
        start, after = match.span()
        head = body[:start]
        known = _CALL_HEADS.get(head)
        if known is None:
            known = _CALL_HEADS[head] = call_head(head)
        tail, flags, convention, attributes, kind, declared = known
        end = body.rfind(")")
        token = body[start : after - 1]
        callee = LITERALS.get((ty.ptr, token))
        if callee is None:
            callee = LITERALS[(ty.ptr, token)] = global_ref(unquote_name(match.group(1)))
        args, arg_attributes = self.quick_args(body[after:end]) if end > after else ([], [])
        function_type = declared or FunctionType(kind, tuple([a.type for a in args]))
        return cls(
            callee,
            function_type,
            args,
            None,
            flags,
            arg_attributes=arg_attributes,
            return_attributes=attributes,
            calling_convention=convention,
            function_attributes=body[end + 2 :],
            tail=tail,
        )

    def quick_select(self, body: str) -> Instruction:
        parts = body.split(", ")
        if len(parts) != 3:
            raise Unfit
        head, _, token = parts[0].rpartition(" ")
        opcode, flags, kind = _BINARY_HEADS.get(head) or _split_head(head)
        if flags or opcode != "select":
            raise Unfit
        condition = self.values.get(token)
        return Select(
            condition if condition is not None else self.word(kind, token),
            self.typed(parts[1]),
            self.typed(parts[2]),
        )

    def quick_resume(self, body: str) -> Instruction:
        return Resume(self.typed(body[7:]))

    def quick_landingpad(self, body: str) -> Instruction:
        head, *clauses = body.split(_BREAK)
        return LandingPad(simple_type(head[11:]), [c.strip() for c in clauses])

    def quick_args(self, text: str) -> tuple[list[Value], list[tuple[str, ...]]]:
        """A call's arguments, each one ``type attributes token``."""
        args: list[Value] = []
        attributes: list[tuple[str, ...]] = []
        pieces = text.split(", ") if "(" not in text else _split_arguments(text)
        values = self.values
        for piece in pieces:
            head, _, token = piece.rpartition(" ")
            known = _ARGUMENT_HEADS.get(head)
            if known is None:
                known = _ARGUMENT_HEADS[head] = _argument_head(head)
            value = values.get(token)
            if value is None:
                value = MetadataOperand(token) if token[:1] == "!" else self.word(known[0], token)
            args.append(value)
            attributes.append(known[1])
        return args, attributes


_BINARY_HEADS: dict[str, tuple[str, tuple[str, ...], Type]] = {}
_COMPARE_HEADS: dict[str, tuple[str, str, tuple[str, ...], Type, Type]] = {}
_LOAD_HEADS: dict[str, Type] = {}
_CALL_HEADS: dict[str, tuple[str, tuple[str, ...], str, tuple[str, ...], Type, FunctionType | None]] = {}
_ARGUMENT_HEADS: dict[str, tuple[Type, tuple[str, ...]]] = {}


def simple_type(text: str) -> Type:
    """The type that ``text`` spells, or ``Unfit``."""
    try:
        return parse_type(text)
    except ReadError:
        raise Unfit from None


def _split_head(head: str) -> tuple[str, tuple[str, ...], Type]:
    """``add nuw i64`` as opcode, flags and type, or ``Unfit``."""
    cursor = Cursor(head)
    words: list[str] = []
    try:
        while not cursor.at_type():
            words.append(cursor.word())
        kind = cursor.type()
    except ReadError:
        raise Unfit from None
    if not cursor.at_end() or not words:
        raise Unfit
    return words[0], tuple(words[1:]), kind


def _argument_head(head: str) -> tuple[Type, tuple[str, ...]]:
    cursor = Cursor(head)
    try:
        kind = cursor.type()
        attributes = cursor.attributes_until_operand()
    except ReadError:
        raise Unfit from None
    if not cursor.at_end():
        raise Unfit
    return kind, attributes


def _split_arguments(text: str) -> list[str]:
    """Arguments at the top level; commas inside parentheses do not count."""
    pieces: list[str] = []
    held = ""
    for piece in text.split(", "):
        held = f"{held}, {piece}" if held else piece
        if held.count("(") == held.count(")"):
            pieces.append(held)
            held = ""
    if held:
        raise Unfit
    return pieces


_QUICK: dict[str, Quick] = {
    **dict.fromkeys(BINARY, BodyReader.quick_binary),
    **dict.fromkeys(CASTS, BodyReader.quick_cast),
    **dict.fromkeys(COMPARISONS, BodyReader.quick_compare),
    **dict.fromkeys(["call", "tail"], BodyReader.quick_call),
    "invoke": BodyReader.quick_invoke,
    "select": BodyReader.quick_select,
    "resume": BodyReader.quick_resume,
    "landingpad": BodyReader.quick_landingpad,
    "load": BodyReader.quick_load,
    "store": BodyReader.quick_store,
    "getelementptr": BodyReader.quick_gep,
    "br": BodyReader.quick_branch,
    "phi": BodyReader.quick_phi,
    "extractvalue": BodyReader.quick_extract,
    "insertvalue": BodyReader.quick_insert,
    "alloca": BodyReader.quick_alloca,
    "ret": BodyReader.quick_return,
    "unreachable": BodyReader.quick_unreachable,
}


def read_body(function: Function, text: str, prefix: str) -> list[Block]:
    """Blocks of a function from the text of its body; raises ``ReadError``.

    ``prefix`` is what ``name_arguments`` chose for numbered values.
    """
    reader = BodyReader(function, prefix)
    # Many objects and no garbage: the collector would only walk over them again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return reader.read(text)
    finally:
        if collecting:
            gc.enable()
