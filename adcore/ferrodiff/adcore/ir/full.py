"""Complete readers, one per opcode, on a cursor that knows the function's values."""

from __future__ import annotations

import re
from collections.abc import Callable

from ferrodiff.adcore.errors import ReadError
from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.callhead import call_rest
from ferrodiff.adcore.ir.constants import ConstInt
from ferrodiff.adcore.ir.instructions import (
    Alloca,
    AtomicRMW,
    BinaryOp,
    Branch,
    Call,
    Cast,
    Compare,
    CompareExchange,
    ExtractElement,
    ExtractValue,
    Fence,
    Freeze,
    GetElementPtr,
    InlineAsm,
    InsertElement,
    InsertValue,
    Instruction,
    Invoke,
    LandingPad,
    Load,
    Phi,
    RawInstruction,
    Resume,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    UnaryOp,
    Unreachable,
    VAArg,
)
from ferrodiff.adcore.ir.opcodes import BINARY, CASTS, COMPARISONS
from ferrodiff.adcore.ir.scope import Scope
from ferrodiff.adcore.ir.text import NAME, Cursor, closing
from ferrodiff.adcore.ir.types import FunctionType, Type
from ferrodiff.adcore.ir.values import Block, MetadataOperand

_LOCAL = re.compile("%" + NAME)
_ASM = re.compile(r'asm (?:[a-z]+ )*"[^"]*", "[^"]*"')
_METADATA = re.compile(r'!(?:"[^"]*"|\d+|[A-Z]\w*\()')
_HOLE = re.compile("(label )?(%" + NAME + ")")
_SCOPE = re.compile(r'syncscope\("([^"]*)"\)')
_MASK_ITEM = re.compile(r"i32 (\d+|poison|undef)")


class FullReader(Cursor):
    """A cursor that also reads local values, labels and metadata."""

    __slots__ = ("scope",)

    def __init__(self, text: str, scope: Scope) -> None:
        super().__init__(text)
        self.scope = scope

    def operand(self, type: Type) -> Value:
        match = _LOCAL.match(self.text, self.pos)
        if match is None:
            return self.constant(type)
        self.accept(match.group())
        return self.scope.local(type, match.group())

    def typed_operand(self) -> Value:
        """A type and an operand."""
        return self.operand(self.type())

    def label(self) -> Block:
        """``label %x``."""
        self.expect("label")
        return self.block()

    def block(self) -> Block:
        """``%x`` as a block."""
        match = _LOCAL.match(self.text, self.pos)
        if match is None:
            raise self.error("expected a label")
        self.accept(match.group())
        return self.scope.block(match.group())

    def flags(self) -> tuple[str, ...]:
        """Flag words up to a type."""
        found: list[str] = []
        while not self.at_type():
            word = self.word()
            if self.peek("("):
                end = closing(self.text, self.pos) + 1
                word += self.text[self.pos : end]
                self.accept(self.text[self.pos : end])
            found.append(word)
        return tuple(found)

    def align(self) -> int | None:
        """``, align N`` if it stands here."""
        if self.peek(", align "):
            self.accept(",")
            self.expect("align")
            return self.integer()
        return None

    def atomic_tail(self) -> tuple[str, str]:
        """Sync scope and ordering, empty if not atomic."""
        scope = ""
        match = _SCOPE.match(self.text, self.pos)
        if match is not None:
            scope = match.group(1)
            self.accept(match.group())
        if self.at_end() or self.peek(","):
            return scope, ""
        return scope, self.word()

    def lines(self) -> None:
        """Go past a line break and indentation."""
        while self.pos < len(self.text) and self.text[self.pos] in "\n ":
            self.pos += 1

    def metadata_operand(self) -> Value:
        """What stands after ``metadata``."""
        if not self.peek("!"):
            value = self.typed_operand()
            return MetadataOperand(value.operand, value)
        match = _METADATA.match(self.text, self.pos)
        if match is None:
            raise self.error("expected metadata")
        end = match.end()
        if match.group().endswith("("):
            end = closing(self.text, end - 1) + 1
        text = self.text[self.pos : end]
        self.accept(text)
        return MetadataOperand(text)


