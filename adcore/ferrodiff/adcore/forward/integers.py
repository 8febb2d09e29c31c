"""Integers that carry the bits of floats, and integers that are just integers.

Small aggregates travel as integers (`[f64; 1]` as i64, `(f32, f32)` as i64, `[f32; 3]` as i128), and copies of
memory often do. Moves of whole bytes are done likewise on the shadow bits. Of arithmetic on the bits, the idioms of
negation, absolute value and copysign are known; anything else that reaches a float again is refused.
"""

from __future__ import annotations

from ferrodiff.adcore.facts.words import is_float_word, looks_like_float
from ferrodiff.adcore.forward.context import Context
from ferrodiff.adcore.forward.images import image_of
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import ConstInt, constant_number, zero
from ferrodiff.adcore.ir.instructions import Call, Instruction, Load
from ferrodiff.adcore.ir.types import FloatType, IntType, PointerType, Type, is_float_like
from ferrodiff.adcore.ir.values import Argument

SURGERY = "the bits of a float that depends on an active argument are changed by integer arithmetic"
SURGERY_HELP = "use the float's own operations (abs, copysign, negation) instead of to_bits/from_bits"


def move(ctx: Context, old: Instruction) -> None:
    """bitcast, trunc, zext, ptrtoint, inttoptr, freeze, addrspacecast."""
    operand = old.operands[0]
    if operand in ctx.facts.tainted and is_float_like(old.type):
        raise ctx.refuse(SURGERY, old, SURGERY_HELP)
    if not ctx.is_active(old) or not _wanted(ctx, old):
        return
    shadow = ctx.full(operand)
    if is_float_like(operand.type) and is_float_like(old.type) and operand.type is old.type:
        ctx.shadow[old] = tuple(_same(ctx, old, v, v.type) for v in shadow or () if isinstance(v, Value))
        return
    lanes = ctx.lanes.unpack(shadow) if is_float_like(operand.type) else list(shadow or ())  # type: ignore[arg-type]
    moved = [_same(ctx, old, v, old.type) for v in lanes]  # type: ignore[arg-type]
    ctx.shadow[old] = ctx.lanes.pack(moved) if is_float_like(old.type) else tuple(moved)


def _same(ctx: Context, old: Instruction, value: Value, ty: Type) -> Value:
    if old.opcode == "freeze":
        return ctx.builder.freeze(value)
    return ctx.builder.cast(old.opcode, value, ty)


def _wanted(ctx: Context, old: Instruction) -> bool:
    return not isinstance(old.type.scalar, IntType) or old in ctx.facts.needed


def bits(ctx: Context, old: Instruction) -> None:
    """shl, lshr, or, and, xor on integers that carry floats."""
    if not ctx.is_active(old) or old not in ctx.facts.needed:
        return
    handler = {"shl": _shift, "lshr": _shift, "or": _join, "and": _mask, "xor": _flip}[old.opcode]
    handler(ctx, old)


def _lanes(ctx: Context, value: Value) -> tuple[Value, ...]:
    found = ctx.full(value)
    assert found is not None
    return found  # type: ignore[return-value]


def _shift(ctx: Context, old: Instruction) -> None:
    value, amount = old.operands
    number = constant_number(amount)
    if number is None or int(number) % 8:
        raise ctx.refuse(SURGERY, old, SURGERY_HELP)
    ctx.shadow[old] = tuple(ctx.builder.binary(old.opcode, v, amount, old.flags) for v in _lanes(ctx, value))


def _sign_part(value: Value) -> bool:
    """Whether an integer can only have its sign bit set."""
    if not isinstance(value.type, IntType):
        return False
    sign = 1 << (value.type.bits - 1)
    if isinstance(value, ConstInt):
        return value.unsigned in (0, sign)
    if isinstance(value, Instruction) and value.opcode == "and":
        return any(isinstance(v, ConstInt) and v.unsigned == sign for v in value.operands)
    return False


def _join(ctx: Context, old: Instruction) -> None:
    a, b = old.operands
    for value, sign in ((a, b), (b, a)):
        if _sign_part(sign):
            # copysign: |x| with a sign put on it; the tangent's sign turns along.
            flipped = (ctx.builder.xor(v, ctx.prim(sign)) for v in _lanes(ctx, value))
            ctx.shadow[old] = tuple(flipped)
            return
    pairs = zip(_lanes(ctx, a), _lanes(ctx, b), strict=True)
    ctx.shadow[old] = tuple(ctx.builder.or_(x, y, old.flags) for x, y in pairs)


