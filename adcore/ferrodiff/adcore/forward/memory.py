"""Memory: the shadow world follows every address, load, store, copy and fill of the primal."""

from __future__ import annotations

from collections.abc import Sequence

from ferrodiff.adcore.facts.activity import READ_BACK
from ferrodiff.adcore.forward import interleaved
from ferrodiff.adcore.forward.context import Context, NeedsGuard
from ferrodiff.adcore.forward.images import image_of
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.clone import SHADOW_METADATA, keep_metadata
from ferrodiff.adcore.ir.constants import ConstInt, const_int, constant_number, zero
from ferrodiff.adcore.ir.instructions import Alloca, AtomicRMW, Call, GetElementPtr, Instruction, Load, Store
from ferrodiff.adcore.ir.types import IntType, PointerType, Type, i1, i64, is_float_like, void
from ferrodiff.adcore.rules.runtime import MemoryOperation, memory_operation
from ferrodiff.adcore.session import global_behind
from ferrodiff.adcore.shadow import Fields, Shadow, is_aggregate
from ferrodiff.adcore.stops import stop_if


def alloca(ctx: Context, old: Alloca) -> None:
    """N zeroed shadow allocas."""
    if not ctx.is_active(old):
        return
    if old in ctx.interleaved:
        interleaved.alloca(ctx, old)
        return
    size = ctx.layout.size_of(old.allocated_type)
    places: list[Value] = []
    for _ in range(ctx.width):
        copy = Alloca(
            old.allocated_type, old.align, ctx.prim(old.count) if old.count else None, type=old.type
        )
        places.append(ctx.builder.insert(copy, f"{old.name}.shadow"))
    total: Value | int = size
    if old.count is not None:
        total = ctx.builder.mul(ctx.builder.zext(ctx.prim(old.count), i64), size)
    for place in places:
        ctx.builder.memset(place, 0, total, old.align or 1)
    ctx.shadow[old] = tuple(places)


def address(ctx: Context, old: GetElementPtr) -> None:
    """The same step from every shadow base."""
    if not ctx.is_active(old):
        return
    if old in ctx.interleaved:
        interleaved.address(ctx, old)
        return
    indices = [ctx.prim(v) for v in old.operands[1:]]
    hint = f"{old.name}.s"
    steps = []
    for base in ctx.pointers(old.operands[0]):
        copy = GetElementPtr(old.type, old.source_type, [base, *indices], None, _address_flags(ctx, old))
        steps.append(ctx.builder.insert(copy, hint))
    ctx.shadow[old] = tuple(steps)


def _address_flags(ctx: Context, old: GetElementPtr) -> tuple[str, ...]:
    return old.flags


def load(ctx: Context, old: Load) -> None:
    """The tangent from the shadow memory."""
    if not ctx.is_active(old):
        return
    if isinstance(old.type.scalar, IntType) and old not in ctx.facts.needed:
        return
    pointers = ctx.pointers(old.operands[0])
    with_metadata(ctx, old)
    if old.operands[0] in ctx.interleaved:
        interleaved.load(ctx, old)
    elif old.operands[0] in ctx.facts.guarded:
        ctx.shadow[old] = guarded_load(ctx, old, pointers)
    else:
        ctx.shadow[old] = ctx.shadows.load(old.type, pointers, old.align)
    ctx.builder.metadata = {}
    if ctx.signature.guard and isinstance(old.type, PointerType) and old in ctx.facts.guarded:
        ctx.shadow[old] = _without_null(ctx, old)


def _without_null(ctx: Context, old: Load) -> Shadow:
    """A null shadow of an address means no shadow: the primal address says the same and can be followed."""
    primal = ctx.prim(old)
    fixed = []
    for shadow in ctx.pointers(old):
        missing = ctx.builder.icmp("eq", shadow, zero(shadow.type))
        fixed.append(ctx.builder.select(missing, primal, shadow))
    return tuple(fixed)


def with_metadata(ctx: Context, old: Instruction) -> None:
    """Let the shadow's accesses keep what the primal's say of aliasing: shadows alias as their primals do."""
    ctx.builder.metadata = {k: v for k, v in old.metadata.items() if k in SHADOW_METADATA}


def is_missing(ctx: Context, pointer: Value) -> list[Value]:
    """Per lane: whether the shadow of a guarded address is the primal itself, which means there is none."""
    primal = ctx.prim(pointer)
    return [ctx.builder.icmp("eq", shadow, primal) for shadow in ctx.pointers(pointer)]


