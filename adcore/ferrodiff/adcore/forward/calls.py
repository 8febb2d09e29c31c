"""Calls: rules, allocators, derivatives of functions with a body, and what cannot be differentiated."""

from __future__ import annotations

from collections.abc import Sequence

from ferrodiff.adcore.facts.activity import ConstRanges
from ferrodiff.adcore.facts.callees import Callee
from ferrodiff.adcore.forward import interleaved, memory, scalars
from ferrodiff.adcore.forward.context import ACTIVE, GUARDED, NONE, Context, Signature
from ferrodiff.adcore.forward.lost import pass_on
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import zero
from ferrodiff.adcore.ir.instructions import Call, ExtractValue, Invoke
from ferrodiff.adcore.ir.types import VoidType, i64, is_float_like, is_pointer
from ferrodiff.adcore.ir.values import Argument
from ferrodiff.adcore.rules.mangling import rust_path
from ferrodiff.adcore.rules.runtime import Role, allocation
from ferrodiff.adcore.rules.table import REFUSED
from ferrodiff.adcore.shadow import can_carry
from ferrodiff.adcore.text import watch_text


def call(ctx: Context, old: Call, new: Call) -> None:
    """A call or an invoke: emits the primal's call, or one that replaces it, and the shadow."""
    kind = ctx.analysis.callee_kind(old)
    if kind is Callee.DEFINED and _is_concerned(ctx, old):
        _derivative_call(ctx, old, new)
        return
    if kind in (Callee.UNKNOWN, Callee.HARMLESS):
        watch_text(ctx.session, old, _is_concerned(ctx, old))
    if kind is Callee.UNKNOWN:
        _check_unknown(ctx, old)
    emit(ctx, old, new)
    if kind is Callee.RULE:
        scalars.call(ctx, old, new)
    elif kind is Callee.MEMORY:
        memory.memory_call(ctx, old, new)
    elif kind is Callee.ALLOCATION:
        _allocation(ctx, old, new)


def emit(ctx: Context, old: Call, new: Call) -> None:
    """Put the primal's own call in its place."""
    ctx.builder.insert(new)
    ctx.values[old] = new


def _is_concerned(ctx: Context, old: Call) -> bool:
    return ctx.is_active(old) or any(ctx.is_active(v) for v in old.operands)


# -- functions with a body -----------------------------------------------------------------------------------


def call_signature(ctx: Context, old: Call) -> Signature:
    """Which derivative of the callee a call needs."""
    forms = []
    for value in old.operands:
        if not ctx.is_active(value):
            forms.append(NONE)
        else:
            forms.append(GUARDED if value in ctx.facts.guarded else ACTIVE)
    return Signature(
        function=old.callee_name or "",
        arguments=tuple(forms),
        result=ctx.is_active(old),
        width=ctx.width,
        ranges=ConstRanges(),
        guard=ctx.signature.guard,
    )


def _derivative_call(ctx: Context, old: Call, new: Call) -> None:
    callee = ctx.session.definition(old.callee_name)
    assert callee is not None
    if len(callee.arguments) != len(old.operands):
        raise ctx.refuse("a function is called with other arguments than it has", old)
    signature = call_signature(ctx, old)
    derivative = ctx.call_derivative(callee, signature)
    pass_on(ctx, old, signature)
    args: list[Value] = []
    for value, form in zip(old.operands, signature.arguments, strict=True):
        args.append(ctx.prim(value))
        if form:
            args.extend(ctx.shadows.flatten(value.type, ctx.full(value)))
    made = type(new)(
        derivative.value,
        derivative.function_type,
        args,
        None,
        calling_convention=derivative.calling_convention,
        return_attributes=derivative.return_attributes,
    )
    if isinstance(made, Invoke) and isinstance(new, Invoke):
        made.normal, made.unwind = new.normal, new.unwind
    ctx.builder.insert(made, f"{old.name or 'call'}.d")
    if isinstance(made, Invoke):
        _continue_after(ctx, old, made)
    if signature.result:
        _take_results(ctx, old, made)
    else:
        ctx.values[old] = made


def _continue_after(ctx: Context, old: Call, made: Invoke) -> None:
    """What follows an invoke stands on the normal edge, in a block of its own."""
    assert isinstance(old, Invoke)
    block = old.parent
    assert block is not None and ctx.builder.block is not None
    split = ctx.builder.new_block("invoke.cont", ctx.builder.block)
    ctx.exits[block, old.normal] = split
    target = made.normal
    made.normal = split
    ctx.builder.position(split).br(target)
    assert split.terminator is not None
    ctx.builder.position_before(split.terminator)


def _take_results(ctx: Context, old: Call, made: Call) -> None:
    primal = ExtractValue(old.type, made, (0,))
    ctx.values[old] = ctx.builder.insert(primal, old.name or "primal")
    count = len(ctx.shadows.flat_types(old.type))
    parts = [ctx.builder.extract_value(made, k + 1) for k in range(count)]
    ctx.shadow[old] = ctx.shadows.unflatten(old.type, iter(parts))


# -- allocators ----------------------------------------------------------------------------------------------