def _binary(c: FullReader) -> Instruction:
    opcode, flags, kind = c.word(), c.flags(), c.type()
    left = c.operand(kind)
    c.expect(",")
    return BinaryOp(opcode, kind, left, c.operand(kind), None, flags)


def _unary(c: FullReader) -> Instruction:
    c.word()
    flags = c.flags()
    value = c.typed_operand()
    return UnaryOp(value.type, value, None, flags)


def _cast(c: FullReader) -> Instruction:
    opcode, flags = c.word(), c.flags()
    value = c.typed_operand()
    c.expect("to")
    return Cast(opcode, c.type(), value, None, flags)


def _compare(c: FullReader) -> Instruction:
    opcode, words, kind = c.word(), c.flags(), c.type()
    left = c.operand(kind)
    c.expect(",")
    result = ty.with_scalar(kind, ty.i1)
    return Compare(opcode, words[-1], result, left, c.operand(kind), None, words[:-1])


def _select(c: FullReader) -> Instruction:
    c.word()
    flags = c.flags()
    condition = c.typed_operand()
    c.expect(",")
    yes = c.typed_operand()
    c.expect(",")
    kind = c.type()
    no = c.operand(kind)
    return Select(condition, yes, no, None, flags)


def _phi(c: FullReader) -> Instruction:
    c.word()
    flags = c.flags()
    kind = c.type()
    insn = Phi(kind, flags=flags)
    while c.accept("["):
        value = c.operand(kind)
        c.expect(",")
        insn.add_incoming(value, c.block())
        c.expect("]")
        c.accept(",")
    return insn


def _alloca(c: FullReader) -> Instruction:
    c.word()
    inalloca = c.accept_word("inalloca")
    kind = c.type()
    insn = Alloca(kind, inalloca=inalloca)
    if c.peek(", ") and not c.peek(", align") and not c.peek(", addrspace"):
        c.expect(",")
        insn.operands = [c.typed_operand()]
    insn.align = c.align()
    if c.accept(", addrspace("):
        insn.type = ty.PointerType(c.integer())
        c.expect(")")
    return insn


def _load(c: FullReader) -> Instruction:
    c.word()
    c.accept_word("atomic")
    volatile = c.accept_word("volatile")
    kind = c.type()
    c.expect(",")
    pointer = c.typed_operand()
    scope, ordering = c.atomic_tail()
    return Load(kind, pointer, c.align(), volatile=volatile, ordering=ordering, syncscope=scope)


def _store(c: FullReader) -> Instruction:
    c.word()
    c.accept_word("atomic")
    volatile = c.accept_word("volatile")
    value = c.typed_operand()
    c.expect(",")
    pointer = c.typed_operand()
    scope, ordering = c.atomic_tail()
    return Store(value, pointer, c.align(), volatile=volatile, ordering=ordering, syncscope=scope)


def _gep(c: FullReader) -> Instruction:
    c.word()
    flags = c.flags()
    source = c.type()
    operands: list[Value] = []
    while c.accept(","):
        operands.append(c.typed_operand())
    vector = next((v.type for v in operands if isinstance(v.type, ty.VectorType)), None)
    base = operands[0].type
    kind = base if vector is None else ty.with_scalar(vector, base.scalar)
    return GetElementPtr(kind, source, operands, None, flags)


def _atomicrmw(c: FullReader) -> Instruction:
    c.word()
    volatile = c.accept_word("volatile")
    operation = c.word()
    pointer = c.typed_operand()
    c.expect(",")
    value = c.typed_operand()
    scope, ordering = c.atomic_tail()
    return AtomicRMW(operation, pointer, value, ordering, c.align(), volatile=volatile, syncscope=scope)


def _cmpxchg(c: FullReader) -> Instruction:
    c.word()
    weak, volatile = c.accept_word("weak"), c.accept_word("volatile")
    pointer = c.typed_operand()
    c.expect(",")
    expected = c.typed_operand()
    c.expect(",")
    new = c.typed_operand()
    scope, ordering = c.atomic_tail()
    failure = c.word()
    insn = CompareExchange(pointer, expected, new, ordering, failure, c.align())
    insn.weak, insn.volatile, insn.syncscope = weak, volatile, scope
    return insn