def guarded_load(ctx: Context, old: Load, pointers: Sequence[Value]) -> Shadow:
    """Zero for floats and integers where the memory has no shadow; loaded addresses are then the primal's."""
    missing = is_missing(ctx, old.operands[0])
    if isinstance(old.type.scalar, PointerType):
        return ctx.shadows.load(old.type, pointers, old.align)
    if is_aggregate(old.type):
        return _guarded_aggregate(ctx, old, pointers, missing)
    lanes = []
    for pointer, gone in zip(pointers, missing, strict=True):
        found = ctx.builder.load(old.type, pointer, old.align)
        lanes.append(ctx.builder.select(gone, zero(old.type), found))
    return ctx.lanes.pack(lanes) if is_float_like(old.type) else tuple(lanes)


def _guarded_aggregate(ctx: Context, old: Load, pointers: Sequence[Value], missing: list[Value]) -> Shadow:
    found = ctx.shadows.load(old.type, pointers, old.align)

    def leaf(path: tuple[int, ...], ty: Type) -> Shadow:
        part: Shadow = found
        for index in path:
            part = part[index]  # type: ignore[index,assignment]
        assert part is not None and not isinstance(part, Fields)
        if isinstance(ty.scalar, PointerType):
            return part
        values = ctx.lanes.unpack(part) if is_float_like(ty) else list(part)
        kept = [ctx.builder.select(g, zero(ty), v) for g, v in zip(missing, values, strict=True)]
        return ctx.lanes.pack(kept) if is_float_like(ty) else tuple(kept)

    return ctx.shadows.map(old.type, leaf)


def store(ctx: Context, old: Store) -> None:
    """The stored value's shadow to the shadow memory; zero tangents are written too."""
    value, pointer = old.operands
    if not ctx.is_active(pointer):
        return
    pointers: Sequence[Value] = ctx.pointers(pointer)
    if pointer in ctx.facts.guarded:
        pointers = writable(ctx, old, pointer, ctx.layout.size_of(value.type), ctx.is_active(value))
    shadow = ctx.full(value)
    with_metadata(ctx, old)
    if pointer in ctx.interleaved:
        interleaved.store(ctx, old)
    elif shadow is None:
        for place in pointers:
            ctx.builder.store(ctx.prim(value), place, old.align)
    else:
        _store_rest(ctx, value, pointers, old.align)
        ctx.shadows.store(value.type, shadow, pointers, old.align)
    ctx.builder.metadata = {}


def _store_rest(ctx: Context, value: Value, pointers: Sequence[Value], align: int | None) -> None:
    """Leaves that never carry a shadow (booleans) are copied along with an aggregate."""
    from ferrodiff.adcore.shadow import can_carry, leaves

    if not is_aggregate(value.type):
        return
    for path, ty in leaves(value.type, ctx.layout):
        if can_carry(ty, ctx.layout):
            continue
        _, places = ctx.shadows._places(value.type, pointers, path)
        leaf = ctx.builder.extract_value(ctx.prim(value), *path, type=ty)
        for place in places:
            ctx.builder.store(leaf, place, 1)


def writable(ctx: Context, old: Instruction, pointer: Value, size: int, is_active: bool) -> list[Value]:
    """Guarded shadow addresses with those that are missing led to scratch memory.

    Something active must not get lost there: then the program stops.
    """
    missing = is_missing(ctx, pointer)
    if is_active:
        for gone in missing:
            ctx.builder.call(ctx_guard(ctx), void, [gone])
    scratch = ctx.scratch(size)
    pairs = zip(missing, ctx.pointers(pointer), strict=True)
    return [ctx.builder.select(gone, scratch, place) for gone, place in pairs]


_LOST = "a tangent would be stored in memory that has no shadow, and be lost"


def ctx_guard(ctx: Context) -> Value:
    """The function that stops the program when a tangent would be stored where there is no shadow."""
    return stop_if(ctx.session, "ferrodiff.lost_tangent", _LOST).value


# -- copies and fills ---------------------------------------------------------------------------------------


def memory_call(ctx: Context, old: Call, new: Call) -> None:
    """memcpy, memmove, memset and the libc functions of these names."""
    operation = memory_operation(old.callee_name or "")
    assert operation is not None
    target = old.operands[operation.destination]
    if not ctx.is_active(target):
        return
    if interleaved.moves(ctx, old, operation):
        interleaved.memory_call(ctx, old, new, operation)
    elif operation.source is None:
        _fill(ctx, old, new, operation)
    else:
        _copy(ctx, old, new, operation)
    if operation.returns is not None and ctx.is_active(old):
        ctx.shadow[old] = ctx.shadow[old.operands[operation.returns]]


