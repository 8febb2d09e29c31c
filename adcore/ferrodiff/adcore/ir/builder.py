"""Building functions: one method per instruction, fresh names, trivial folding.

Operands may be Python numbers wherever the other operand (or the callee's parameter) tells the type.
Floating-point folding keeps to identities that hold for every input, signed zeros, infinities and NaNs
included: ``x * 1``, ``x / 1``, ``x + -0.0``, ``x - 0.0``. ``x + 0.0`` and ``x * 0`` stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from ferrodiff.adcore.ir import types as ty
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import (
    ConstInt,
    ConstPoison,
    ConstUndef,
    const,
    const_int,
    constant_number,
    global_ref,
    is_zero,
    poison,
    zero,
)
from ferrodiff.adcore.ir.fold import fold_binary, fold_cast, fold_compare
from ferrodiff.adcore.ir.instructions import (
    Alloca,
    BinaryOp,
    Branch,
    Call,
    Cast,
    Compare,
    ExtractElement,
    ExtractValue,
    Freeze,
    GetElementPtr,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    UnaryOp,
    Unreachable,
)
from ferrodiff.adcore.ir.types import FunctionType, Type, VectorType
from ferrodiff.adcore.ir.values import Argument, Block, Function

Number = int | float
Operand = Value | int | float
I = TypeVar("I", bound=Instruction)  # noqa: E741
Flags = tuple[str, ...]


def new_function(
    name: str,
    return_type: Type,
    params: Sequence[Type | tuple[Type, str] | tuple[Type, str, Iterable[str]]],
    attributes: str = "",
    *,
    linkage: str = "internal",
    calling_convention: str = "",
    return_attributes: tuple[str, ...] = (),
    personality: str | None = None,
) -> Function:
    """A function without blocks. A parameter is a type, (type, name), or (type, name, attributes).

    ``attributes`` is text after the parameter list: ``"nounwind alwaysinline"`` or ``"#3"``.
    """
    function = Function(
        name,
        return_type,
        linkage=linkage,
        calling_convention=calling_convention,
        return_attributes=return_attributes,
        attributes=attributes,
        personality=personality,
    )
    for index, param in enumerate(params):
        kind, hint, attrs = _parameter(param, index)
        function.arguments.append(Argument(kind, function.fresh_name(hint), index, attrs))
        function.forget_names()
    return function


def _parameter(
    param: Type | tuple[Type, str] | tuple[Type, str, Iterable[str]], index: int
) -> tuple[Type, str, Iterable[str]]:
    if isinstance(param, Type):
        return param, f"arg{index}", ()
    if len(param) == 2:
        return param[0], param[1], ()
    return param


class Builder:
    """Appends instructions at a place in a function (``position``, ``position_before``).

    ``metadata`` (kind to raw text) is attached to every instruction made while it is set.
    """

    def __init__(self, function: Function, block: Block | None = None) -> None:
        self.function = function
        self.block: Block | None = block
        self.before: Instruction | None = None
        self.metadata: dict[str, str] = {}

    # -- places ----------------------------------------------------------------------------------

    def position(self, block: Block) -> Builder:
        """Append at the end of a block from now on."""
        self.block = block
        self.before = None
        return self

    def position_before(self, insn: Instruction) -> Builder:
        """Insert right before an instruction from now on."""
        if insn.parent is None:
            raise ValueError(f"{insn!r} is in no block")
        self.block = insn.parent
        self.before = insn
        return self

    def position_at_start(self, block: Block) -> Builder:
        """Insert after the phis (and a landing pad) of a block from now on."""
        for insn in block.instructions:
            if insn.opcode not in ("phi", "landingpad"):
                return self.position_before(insn)
        return self.position(block)

    def new_block(self, hint: str = "bb", after: Block | None = None) -> Block:
        """A new empty block of the function; the position stays."""
        return self.function.add_block(hint, after)

    def insert(self, insn: I, hint: str = "t") -> I:
        """Put an instruction at the position and name it freshly if it has a result."""
        if self.block is None:
            raise ValueError("the builder has no position")
        if insn.type is not ty.void and insn.name is None:
            insn.name = self.function.fresh_name(hint)
        if self.metadata:
            insn.metadata.update(self.metadata)
        if self.before is None:
            self.block.append(insn)
        else:
            self.block.insert_before(self.before, insn)
        return insn

    # -- arithmetic ------------------------------------------------------------------------------

    def binary(self, opcode: str, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        """Any binary instruction by its opcode."""
        a, b = _pair(left, right)
        folded = fold_binary(opcode, a, b)
        if folded is not None:
            return folded
        return self.insert(BinaryOp(opcode, a.type, a, b, None, flags), name)

    def fadd(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("fadd", left, right, flags, name)

    def fsub(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("fsub", left, right, flags, name)

    def fmul(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("fmul", left, right, flags, name)

    def fdiv(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("fdiv", left, right, flags, name)

    def frem(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("frem", left, right, flags, name)

    def add(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("add", left, right, flags, name)

    def sub(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("sub", left, right, flags, name)

    def mul(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("mul", left, right, flags, name)

    def udiv(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("udiv", left, right, flags, name)

    def sdiv(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("sdiv", left, right, flags, name)

    def urem(self, left: Operand, right: Operand, name: str = "t") -> Value:
        return self.binary("urem", left, right, (), name)

    def srem(self, left: Operand, right: Operand, name: str = "t") -> Value:
        return self.binary("srem", left, right, (), name)

    def shl(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("shl", left, right, flags, name)

    def lshr(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("lshr", left, right, flags, name)

    def ashr(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("ashr", left, right, flags, name)

    def and_(self, left: Operand, right: Operand, name: str = "t") -> Value:
        return self.binary("and", left, right, (), name)

    def or_(self, left: Operand, right: Operand, flags: Flags = (), name: str = "t") -> Value:
        return self.binary("or", left, right, flags, name)

    def xor(self, left: Operand, right: Operand, name: str = "t") -> Value:
        return self.binary("xor", left, right, (), name)

    def not_(self, value: Value, name: str = "not") -> Value:
        """Bitwise complement (logical, for ``i1``)."""
        return self.binary("xor", value, const_int(value.type, -1), (), name)

    def fneg(self, value: Value, flags: Flags = (), name: str = "neg") -> Value:
        number = constant_number(value)
        if isinstance(number, float) and number == number and value.type.scalar in (ty.f32, ty.f64):
            return const(value.type, -number)
        return self.insert(UnaryOp(value.type, value, None, flags), name)

    def icmp(
        self, predicate: str, left: Operand, right: Operand, flags: Flags = (), name: str = "c"
    ) -> Value:
        a, b = _pair(left, right)
        folded = fold_compare(predicate, a, b)
        if folded is not None:
            return folded
        kind = ty.with_scalar(a.type, ty.i1)
        return self.insert(Compare("icmp", predicate, kind, a, b, None, flags), name)

    def fcmp(
        self, predicate: str, left: Operand, right: Operand, flags: Flags = (), name: str = "c"
    ) -> Value:
        a, b = _pair(left, right)
        kind = ty.with_scalar(a.type, ty.i1)
        return self.insert(Compare("fcmp", predicate, kind, a, b, None, flags), name)

    def select(
        self, condition: Value, yes: Operand, no: Operand, flags: Flags = (), name: str = "sel"
    ) -> Value:
        a, b = _pair(yes, no)
        if a is b:
            return a
        if isinstance(condition, ConstInt):
            return a if condition.value else b
        return self.insert(Select(condition, a, b, None, flags), name)

    def freeze(self, value: Value, name: str = "fr") -> Value:
        return self.insert(Freeze(value), name)

    # -- casts -----------------------------------------------------------------------------------

    def cast(self, opcode: str, value: Value, type: Type, flags: Flags = (), name: str = "t") -> Value:
        """Any cast by its opcode; a ``bitcast`` to the same type is the value itself."""
        folded = fold_cast(opcode, value, type)
        if folded is not None:
            return folded
        return self.insert(Cast(opcode, type, value, None, flags), name)

    def trunc(self, value: Value, type: Type, flags: Flags = (), name: str = "t") -> Value:
        return self.cast("trunc", value, type, flags, name)

    def zext(self, value: Value, type: Type, flags: Flags = (), name: str = "t") -> Value:
        return self.cast("zext", value, type, flags, name)

    def sext(self, value: Value, type: Type, name: str = "t") -> Value:
        return self.cast("sext", value, type, (), name)

    def fptrunc(self, value: Value, type: Type, flags: Flags = (), name: str = "t") -> Value:
        return self.cast("fptrunc", value, type, flags, name)

    def fpext(self, value: Value, type: Type, flags: Flags = (), name: str = "t") -> Value:
        return self.cast("fpext", value, type, flags, name)

    def fptosi(self, value: Value, type: Type, name: str = "t") -> Value:
        return self.cast("fptosi", value, type, (), name)

    def fptoui(self, value: Value, type: Type, name: str = "t") -> Value:
        return self.cast("fptoui", value, type, (), name)

    def sitofp(self, value: Value, type: Type, name: str = "t") -> Value:
        return self.cast("sitofp", value, type, (), name)

    def uitofp(self, value: Value, type: Type, name: str = "t") -> Value:
        return self.cast("uitofp", value, type, (), name)

    def ptrtoint(self, value: Value, type: Type = ty.i64, name: str = "t") -> Value:
        return self.cast("ptrtoint", value, type, (), name)

    def inttoptr(self, value: Value, type: Type = ty.ptr, name: str = "t") -> Value:
        return self.cast("inttoptr", value, type, (), name)

    def bitcast(self, value: Value, type: Type, name: str = "t") -> Value:
        return self.cast("bitcast", value, type, (), name)

    # -- memory ----------------------------------------------------------------------------------

    def alloca(
        self, type: Type, align: int | None = None, count: Operand | None = None, name: str = "slot"
    ) -> Value:
        number = None if count is None else as_value(count, ty.i64)
        return self.insert(Alloca(type, align, number), name)

    def entry_alloca(self, type: Type, align: int | None = None, name: str = "slot") -> Value:
        """An alloca at the start of the entry block, where ``mem2reg`` finds it; the position stays."""
        entry = self.function.entry
        insn = Alloca(type, align, name=self.function.fresh_name(name))
        insn.parent = entry
        entry.instructions.insert(0, insn)
        return insn

    def load(self, type: Type, pointer: Value, align: int | None = None, name: str = "v") -> Value:
        return self.insert(Load(type, pointer, align), name)

    def store(self, value: Value, pointer: Value, align: int | None = None) -> Instruction:
        return self.insert(Store(value, pointer, align))

    def gep(
        self, source_type: Type, pointer: Value, *indices: Operand, flags: Flags = (), name: str = "p"
    ) -> Value:
        """``getelementptr``; Python numbers become ``i64`` indices."""
        values = [as_value(i, ty.i64) for i in indices]
        if all(map(is_zero, values)) and all(v.type is ty.i64 for v in values):
            return pointer
        vector = next((v.type for v in (pointer, *values) if isinstance(v.type, VectorType)), None)
        kind = pointer.type if vector is None else ty.with_scalar(vector, pointer.type.scalar)
        return self.insert(GetElementPtr(kind, source_type, [pointer, *values], None, flags), name)

    def ptradd(self, pointer: Value, offset: Operand, flags: Flags = (), name: str = "p") -> Value:
        """A pointer ``offset`` bytes further."""
        return self.gep(ty.i8, pointer, offset, flags=flags, name=name)

    def memcpy(
        self, to: Value, source: Value, size: Operand, align: int = 1, *, move: bool = False
    ) -> Instruction:
        """``llvm.memcpy`` (or ``llvm.memmove``) of ``size`` bytes."""
        name = f"llvm.{'memmove' if move else 'memcpy'}.p0.p0.i64"
        call = self.call(name, ty.void, [to, source, as_value(size, ty.i64), const_int(ty.i1, 0)])
        call.arg_attributes[0] = call.arg_attributes[1] = (f"align {align}",)
        return call

    def memset(self, to: Value, byte: Operand, size: Operand, align: int = 1) -> Instruction:
        """``llvm.memset`` of ``size`` bytes."""
        args = [to, as_value(byte, ty.i8), as_value(size, ty.i64), const_int(ty.i1, 0)]
        call = self.call("llvm.memset.p0.i64", ty.void, args)
        call.arg_attributes[0] = (f"align {align}",)
        return call

    # -- calls -----------------------------------------------------------------------------------

    def call(
        self,
        callee: str | Value | Function,
        return_type: Type,
        args: Sequence[Value],
        *,
        flags: Flags = (),
        function_type: FunctionType | None = None,
        arg_attributes: Sequence[Flags] | None = None,
        return_attributes: tuple[str, ...] = (),
        calling_convention: str = "",
        function_attributes: str = "",
        declaration: str | None = None,
        name: str = "r",
    ) -> Call:
        """A call. A callee given by name is declared where it is used, unless the module has it.

        ``declaration`` is the text of that ``declare`` line where its attributes matter.
        """
        kind = function_type or FunctionType(return_type, tuple(a.type for a in args))
        if isinstance(callee, Function):
            calling_convention = calling_convention or callee.calling_convention
            target: Value = callee.value
        elif isinstance(callee, str):
            target = global_ref(callee)
            self.require(callee, kind, declaration)
        else:
            target = callee
        insn = Call(
            target,
            kind,
            list(args),
            None,
            flags,
            arg_attributes=None if arg_attributes is None else list(arg_attributes),
            return_attributes=return_attributes,
            calling_convention=calling_convention,
            function_attributes=function_attributes,
        )
        return self.insert(insn, name)

    def intrinsic(
        self,
        base: str,
        overloads: Sequence[Type],
        args: Sequence[Value],
        return_type: Type | None = None,
        *,
        flags: Flags = (),
        name: str = "r",
    ) -> Call:
        """A call of an overloaded intrinsic: ``intrinsic('llvm.fma', [f64], [a, b, c])``.

        The result's type is the first overload's, or the first argument's, unless ``return_type`` is given.
        """
        full = ".".join([base, *map(ty.mangled, overloads)])
        result = return_type or (overloads[0] if overloads else args[0].type)
        return self.call(full, result, args, flags=flags, name=name)

    def require(self, name: str, kind: FunctionType, declaration: str | None = None) -> None:
        """Have ``name`` declared in the module that the function ends up in."""
        if declaration is None:
            params = ", ".join(p.text for p in kind.params) + (", ..." if kind.vararg else "")
            declaration = f"declare {kind.ret.text} {global_ref(name).ref}({params})"
        self.function.required_declarations.setdefault(name, declaration)

    # -- control ---------------------------------------------------------------------------------

    def phi(self, type: Type, incoming: Iterable[tuple[Value, Block]] = (), name: str = "phi") -> Phi:
        """A phi at the head of the current block (after the phis already there)."""
        if self.block is None:
            raise ValueError("the builder has no position")
        insn = Phi(type, name=self.function.fresh_name(name))
        for value, block in incoming:
            insn.add_incoming(value, block)
        insn.parent = self.block
        self.block.instructions.insert(len(self.block.phis), insn)
        return insn

    def br(self, target: Block) -> Instruction:
        return self.insert(Branch([target]))

    def cond_br(self, condition: Value, yes: Block, no: Block) -> Instruction:
        return self.insert(Branch([yes, no], condition))

    def switch(self, value: Value, default: Block, cases: Iterable[tuple[int, Block]] = ()) -> Switch:
        pairs = [(const_int(value.type, number), block) for number, block in cases]
        return self.insert(Switch(value, default, [(c, b) for c, b in pairs if isinstance(c, ConstInt)]))

    def ret(self, value: Value | None = None) -> Instruction:
        return self.insert(Return(value))

    def unreachable(self) -> Instruction:
        return self.insert(Unreachable())

    # -- aggregates and vectors ------------------------------------------------------------------

    def extract_value(self, value: Value, *indices: int, type: Type | None = None, name: str = "x") -> Value:
        """``type`` is the element's type where it cannot be seen (identified structs)."""
        kind = type or element_type(value.type, indices)
        if isinstance(value, (ConstPoison, ConstUndef)):
            return poison(kind)
        if isinstance(value, InsertValue) and value.indices == indices:
            return value.operands[1]
        return self.insert(ExtractValue(kind, value, indices), name)

    def insert_value(self, value: Value, element: Value, *indices: int, name: str = "agg") -> Value:
        return self.insert(InsertValue(value, element, indices), name)

    def extract_element(self, vector: Value, index: Operand, name: str = "x") -> Value:
        return self.insert(ExtractElement(vector, as_value(index, ty.i64)), name)

    def insert_element(self, vector: Value, element: Value, index: Operand, name: str = "vec") -> Value:
        return self.insert(InsertElement(vector, element, as_value(index, ty.i64)), name)

    def shuffle(
        self, first: Value, second: Value | None, mask: Iterable[int | None], name: str = "sh"
    ) -> Value:
        """``shufflevector``; no second operand means poison."""
        other = second if second is not None else poison(first.type)
        return self.insert(ShuffleVector(first, other, mask), name)

    def splat_vector(self, value: Operand, type: VectorType, name: str = "splat") -> Value:
        """A vector of ``type`` with ``value`` in every lane."""
        element = as_value(value, type.element)
        number = constant_number(element)
        if number is not None and number == number:
            return const(type, number)
        one = self.insert_element(poison(type), element, 0, name)
        return self.shuffle(one, None, [0] * type.count, name)

    def build_vector(self, values: Sequence[Value], name: str = "vec") -> Value:
        """A vector from its lanes."""
        built: Value = poison(VectorType(len(values), values[0].type))
        for lane, value in enumerate(values):
            built = self.insert_element(built, value, lane, name)
        return built

    def zero(self, type: Type) -> Value:
        """The zero of a type."""
        return zero(type)


def as_value(operand: Operand, type: Type) -> Value:
    """A value as it is; a Python number as a constant of ``type``."""
    return operand if isinstance(operand, Value) else const(type, operand)


def element_type(type: Type, indices: Sequence[int]) -> Type:
    """The type at ``indices`` inside an aggregate; ``TypeError`` for an identified struct."""
    for index in indices:
        if isinstance(type, ty.StructType):
            type = type.fields[index]
        elif isinstance(type, (ty.ArrayType, VectorType)):
            type = type.element
        else:
            raise TypeError(f"{type} has no visible element {index}")
    return type


def _pair(left: Operand, right: Operand) -> tuple[Value, Value]:
    if isinstance(left, Value):
        return left, as_value(right, left.type)
    if isinstance(right, Value):
        return as_value(left, right.type), right
    raise TypeError("one operand must be a value")
