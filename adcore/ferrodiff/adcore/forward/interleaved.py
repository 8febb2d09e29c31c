"""Interleaved shadows: memory the function owns keeps the N lanes of a float side by side.

A local array or a heap block that never leaves the function, and holds floats of one type alone, has one shadow
N times as large: what is at byte o of the primal is at byte N * o of the shadow, all lanes of it. A lane load is
then one vector load, and a store one vector store. Only batches whose tangents are vectors are laid out so
(`form`): a loop that LLVM vectorises along its iterations wants each lane's floats side by side.

An address into such memory has a single shadow address. All addresses that may meet (by phis and copies) are
laid out alike or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

from ferrodiff.adcore.facts.callees import Callee
from ferrodiff.adcore.forward.context import Context
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.clone import SHADOW_METADATA, keep_metadata
from ferrodiff.adcore.ir.constants import (
    Constant,
    ConstInt,
    ConstPoison,
    ConstUndef,
    constant_number,
    is_zero,
)
from ferrodiff.adcore.ir.instructions import (
    Alloca,
    BinaryOp,
    Call,
    GetElementPtr,
    Instruction,
    Invoke,
    Load,
    Phi,
    Store,
)
from ferrodiff.adcore.ir.types import ArrayType, FloatType, StructType, Type, i8, i64
from ferrodiff.adcore.rules.runtime import Allocation, MemoryOperation, Role, allocation, memory_operation

MOST_MOVED = 512
"""Bytes that a copy between the two layouts may move float by float."""
_MARKERS = ("llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias.scope.decl")


# -- which addresses ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Family:
    """Addresses that may meet, and the types of the floats behind them."""

    members: set[Value] = field(default_factory=set)
    floats: set[Type] = field(default_factory=set)


def interleaved(ctx: Context) -> dict[Value, FloatType]:
    """The addresses of the primal whose memory has an interleaved shadow, and the float type it holds."""
    if ctx.lanes.form != "simd":
        return {}
    found: dict[Value, FloatType] = {}
    seen: set[Value] = set()
    for insn in ctx.primal.instructions():
        if insn in seen or not _is_object(ctx, insn):
            continue
        family = _Family()
        fits = _gather(ctx, insn, family)
        seen |= family.members
        types = list(family.floats)
        if fits and len(types) == 1 and isinstance(types[0], FloatType) and _in_steps(ctx, family, types[0]):
            found.update(dict.fromkeys(family.members, types[0]))
    return found


def _is_object(ctx: Context, insn: Instruction) -> bool:
    if not ctx.is_active(insn):
        return False
    if isinstance(insn, Alloca):
        return not insn.inalloca
    role = _allocates(ctx, insn)
    return role is not None and role.role in (Role.ALLOCATE, Role.ALLOCATE_ZEROED)


def _allocates(ctx: Context, insn: Value) -> Allocation | None:
    """What an allocator call does; None for everything else and for out-parameters."""
    if not isinstance(insn, Call) or isinstance(insn, Invoke):
        return None
    if ctx.analysis.callee_kind(insn) is not Callee.ALLOCATION:
        return None
    role = allocation(insn.callee_name or "")
    return None if role is None or role.out is not None else role


def _gather(ctx: Context, first: Instruction, family: _Family) -> bool:
    """Collect all addresses that may meet `first`; false where one of them is used in another way."""
    work: list[Value] = [first]
    while work:
        at = work.pop()
        if at in family.members:
            continue
        family.members.add(at)
        if not ctx.is_active(at) or at in ctx.facts.guarded or at in ctx.analysis.disguised:
            return False
        if isinstance(at, GetElementPtr):
            work.append(at.base)
        elif isinstance(at, Phi):
            work.extend(v for v in at.operands if not _is_nowhere(v))
        elif not (isinstance(at, Instruction) and _is_object(ctx, at)):
            return False
        for user in ctx.uses.get(at, ()):
            more = _use(ctx, user, at, family)
            if more is None:
                return False
            work.extend(more)
    return True


def _is_nowhere(value: Value) -> bool:
    return is_zero(value) or isinstance(value, (ConstUndef, ConstPoison))


def _use(ctx: Context, user: Instruction, at: Value, family: _Family) -> tuple[Value, ...] | None:
    """The addresses that one use of an address adds to its family; None where it does not fit."""
    match user:
        case GetElementPtr():
            fits = user.base is at and user.operands.count(at) == 1 and steps(ctx, user) is not None
            return (user,) if fits else None
        case Phi():
            return (user,)
        case Load() | Store():
            return _access(user, at, family)
        case Call():
            return _called(ctx, user, at)
    return () if user.opcode == "icmp" else None


def _access(user: Load | Store, at: Value, family: _Family) -> tuple[Value, ...] | None:
    ty = user.type if isinstance(user, Load) else user.operands[0].type
    stored = isinstance(user, Store) and user.operands[0] is at
    if stored or user.volatile or user.ordering or not isinstance(ty, FloatType):
        return None
    family.floats.add(ty)
    return ()


def _called(ctx: Context, call: Call, at: Value) -> tuple[Value, ...] | None:
    name = call.callee_name or ""
    if name.startswith(_MARKERS):
        return ()
    role = _allocates(ctx, call)
    if role is not None:
        frees = role.role is Role.DEALLOCATE and call.operands.index(at) == role.pointer
        return () if frees and call.operands.count(at) == 1 else None
    operation = memory_operation(name)
    if operation is None or operation.returns is not None or call.operands.count(at) != 1:
        return None
    if operation.source is None:
        return () if is_zero(call.operands[operation.byte or 0]) else None
    return _copied(ctx, call, at, operation)


def _copied(ctx: Context, call: Call, at: Value, operation: MemoryOperation) -> tuple[Value, ...] | None:
    """A copy to memory laid out otherwise must be short, and of a length known here."""
    target, source = call.operands[operation.destination], call.operands[operation.source or 0]
    other = source if at is target else target
    if _may_join(ctx, other):
        return (other,)
    if not ctx.is_active(other):
        return ()
    length = constant_number(call.operands[operation.length])
    if other in ctx.facts.guarded or ctx.analysis.tuple_offset(other) is not None:
        return None
    return () if length is not None and length <= MOST_MOVED else None


def _may_join(ctx: Context, address: Value) -> bool:
    """Whether an address leads to an object of the function, by constant steps."""
    while isinstance(address, GetElementPtr):
        address = address.base
    return isinstance(address, Phi) or (isinstance(address, Instruction) and _is_object(ctx, address))


def _in_steps(ctx: Context, family: _Family, element: FloatType) -> bool:
    """Whether every step and every length is a whole number of floats."""
    size = ctx.layout.size_of(element)
    for member in family.members:
        if isinstance(member, GetElementPtr):
            found = steps(ctx, member)
            assert found is not None
            if found[0] % size or any(not _in_units(v, size // gcd(step, size)) for v, step in found[1]):
                return False
        for user in ctx.uses.get(member, ()):
            operation = memory_operation(user.callee_name or "") if isinstance(user, Call) else None
            length = constant_number(user.operands[operation.length]) if operation is not None else None
            if length is not None and int(length) % size:
                return False
    return True


def _in_units(index: Value, unit: int) -> bool:
    """Whether an index is always a multiple of `unit`, a power of two."""
    seen: set[Value] = set()
    work = [index] if unit > 1 else []
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        match at:
            case ConstInt(value=value) if value % unit == 0:
                continue
            case Phi():
                work.extend(at.operands)
            case BinaryOp(opcode="add" | "sub"):
                work.extend(at.operands)
            case BinaryOp(opcode="shl" | "mul" | "and", operands=[_, ConstInt(value=value)]):
                if (1 << value if at.opcode == "shl" else value) % unit:
                    return False
            case _:
                return False
    return True


def steps(ctx: Context, gep: GetElementPtr) -> tuple[int, list[tuple[Value, int]]] | None:
    """A `getelementptr` as a constant number of bytes and indices with their strides in bytes."""
    layout = ctx.layout
    total, moving = 0, []
    at: Type = gep.source_type
    for place, index in enumerate(gep.operands[1:]):
        if place and isinstance(layout.resolve(at), StructType):
            if not isinstance(index, ConstInt):
                return None
            offset, at = layout.field_at(at, index.value)
            total += offset
            continue
        if place:
            if not isinstance(at, ArrayType):
                return None
            at = at.element
        stride = layout.size_of(at)
        if isinstance(index, ConstInt):
            total += index.value * stride
        else:
            moving.append((index, stride))
    return total, moving


# -- the shadows ---------------------------------------------------------------------------------------------


def place(ctx: Context, address: Value) -> Value:
    """The one shadow address."""
    (found,) = ctx.pointers(address)
    return found


def alloca(ctx: Context, old: Alloca) -> None:
    """One zeroed shadow, N times as large."""
    size = ctx.layout.size_of(old.allocated_type) * ctx.width
    count = None if old.count is None else ctx.prim(old.count)
    made = Alloca(ArrayType(size, i8), old.align, count, type=old.type)
    shadow = ctx.builder.insert(made, f"{old.name}.shadow")
    total: Value | int = size if count is None else ctx.builder.mul(ctx.builder.zext(count, i64), size)
    ctx.builder.memset(shadow, 0, total, old.align or 1)
    ctx.shadow[old] = (shadow,)


def allocate(ctx: Context, old: Call, new: Call, role: Allocation) -> None:
    """One zeroed block, N times as large."""
    copy = _resized(ctx, new, role.size)
    copy.name = None
    shadow = ctx.builder.insert(copy, f"{old.name}.shadow")
    if role.role is Role.ALLOCATE and role.size is not None:
        ctx.builder.memset(shadow, 0, copy.operands[role.size])
    ctx.shadow[old] = (shadow,)


def deallocate(ctx: Context, old: Call, new: Call, role: Allocation) -> None:
    """Free the one block."""
    assert role.pointer is not None
    shadow = place(ctx, old.operands[role.pointer])
    copy = _resized(ctx, new, role.old_size)
    copy.operands[role.pointer] = shadow
    ctx.builder.insert(copy)


def _resized(ctx: Context, new: Call, size: int | None) -> Call:
    """The same allocator call with a size N times as large."""
    copy = new.copy()
    copy.metadata = {}
    if size is not None:
        copy.operands[size] = ctx.builder.mul(new.operands[size], ctx.width)
        copy.arg_attributes = [() if k == size else a for k, a in enumerate(copy.arg_attributes)]
    return copy


def address(ctx: Context, old: GetElementPtr) -> None:
    """The same step, N times as long."""
    found = steps(ctx, old)
    assert found is not None
    offset, moving = found
    flags = old.flags if "inbounds" in old.flags else ()
    shadow = ctx.builder.ptradd(place(ctx, old.base), offset * ctx.width, flags, f"{old.name}.s")
    for index, stride in moving:
        unit = ArrayType(stride * ctx.width, i8)
        shadow = ctx.builder.gep(unit, shadow, ctx.prim(index), flags=flags, name=f"{old.name}.s")
    ctx.shadow[old] = (shadow,)


def load(ctx: Context, old: Load) -> None:
    """All lanes at once."""
    ctx.shadow[old] = ctx.lanes.load_together(old.type, place(ctx, old.pointer), old.align)


def store(ctx: Context, old: Store) -> None:
    """All lanes at once; zero tangents are written too."""
    tangent = ctx.tangent(old.operands[0]) or ctx.lanes.zero(old.operands[0].type)
    ctx.lanes.store_together(tangent, place(ctx, old.pointer), old.align)


def phi(ctx: Context, old: Phi) -> None:
    """One empty phi; `fill_phi` gives it its sources."""
    ctx.shadow[old] = (ctx.builder.phi(old.type, (), f"{old.name}.t"),)


def fill_phi(ctx: Context, old: Phi) -> None:
    """Addresses that lead nowhere are their own shadows."""
    made = place(ctx, old)
    assert isinstance(made, Phi) and old.parent is not None
    for value, source in old.incoming:
        if source in ctx.blocks:
            at = ctx.exits.get((source, old.parent), ctx.blocks[source])
            made.add_incoming(value if isinstance(value, Constant) else place(ctx, value), at)


# -- copies and fills ----------------------------------------------------------------------------------------


def moves(ctx: Context, old: Call, operation: MemoryOperation) -> bool:
    """Whether a copy or fill concerns interleaved memory."""
    addresses = (operation.destination, operation.source)
    return any(k is not None and old.operands[k] in ctx.interleaved for k in addresses)


def memory_call(ctx: Context, old: Call, new: Call, operation: MemoryOperation) -> None:
    """A fill or copy, N times as long, or float by float between the two layouts."""
    target = old.operands[operation.destination]
    source = None if operation.source is None else old.operands[operation.source]
    length = ctx.builder.mul(ctx.prim(old.operands[operation.length]), ctx.width)
    if target not in ctx.interleaved or (source not in ctx.interleaved and source in ctx.facts.active):
        assert source is not None
        bytes_moved = old.operands[operation.length]
        assert isinstance(bytes_moved, ConstInt)  # or the two would not be laid out differently
        _move_floats(ctx, target, source, bytes_moved.unsigned)
    elif source is None or source not in ctx.facts.active:
        ctx.builder.memset(place(ctx, target), 0, length)
    else:
        copy = new.copy()
        copy.name = None
        copy.operands[operation.destination] = place(ctx, target)
        copy.operands[operation.source or 0] = place(ctx, source)
        copy.operands[operation.length] = length
        keep_metadata(copy, SHADOW_METADATA)
        ctx.builder.insert(copy)


def _move_floats(ctx: Context, target: Value, source: Value, length: int) -> None:
    ty = ctx.interleaved.get(target) or ctx.interleaved[source]
    size = ctx.layout.size_of(ty)
    moved = [_read(ctx, source, offset, ty) for offset in range(0, length, size)]
    for tangent, offset in zip(moved, range(0, length, size), strict=True):
        if target in ctx.interleaved:
            ctx.lanes.store_together(tangent, ctx.builder.ptradd(place(ctx, target), offset * ctx.width), 1)
        else:
            ctx.lanes.store(tangent, [ctx.builder.ptradd(p, offset) for p in ctx.pointers(target)], 1)


def _read(ctx: Context, source: Value, offset: int, ty: FloatType) -> tuple[Value, ...]:
    if source in ctx.interleaved:
        return ctx.lanes.load_together(ty, ctx.builder.ptradd(place(ctx, source), offset * ctx.width), 1)
    return ctx.lanes.load(ty, [ctx.builder.ptradd(p, offset) for p in ctx.pointers(source)], 1)