def _again(ctx: Context, new: Call, replaced: dict[int, Value]) -> None:
    """The same call on other addresses."""
    copy = new.copy()
    copy.operands = [replaced.get(k, v) for k, v in enumerate(new.operands)]
    copy.name = None
    keep_metadata(copy, SHADOW_METADATA)
    ctx.builder.insert(copy)


def _targets(ctx: Context, old: Call, operation: MemoryOperation, is_active: bool) -> Sequence[Value]:
    target = old.operands[operation.destination]
    if target not in ctx.facts.guarded:
        return ctx.pointers(target)
    length = old.operands[operation.length]
    size = constant_number(length)
    if size is not None:
        return writable(ctx, old, target, int(size), is_active)
    if is_active:
        some = ctx.builder.icmp("ne", ctx.prim(length), const_int(length.type, 0))
        for gone in is_missing(ctx, target):
            ctx.builder.call(ctx_guard(ctx), void, [ctx.builder.and_(gone, some)])
    return ctx.pointers(target)


def _lengths(ctx: Context, old: Call, operation: MemoryOperation) -> Sequence[Value]:
    """How many bytes each lane writes: none where a length known only at run time finds no shadow."""
    target, length = old.operands[operation.destination], old.operands[operation.length]
    if target not in ctx.facts.guarded or constant_number(length) is not None:
        return [ctx.prim(length)] * ctx.width
    nothing = const_int(length.type, 0)
    return [ctx.builder.select(gone, nothing, ctx.prim(length)) for gone in is_missing(ctx, target)]


def _fill(ctx: Context, old: Call, new: Call, operation: MemoryOperation) -> None:
    assert operation.byte is not None
    targets = _targets(ctx, old, operation, False)
    replaced: dict[int, Value] = {}
    byte = old.operands[operation.byte]
    if isinstance(byte, ConstInt) and _fills_floats(byte.unsigned):
        replaced[operation.byte] = const_int(byte.type, 0)
    for place, length in zip(targets, _lengths(ctx, old, operation), strict=True):
        _again(ctx, new, {operation.destination: place, operation.length: length, **replaced})


def _fills_floats(byte: int) -> bool:
    """Whether words of this byte repeated may be floats: `vec![v; n]` is a fill if the bytes of `v` are equal.

    Fills by other bytes (0xFF, 1, 0x80) are of integers that have to hold in the shadow.
    """
    return byte & 0x7F > 0x20 and byte & 0xFF != 0xFF


def _copy(ctx: Context, old: Call, new: Call, operation: MemoryOperation) -> None:
    assert operation.source is not None
    source = old.operands[operation.source]
    length = old.operands[operation.length]
    if not ctx.is_active(source) or _from_const_bytes(ctx, source, length):
        _copy_inactive(ctx, old, new, operation)
        return
    targets = _targets(ctx, old, operation, True)
    sources: Sequence[Value] = ctx.pointers(source)
    if source in ctx.facts.guarded:
        _copy_guarded(ctx, old, new, operation, targets)
        return
    lengths = _lengths(ctx, old, operation)
    for place, origin, size in zip(targets, sources, lengths, strict=True):
        _again(ctx, new, {operation.destination: place, operation.source: origin, operation.length: size})
    _clear_const_bytes(ctx, old, operation, targets)


def _from_const_bytes(ctx: Context, source: Value, length: Value) -> bool:
    size = length.value if isinstance(length, ConstInt) else 1
    return ctx.analysis.in_const_range(source, size)


def _clear_const_bytes(ctx: Context, old: Call, operation: MemoryOperation, targets: Sequence[Value]) -> None:
    """A copy of several arguments at once: the inactive ones among them have no shadow to copy."""
    assert operation.source is not None
    start = ctx.analysis.tuple_offset(old.operands[operation.source])
    size = constant_number(old.operands[operation.length])
    if start is None or size is None:
        return
    for low, high in ctx.analysis.ranges.ranges:
        low, high = max(low, start), min(high, start + int(size))
        if low >= high:
            continue
        if not ctx.signature.guard:
            raise NeedsGuard
        for place in targets:
            # An address among these bytes becomes null, which guarded loads replace by the primal's.
            ctx.builder.memset(ctx.builder.ptradd(place, low - start), 0, high - low)


