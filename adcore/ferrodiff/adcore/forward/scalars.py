"""Floats: the tangent of an operation is the sum of its partials times its operands' tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ferrodiff.adcore.forward.context import Context
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import const_float
from ferrodiff.adcore.ir.instructions import Call, Instruction
from ferrodiff.adcore.ir.types import Type, is_float_like
from ferrodiff.adcore.lanes import Lanes, Tangent
from ferrodiff.adcore.rules.partial import CastPartial, LaneDot, LanePick, LaneSum, Partial
from ferrodiff.adcore.rules.rule import PartialRow, Rule, Site, Write
from ferrodiff.adcore.rules.table import BY_OPCODE, rule_for_call
from ferrodiff.adcore.shadow import Fields


def operation(ctx: Context, old: Instruction, new: Value) -> None:
    """fadd ... frem, fneg, fpext, fptrunc."""
    if ctx.is_active(old):
        ctx.shadow[old] = by_rule(ctx, BY_OPCODE[old.opcode], old, new)


def call(ctx: Context, old: Call, new: Value) -> None:
    """Intrinsics and library functions with a rule."""
    rule = rule_for_call(old.callee_name or "", old.function_type)
    assert rule is not None
    if rule.writes:
        _writes(ctx, rule, old, new)
    if not ctx.is_active(old):
        return
    if rule.fields:
        site = Site(ctx.builder, [ctx.prim(v) for v in old.operands], new)
        ctx.shadow[old] = Fields(_sum(ctx, site, row, old.operands, None) for row in rule.fields)
    else:
        ctx.shadow[old] = by_rule(ctx, rule, old, new)


class Tangents(Protocol):
    """What a rule's tangent is made from: where the primal's values and the operands' tangents are."""

    builder: Builder
    lanes: Lanes

    def prim(self, value: Value) -> Value:
        """The copy of a primal value."""

    def tangent(self, value: Value) -> Tangent | None:
        """The tangent of a float; None where it is zero."""


def by_rule(ctx: Tangents, rule: Rule, old: Instruction, new: Value) -> Tangent | None:
    """The tangent of one operation; None where it is zero."""
    site = Site(ctx.builder, [ctx.prim(v) for v in old.operands], new)
    if rule.choice is not None:
        return _chosen(ctx, rule, old, site)
    return _sum(ctx, site, rule.partials, old.operands, old.type)


def _chosen(ctx: Tangents, rule: Rule, old: Instruction, site: Site) -> Tangent:
    first, second = (old.operands[k] for k in rule.choices)
    condition = rule.condition(site)
    a = ctx.tangent(first) or ctx.lanes.zero(old.type)
    b = ctx.tangent(second) or ctx.lanes.zero(old.type)
    return ctx.lanes.select(condition, a, b)


def _sum(
    ctx: Tangents,
    site: Site,
    rows: Sequence[PartialRow | None],
    operands: Sequence[Value],
    ty: Type | None,
) -> Tangent | None:
    total: Tangent | None = None
    for row, operand in zip(rows, operands, strict=False):
        if row is None or not is_float_like(operand.type):
            continue
        tangent = ctx.tangent(operand)
        if tangent is not None:
            total = contribute(ctx, total, row(site), tangent, ty or operand.type)
    return total


def contribute(
    ctx: Tangents, total: Tangent | None, partial: Partial, t: Tangent, ty: Type
) -> Tangent | None:
    """total + partial * t for a result of type `ty`, where None stands for zero."""
    match partial:
        case CastPartial(opcode=opcode):
            term: Tangent = ctx.lanes.cast(opcode, t, ty)
        case LaneSum():
            term = _reduced(ctx, t, ty)
        case LaneDot(weights=weights):
            term = _reduced(ctx, tuple(ctx.builder.fmul(weights, v) for v in t), ty)
        case LanePick(index=index):
            term = ctx.lanes.pack([ctx.builder.extract_element(v, index) for v in t])
        case _:
            return ctx.lanes.accumulate(total, partial, t)
    return term if total is None else ctx.lanes.add(total, term)


def _reduced(ctx: Tangents, vectors: Tangent, ty: Type) -> Tangent:
    """The sum over the elements of each lane's vector."""
    start = const_float(ty, -0.0)
    sums = [
        ctx.builder.intrinsic("llvm.vector.reduce.fadd", [v.type], [start, v], ty, flags=("reassoc",))
        for v in vectors
    ]
    return ctx.lanes.pack(sums)


def _writes(ctx: Context, rule: Rule, old: Call, new: Value) -> None:
    """Results that a function writes through pointers (sincos, modf, frexp)."""
    for write in rule.writes:
        pointer = old.operands[write.operand]
        if not ctx.is_active(pointer):
            if any(ctx.tangent(v) is not None for v in old.operands if is_float_like(v.type)):
                raise ctx.refuse(
                    "a result that depends on an active argument is written where no shadow is", old
                )
            continue
        _write(ctx, write, old, new, pointer)


def _write(ctx: Context, write: Write, old: Call, new: Value, pointer: Value) -> None:
    if write.kind != "float":
        return
    operands = [ctx.prim(v) for v in old.operands]
    site = Site(ctx.builder, operands, None if new.type.text == "void" else new)
    ty = site.type
    tangent = _sum(ctx, site, write.partials or (), old.operands, ty)
    ctx.lanes.store(tangent or ctx.lanes.zero(ty), ctx.pointers(pointer), None)
