"""Instructions that merge, pick and take apart values: the same on the shadows."""

from __future__ import annotations

from ferrodiff.adcore.forward import interleaved
from ferrodiff.adcore.forward.context import Context
from ferrodiff.adcore.forward.integers import SURGERY, SURGERY_HELP
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.instructions import (
    ExtractValue,
    Freeze,
    InsertValue,
    Instruction,
    Phi,
    Return,
    Select,
    ShuffleVector,
)
from ferrodiff.adcore.ir.types import IntType, is_float_like
from ferrodiff.adcore.shadow import Fields, Shadow, get


def phi(ctx: Context, old: Phi) -> None:
    """Empty phis of the shadow; `fill_phi` gives them their sources at the end."""
    if not ctx.is_active(old) or _unwanted(ctx, old):
        return
    if old in ctx.interleaved:
        interleaved.phi(ctx, old)
        return
    ctx.shadow[old] = ctx.shadows.phi(old.type, f"{old.name}.t")


def _unwanted(ctx: Context, old: Instruction) -> bool:
    return isinstance(old.type.scalar, IntType) and old not in ctx.facts.needed


def fill_phi(ctx: Context, old: Phi) -> None:
    """Give the shadow's phis their sources, written out at the end of each source block where needed."""
    made = ctx.shadow.get(old)
    if made is None:
        return
    if old in ctx.interleaved:
        interleaved.fill_phi(ctx, old)
        return
    block = old.parent
    assert block is not None
    for value, source in old.incoming:
        if source not in ctx.blocks:
            continue
        at = ctx.exits.get((source, block), ctx.blocks[source])
        assert at.terminator is not None
        ctx.builder.position_before(at.terminator)
        _add_incoming(made, ctx.full(value), at)


def _add_incoming(made: Shadow, incoming: Shadow, block: object) -> None:
    if made is None:
        return
    assert incoming is not None
    for into, value in zip(made, incoming, strict=True):
        if isinstance(made, Fields):
            _add_incoming(into, value, block)  # type: ignore[arg-type]
        else:
            assert isinstance(into, Phi) and isinstance(value, Value)
            into.add_incoming(value, block)  # type: ignore[arg-type]


def select(ctx: Context, old: Select) -> None:
    """The shadow of the picked value."""
    if not ctx.is_active(old) or _unwanted(ctx, old):
        return
    condition, yes, no = old.operands
    shadow_yes, shadow_no = ctx.full(yes), ctx.full(no)
    ctx.shadow[old] = ctx.shadows.select(old.type, ctx.prim(condition), shadow_yes, shadow_no)


def freeze(ctx: Context, old: Freeze) -> None:
    """freeze of every part."""
    if not ctx.is_active(old) or _unwanted(ctx, old):
        return
    found = ctx.full(old.operands[0])
    ctx.shadow[old] = ctx.shadows.map(old.type, lambda path, ty: _frozen(ctx, get(found, path)))


def _frozen(ctx: Context, part: Shadow) -> Shadow:
    assert part is not None
    return tuple(ctx.builder.freeze(v) for v in part if isinstance(v, Value))


def extract_value(ctx: Context, old: ExtractValue) -> None:
    """The part of the shadow."""
    if not ctx.is_active(old) or _unwanted(ctx, old):
        return
    ctx.shadow[old] = get(ctx.full(old.operands[0]), old.indices)


def insert_value(ctx: Context, old: InsertValue) -> None:
    """The shadow with a part replaced."""
    if not ctx.is_active(old):
        return
    aggregate, element = old.operands
    part = ctx.full(element)
    ctx.shadow[old] = ctx.shadows.set(old.type, ctx.shadow.get(aggregate) or None, old.indices, part)
    if ctx.shadow.get(aggregate) is None:
        ctx.shadow[old] = ctx.shadows.set(old.type, ctx.full(aggregate), old.indices, part)


def element(ctx: Context, old: Instruction) -> None:
    """extractelement, insertelement, shufflevector: the same on each lane's vector."""
    if not ctx.is_active(old) or _unwanted(ctx, old):
        return
    match old.opcode:
        case "extractelement":
            _extract_element(ctx, old)
        case "insertelement":
            _insert_element(ctx, old)
        case _:
            _shuffle(ctx, old)


def _vectors(ctx: Context, value: Value) -> tuple[Value, ...]:
    found = ctx.full(value)
    assert found is not None and not isinstance(found, Fields)
    return found


def _extract_element(ctx: Context, old: Instruction) -> None:
    vector, index = old.operands
    lanes = [ctx.builder.extract_element(v, ctx.prim(index)) for v in _vectors(ctx, vector)]
    ctx.shadow[old] = ctx.lanes.pack(lanes) if is_float_like(old.type) else tuple(lanes)


def _insert_element(ctx: Context, old: Instruction) -> None:
    vector, item, index = old.operands
    items = ctx.lanes.unpack(_vectors(ctx, item)) if is_float_like(item.type) else _vectors(ctx, item)
    pairs = zip(_vectors(ctx, vector), items, strict=True)
    ctx.shadow[old] = tuple(ctx.builder.insert_element(v, x, ctx.prim(index)) for v, x in pairs)


def _shuffle(ctx: Context, old: Instruction) -> None:
    assert isinstance(old, ShuffleVector)
    pairs = zip(_vectors(ctx, old.operands[0]), _vectors(ctx, old.operands[1]), strict=True)
    ctx.shadow[old] = tuple(ctx.builder.shuffle(a, b, old.mask) for a, b in pairs)


def returned(ctx: Context, old: Return) -> None:
    """`ret` of the primal result together with its shadow."""
    new_type = ctx.derivative.return_type
    value = old.value
    if value is None:
        ctx.builder.ret()
        return
    if not ctx.signature.result:
        if value in ctx.facts.tainted and ctx.facts.tainted[value] == 2:
            raise ctx.refuse(SURGERY, old, SURGERY_HELP)
        ctx.builder.ret(ctx.prim(value))
        return
    from ferrodiff.adcore.ir.constants import poison

    flat = ctx.shadows.flatten(value.type, ctx.full(value))
    result: Value = ctx.builder.insert_value(poison(new_type), ctx.prim(value), 0)
    for place, part in enumerate(flat):
        result = ctx.builder.insert_value(result, part, place + 1)
    ctx.builder.ret(result)