def _allocation(ctx: Context, old: Call, new: Call) -> None:
    role = allocation(old.callee_name or "")
    assert role is not None
    if role.out is not None:
        raise ctx.refuse("memory allocated through an out-parameter has no shadow here", old)
    if role.role is Role.DEALLOCATE:
        if old.operands[role.pointer or 0] in ctx.interleaved:
            interleaved.deallocate(ctx, old, new, role)
        else:
            _deallocate(ctx, old, new, role.pointer or 0)
        return
    if not ctx.is_active(old):
        return
    if old in ctx.interleaved:
        interleaved.allocate(ctx, old, new, role)
        return
    places: list[Value] = []
    for lane in range(ctx.width):
        copy = new.copy()
        copy.name = None
        copy.metadata = {}
        if isinstance(copy, Invoke):
            raise ctx.refuse("an allocator that unwinds", old)
        if role.pointer is not None:
            copy.operands[role.pointer] = ctx.pointers(old.operands[role.pointer])[lane]
        places.append(ctx.builder.insert(copy, f"{old.name}.shadow"))
    if role.role is Role.ALLOCATE and role.size is not None:
        size = ctx.prim(old.operands[role.size])
        for place in places:
            ctx.builder.memset(place, 0, size)
    ctx.shadow[old] = tuple(places)


def _deallocate(ctx: Context, old: Call, new: Call, place: int) -> None:
    pointer = old.operands[place]
    if not ctx.is_active(pointer):
        return
    shadows: Sequence[Value] = ctx.pointers(pointer)
    if pointer in ctx.facts.guarded:
        pairs = zip(memory.is_missing(ctx, pointer), shadows, strict=True)
        shadows = [ctx.builder.select(gone, zero(s.type), s) for gone, s in pairs]
    for shadow in shadows:
        copy = new.copy()
        copy.operands[place] = shadow
        copy.metadata = {}
        copy.arg_attributes = [_nullable(a) for a in copy.arg_attributes]
        ctx.builder.insert(copy)


def _nullable(attributes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(a for a in attributes if a != "nonnull" and not a.startswith("dereferenceable"))


# -- unknown functions ---------------------------------------------------------------------------------------


def _check_unknown(ctx: Context, old: Call) -> None:
    """Refuse a function without a body and without a rule that active values reach."""
    if not any(_may_matter(ctx, v) for v in old.operands) and not _may_matter(ctx, old.callee):
        return
    if _only_tells(ctx, old):
        return
    raise ctx.refuse(*unknown_reason(old))


def _may_matter(ctx: Context, value: Value) -> bool:
    return ctx.is_active(value) and not (value in ctx.facts.active and not can_carry(value.type, ctx.layout))


def _only_tells(ctx: Context, old: Call) -> bool:
    """A function that only reads memory and returns an integer tells nothing that has a derivative."""
    if not isinstance(old.type, VoidType) and (is_float_like(old.type) or can_carry_floats(ctx, old)):
        return False
    reads = all(
        "readonly" in attributes or "readnone" in attributes
        for value, attributes in zip(old.operands, old.arg_attributes, strict=True)
        if is_pointer(value.type) and ctx.is_active(value)
    )
    return reads and not any(is_float_like(v.type) and ctx.is_active(v) for v in old.operands)


def can_carry_floats(ctx: Context, old: Call) -> bool:
    """Whether a result may hold addresses or floats."""
    return not old.type.text.startswith("i")


def unknown_reason(old: Call) -> tuple[str, Call, str]:
    """Reason, instruction and help for a call that cannot be differentiated."""
    name = old.callee_name
    if name is None:
        if old.is_inline_asm:
            return (
                "inline assembly has no derivative",
                old,
                "write it in Rust, or keep active values away from it",
            )
        return (
            "a function is called through a pointer, and which one is not known here",
            old,
            "call it directly or through a generic parameter (`impl Fn`) instead of `dyn` or `fn` pointers",
        )
    shown = "::".join(rust_path(name)) or name
    if name in REFUSED:
        return f"`{shown}` has no derivative: {REFUSED[name]}", old, "keep active values away from it"
    return (
        f"no derivative is known for the external function `{shown}`, and its body is not in this program",
        old,
        "pass it only values that do not depend on active arguments, or write the function in Rust",
    )


def shadow_argument_attributes(argument: Argument, form: int) -> tuple[str, ...]:
    """Attributes of a shadow parameter: what holds of the shadow because it is one of the primal."""
    if not is_pointer(argument.type):
        return ()
    kept = []
    for attribute in argument.attributes:
        head = attribute.split("(", 1)[0].split(" ", 1)[0]
        if (head in ("noalias", "readonly") and form == ACTIVE) or (
            head in ("align", "dereferenceable", "nonnull", "noundef") and form == ACTIVE
        ):
            kept.append(attribute)
    return tuple(kept)


PRIMAL_DROPPED = frozenset(
    {"returned", "sret", "dead_on_unwind", "initializes", "dead_on_return", "captures"}
)


def primal_argument_attributes(argument: Argument) -> tuple[str, ...]:
    """Attributes of a primal parameter that stay true in the derivative."""
    kept = []
    for attribute in argument.attributes:
        head = attribute.split("(", 1)[0].split(" ", 1)[0]
        if head not in PRIMAL_DROPPED:
            kept.append(attribute)
    return tuple(kept)


__all__ = ["call", "call_signature", "i64", "primal_argument_attributes", "shadow_argument_attributes"]