def _mask(ctx: Context, old: Instruction) -> None:
    a, b = old.operands
    value, mask = (a, b) if isinstance(b, ConstInt) else (b, a)
    if not isinstance(mask, ConstInt) or not isinstance(old.type, IntType):
        raise ctx.refuse(SURGERY, old, SURGERY_HELP)
    width, sign = old.type.bits, 1 << (old.type.bits - 1)
    if mask.unsigned == sign:
        ctx.shadow[old] = (zero(old.type),) * ctx.width
    elif mask.unsigned == sign - 1 and width in (16, 32, 64):
        turn = ctx.builder.and_(ctx.prim(value), ConstInt_of(old.type, sign))
        ctx.shadow[old] = tuple(ctx.builder.xor(v, turn) for v in _lanes(ctx, value))
    elif all(byte in (0, 255) for byte in mask.unsigned.to_bytes((width + 7) // 8, "little")):
        ctx.shadow[old] = tuple(ctx.builder.and_(v, mask) for v in _lanes(ctx, value))
    else:
        raise ctx.refuse(SURGERY, old, SURGERY_HELP)


def ConstInt_of(ty: Type, number: int) -> Value:
    """An integer constant."""
    from ferrodiff.adcore.ir.constants import const_int

    return const_int(ty, number)


def _flip(ctx: Context, old: Instruction) -> None:
    a, b = old.operands
    value, mask = (a, b) if _sign_part(b) else (b, a)
    if not _sign_part(mask):
        raise ctx.refuse(SURGERY, old, SURGERY_HELP)
    ctx.shadow[old] = tuple(ctx.builder.xor(v, ctx.prim(mask)) for v in _lanes(ctx, value))


# -- integers without a shadow -------------------------------------------------------------------------------


def plain_shadow(ctx: Context, value: Value, primal: Value) -> Value:
    """The shadow of an inactive integer or address that goes where shadows are kept.

    Integers proper are copied (lengths, capacities, discriminants must hold in the parallel world too); bits of an
    inactive float become zero, its tangent.
    """
    if isinstance(value.type.scalar, PointerType):
        return zero(value.type) if is_float_word(value) else primal
    if not isinstance(value.type, IntType) or value.type.bits < 32:
        return primal
    if value in ctx.facts.tainted and ctx.facts.tainted[value] == 2:
        raise ctx.refuse(SURGERY, value if isinstance(value, Instruction) else None, SURGERY_HELP)
    if isinstance(value, Load):
        image = image_of(ctx, value.pointer)
        if image is not None:
            return ctx.builder.load(value.type, image, value.align)
    return zero(value.type) if is_integer(ctx, value) is False else primal


CARRIERS = frozenset(["phi", "select", "zext", "trunc", "or", "shl", "lshr", "and", "freeze", "extractvalue"])
"""Operations that leave open whether their result is an integer or a float's bits."""

INTEGER_USES = frozenset(
    [
        "add",
        "sub",
        "mul",
        "udiv",
        "sdiv",
        "urem",
        "srem",
        "icmp",
        "getelementptr",
        "switch",
        "sitofp",
        "uitofp",
        "ashr",
        "sext",
        "xor",
        "alloca",
    ]
)
"""Users that show a value to be an integer proper."""


def is_integer(ctx: Context, value: Value) -> bool | None:
    """True for an integer proper, False for what may be a float's bits, None where both are the same (zero)."""
    if value not in ctx._integers:
        ctx._integers[value] = None
        ctx._integers[value] = _classify(ctx, value)
    return ctx._integers[value]


def _classify(ctx: Context, value: Value) -> bool | None:
    if isinstance(value, ConstInt):
        if value.value == 0:
            return None
        return not looks_like_float(value)
    if any(u.opcode in INTEGER_USES for u in ctx.uses.get(value, ())):
        return True
    if isinstance(value, Argument):
        return value.has_attribute("range")
    if not isinstance(value, Instruction):
        return None
    if value.opcode in CARRIERS:
        operands = value.operands[1:] if value.opcode == "select" else value.operands
        if value.opcode in ("shl", "lshr"):
            operands = operands[:1]
        kinds = [is_integer(ctx, v) for v in operands if isinstance(v.type, IntType)]
        return True if True in kinds else (False if False in kinds else None)
    if value.opcode == "load":
        return "range" in value.metadata
    if value.opcode == "bitcast":
        return not isinstance(value.operands[0].type.scalar, FloatType)
    return not (isinstance(value, Call) and value.callee_name is not None and value.opcode == "invoke")