def _fence(c: FullReader) -> Instruction:
    c.word()
    scope, ordering = c.atomic_tail()
    return Fence(ordering, scope)


def _freeze(c: FullReader) -> Instruction:
    c.word()
    return Freeze(c.typed_operand())


def _vaarg(c: FullReader) -> Instruction:
    c.word()
    pointer = c.typed_operand()
    c.expect(",")
    return VAArg(c.type(), pointer)


def _extractvalue(c: FullReader) -> Instruction:
    c.word()
    value = c.typed_operand()
    indices = _indices(c)
    kind = value.type
    for index in indices:
        kind = _element(c, kind, index)
    return ExtractValue(kind, value, indices)


def _element(c: FullReader, kind: Type, index: int) -> Type:
    if isinstance(kind, ty.NamedType):
        module = c.scope.function.module
        body = module.named_types.get(kind.name) if module is not None else None
        if body is None:
            raise c.error(f"{kind} has no body")
        kind = body
    if isinstance(kind, ty.StructType):
        return kind.fields[index]
    if isinstance(kind, ty.ArrayType):
        return kind.element
    raise c.error(f"{kind} has no elements")


def _insertvalue(c: FullReader) -> Instruction:
    c.word()
    value = c.typed_operand()
    c.expect(",")
    element = c.typed_operand()
    return InsertValue(value, element, _indices(c))


def _indices(c: FullReader) -> tuple[int, ...]:
    found: list[int] = []
    while c.accept(","):
        found.append(c.integer())
    return tuple(found)


def _extractelement(c: FullReader) -> Instruction:
    c.word()
    vector = c.typed_operand()
    c.expect(",")
    return ExtractElement(vector, c.typed_operand())


def _insertelement(c: FullReader) -> Instruction:
    c.word()
    vector = c.typed_operand()
    c.expect(",")
    element = c.typed_operand()
    c.expect(",")
    return InsertElement(vector, element, c.typed_operand())


def _shufflevector(c: FullReader) -> Instruction:
    c.word()
    first = c.typed_operand()
    c.expect(",")
    second = c.typed_operand()
    c.expect(",")
    kind = c.type()
    if not isinstance(kind, ty.VectorType):
        raise c.error("expected a mask")
    mask: list[int | None]
    if c.accept("zeroinitializer"):
        mask = [0] * kind.count
    elif c.accept("poison") or c.accept("undef"):
        mask = [None] * kind.count
    elif c.peek("splat"):
        element = int(c.rest()[len("splat (i32 ") :].rstrip(")"))
        mask = [element] * kind.count
        c.pos = len(c.text)
    else:
        mask = [int(m) if m.isdigit() else None for m in _MASK_ITEM.findall(c.rest())]
        c.pos = len(c.text)
    return ShuffleVector(first, second, mask)


def _branch(c: FullReader) -> Instruction:
    c.word()
    if c.peek("label"):
        return Branch([c.label()])
    condition = c.typed_operand()
    c.expect(",")
    yes = c.label()
    c.expect(",")
    return Branch([yes, c.label()], condition)


def _switch(c: FullReader) -> Instruction:
    c.word()
    value = c.typed_operand()
    c.expect(",")
    insn = Switch(value, c.label())
    c.expect("[")
    c.lines()
    while not c.accept("]"):
        number = c.typed_constant()
        c.expect(",")
        if not isinstance(number, ConstInt):
            raise c.error("expected a number")
        insn.cases.append((number, c.label()))
        c.lines()
    return insn


def _return(c: FullReader) -> Instruction:
    c.word()
    if c.accept("void"):
        return Return()
    return Return(c.typed_operand())


def _unreachable(c: FullReader) -> Instruction:
    c.word()
    return Unreachable()


def _resume(c: FullReader) -> Instruction:
    c.word()
    return Resume(c.typed_operand())


def _landingpad(c: FullReader) -> Instruction:
    c.word()
    kind = c.type()
    clauses = [line.strip() for line in c.rest().split("\n") if line.strip()]
    c.pos = len(c.text)
    return LandingPad(kind, clauses)


def _call(c: FullReader) -> Instruction:
    tail = ""
    word = c.word()
    if word != "call":
        tail = word
        c.expect("call")
    return _read_call(c, tail, Call)