def _copy_inactive(ctx: Context, old: Call, new: Call, operation: MemoryOperation) -> None:
    """From memory without a shadow: zero tangents. Addresses become null, which guarded loads understand."""
    assert operation.source is not None
    source = old.operands[operation.source]
    if not ctx.signature.guard and not holds_no_address(ctx, source):
        raise NeedsGuard
    targets = _targets(ctx, old, operation, False)
    image = image_of(ctx, source)
    for place, length in zip(targets, _lengths(ctx, old, operation), strict=True):
        if image is None:
            ctx.builder.memset(place, 0, length)
        else:
            _again(
                ctx,
                new,
                {operation.destination: place, operation.source: image, operation.length: length},
            )


def holds_no_address(ctx: Context, source: Value) -> bool:
    """Whether the memory behind an inactive address is known to hold numbers alone."""
    target = global_behind(source)
    if target is None or target.name not in ctx.session.module.globals:
        return False
    found = ctx.session.module.globals[target.name]
    return found.is_constant and ctx.session.module.global_bytes(target) is not None


def _copy_guarded(
    ctx: Context, old: Call, new: Call, operation: MemoryOperation, targets: Sequence[Value]
) -> None:
    """Copy where the source has a shadow, else clear, by choosing the length of each of the two."""
    assert operation.source is not None
    source = old.operands[operation.source]
    nothing = const_int(old.operands[operation.length].type, 0)
    lengths = _lengths(ctx, old, operation)
    lanes = zip(targets, ctx.pointers(source), is_missing(ctx, source), lengths, strict=True)
    for place, origin, gone, length in lanes:
        copied = ctx.builder.select(gone, nothing, length)
        cleared = ctx.builder.select(gone, length, nothing)
        _again(ctx, new, {operation.destination: place, operation.source: origin, operation.length: copied})
        ctx.builder.memset(place, 0, cleared)


_ATOMIC_HELP = "use a Mutex or a Cell, or load and store one after the other"


def atomic(ctx: Context, old: AtomicRMW, new: AtomicRMW) -> None:
    """Reference counts and other integers are kept in step; float additions add the tangents."""
    pointer, value = old.operands
    if not ctx.is_active(pointer):
        _refuse_lost(ctx, old)
        return
    places = ctx.pointers(pointer)
    if is_float_like(value.type):
        if old.operation not in ("fadd", "fsub", "xchg"):
            raise ctx.refuse(f"the atomic operation {old.operation} on floats has no derivative rule", old)
        operands = ctx.lanes.unpack(ctx.full(value))  # type: ignore[arg-type]
    else:
        operands = list(ctx.full(value) or (ctx.prim(value),) * ctx.width)  # type: ignore[arg-type]
    results: list[Value] = []
    for place, operand in zip(places, operands, strict=True):
        copy = new.copy()
        copy.operands = [place, operand]
        copy.name = None
        keep_metadata(copy, SHADOW_METADATA)
        results.append(ctx.builder.insert(copy))
    if ctx.is_active(old):
        ctx.shadow[old] = ctx.lanes.pack(results) if is_float_like(old.type) else tuple(results)


def compare_exchange(ctx: Context, old: Instruction, new: Value) -> None:
    """Where the primal exchanged, the shadow of the new value; the result's shadow is what was there before.

    Meant for the words of locks. Two threads could exchange floats and their tangents in different orders.
    """
    pointer, _, value = old.operands
    if not ctx.is_active(pointer):
        _refuse_lost(ctx, old)
        return
    if value in ctx.analysis.sure_bits():
        raise ctx.refuse("a float is exchanged by an atomic operation", old, _ATOMIC_HELP)
    before: list[Value] = []
    done = ctx.builder.extract_value(new, 1, type=i1)
    lanes = list(ctx.full(value) or (ctx.prim(value),) * ctx.width)
    for place, lane in zip(ctx.pointers(pointer), lanes, strict=True):
        found = ctx.builder.load(value.type, place, None)
        assert isinstance(lane, Value)
        ctx.builder.store(ctx.builder.select(done, lane, found), place, None)
        before.append(found)
    if ctx.is_active(old):
        ctx.shadow[old] = Fields((tuple(before), None))


def _refuse_lost(ctx: Context, old: Instruction) -> None:
    """Active floats in memory without a shadow would be lost; integers are just integers."""
    given = [v for v in old.operands[1:] if ctx.is_active(v)]
    if any(is_float_like(v.type) for v in given) or not ctx.analysis.sure_bits().isdisjoint(given):
        raise ctx.refuse("an atomic operation writes a tangent to memory without a shadow", old, READ_BACK[1])