def _invoke(c: FullReader) -> Instruction:
    c.word()
    insn = _read_call(c, "", Invoke)
    assert isinstance(insn, Invoke)
    c.lines()
    c.expect("to")
    insn.normal = c.label()
    c.expect("unwind")
    insn.unwind = c.label()
    return insn


def _read_call(c: FullReader, tail: str, cls: type[Call]) -> Call:
    _, flags, convention, attributes, kind, declared = call_rest(c, tail)
    callee: Value
    match = _ASM.match(c.text, c.pos)
    if match is not None:
        callee = InlineAsm(match.group())
        c.accept(match.group())
    else:
        callee = c.operand(ty.ptr)
    args: list[Value] = []
    arg_attributes: list[tuple[str, ...]] = []
    c.expect("(")
    while not c.accept(")"):
        arg_type = c.type()
        if arg_type is ty.metadata:
            arg_attributes.append(())
            args.append(c.metadata_operand())
        else:
            arg_attributes.append(c.attributes_until_operand())
            args.append(c.operand(arg_type))
        c.accept(",")
    function_type = declared or FunctionType(kind, tuple(a.type for a in args))
    insn = cls(callee, function_type, args, None, flags, arg_attributes=arg_attributes, tail=tail)
    insn.return_attributes = attributes
    insn.calling_convention = convention
    _call_end(c, insn)
    return insn


def _call_end(c: FullReader, insn: Call) -> None:
    """Function attributes and operand bundles, up to the end or the line break of an invoke."""
    start = c.pos
    while not c.at_end() and not c.peek("\n") and not c.peek("[ "):
        c.pos += 1
    insn.function_attributes = c.text[start : c.pos].strip()
    if not c.accept("["):
        return
    while not c.accept("]"):
        tag = c.string()
        c.expect("(")
        values: list[Value] = []
        while not c.accept(")"):
            kind = c.type()
            values.append(c.metadata_operand() if kind is ty.metadata else c.operand(kind))
            c.accept(",")
        insn.bundles.append((tag, values))
        c.accept(",")


def read_raw(scope: Scope, opcode: str, body: str) -> Instruction:
    """Any other instruction, with holes where local values and labels stand."""
    pieces: list[str] = []
    holes: list[Value | Block] = []
    position = 0
    for match in _HOLE.finditer(body):
        pieces.append(body[position : match.start(2)])
        token = match.group(2)
        is_block = match.group(1) is not None or token in scope.blocks
        holes.append(scope.block(token) if is_block else scope.local(ty.ptr, token))
        position = match.end()
    pieces.append(body[position:])
    if opcode not in _RAW_TERMINATORS and opcode not in _RAW_VALUES:
        raise ReadError(f"unknown instruction '{opcode}'", body)
    kind = _RAW_VALUES.get(opcode, ty.void)
    return RawInstruction(opcode, kind, tuple(pieces), holes, is_terminator=opcode in _RAW_TERMINATORS)


_RAW_TERMINATORS = frozenset({"indirectbr", "callbr", "catchswitch", "catchret", "cleanupret"})
_RAW_VALUES: dict[str, Type] = {"catchpad": ty.token, "cleanuppad": ty.token, "catchswitch": ty.token}

FULL: dict[str, Callable[[FullReader], Instruction]] = {
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(COMPARISONS, _compare),
    **dict.fromkeys(["call", "tail", "musttail", "notail"], _call),
    "fneg": _unary,
    "select": _select,
    "phi": _phi,
    "alloca": _alloca,
    "load": _load,
    "store": _store,
    "getelementptr": _gep,
    "atomicrmw": _atomicrmw,
    "cmpxchg": _cmpxchg,
    "fence": _fence,
    "freeze": _freeze,
    "va_arg": _vaarg,
    "extractvalue": _extractvalue,
    "insertvalue": _insertvalue,
    "extractelement": _extractelement,
    "insertelement": _insertelement,
    "shufflevector": _shufflevector,
    "br": _branch,
    "switch": _switch,
    "ret": _return,
    "unreachable": _unreachable,
    "resume": _resume,
    "landingpad": _landingpad,
    "invoke": _invoke,
}
