"""The forward derivative of one function: the same control flow, each instruction followed by its tangent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrodiff.adcore.facts.activity import Analysis
from ferrodiff.adcore.forward import calls, integers, memory, scalars, structure
from ferrodiff.adcore.forward.cones import Cones
from ferrodiff.adcore.forward.context import ACTIVE, GUARDED, Context, Signature
from ferrodiff.adcore.forward.fission import split_sums
from ferrodiff.adcore.forward.form import choose_form
from ferrodiff.adcore.forward.fusing import fuse
from ferrodiff.adcore.forward.interleaved import interleaved
from ferrodiff.adcore.forward.lost import record
from ferrodiff.adcore.forward.packing import keep_from_packing
from ferrodiff.adcore.forward.scopes import separate_lanes
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import new_function
from ferrodiff.adcore.ir.clone import PRIMAL_METADATA, keep_metadata
from ferrodiff.adcore.ir.instructions import Call, Instruction, Phi
from ferrodiff.adcore.ir.types import IntType, StructType, Type, VoidType, is_float_like
from ferrodiff.adcore.ir.values import Block, Function
from ferrodiff.adcore.lanes import Lanes
from ferrodiff.adcore.session import Session
from ferrodiff.adcore.shadow import Shadows


def differentiate_forward(session: Session, primal: Function, signature: Signature) -> Function:
    """The derivative function, made now or before.

    Its parameters are each primal parameter followed by its shadows (per leaf and lane, if active); it returns the
    primal result, or a struct of the primal result and its shadows. Raises `CannotDifferentiate`.
    """
    found = session.derivatives.get(signature)
    if found is None:
        found = _declare(session, primal, signature)
        session.derivatives[signature] = found
        session.generated[found.name] = found
        _define(session, primal, signature, found)
    return found


def _declare(session: Session, primal: Function, signature: Signature) -> Function:
    flat = Shadows(Lanes(None, signature.width, "unrolled"), session.module.datalayout)  # type: ignore[arg-type]
    parameters: list[tuple[Type, str, tuple[str, ...]]] = []
    for argument, form in zip(primal.arguments, signature.arguments, strict=True):
        name = argument.name or f"arg{argument.index}"
        parameters.append((argument.type, name, calls.primal_argument_attributes(argument)))
        if form:
            attributes = calls.shadow_argument_attributes(argument, form)
            parameters.extend((ty, f"{name}.d", attributes) for ty in flat.flat_types(argument.type))
    result: Type = primal.return_type
    if signature.result and not isinstance(result, VoidType):
        result = StructType((result, *flat.flat_types(result)))
    name = session.fresh_name(f"ferrodiff.fwd{signature.width}.{primal.name}")
    return new_function(name, result, parameters, session.attributes(primal), personality=primal.personality)


def _define(session: Session, primal: Function, signature: Signature, derivative: Function) -> None:
    analysis = Analysis(
        primal,
        session.module.datalayout,
        session.definition,
        [bool(form) for form in signature.arguments],
        guarded_arguments=[form == GUARDED for form in signature.arguments],
        result_active=signature.result,
        ranges=signature.ranges,
        guard=signature.guard,
        refuse=session.refuse,
    )
    facts = analysis.run()
    form = choose_form(facts, signature.width)

    def call_derivative(callee: Function, wanted: Signature) -> Function:
        return differentiate_forward(session, callee, wanted)

    ctx = Context(session, signature, primal, derivative, analysis, form, call_derivative)
    record(ctx)
    Transform(ctx).run()
    record(ctx)


class Transform:
    """Fills in the derivative's blocks."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def run(self) -> None:
        """Blocks in an order in which definitions come before uses; then the phis' sources."""
        ctx = self.ctx
        ctx.interleaved = interleaved(ctx)
        order = ctx.facts.cfg.order
        for block in order:
            ctx.blocks[block] = ctx.derivative.add_block(block.name)
        self._arguments()
        self._scopes: list[tuple[Phi, Phi]] = []
        for block in order:
            self._block(block)
        for old, new in self._scopes:
            self._fill(old, new)
        for old, _ in self._scopes:
            structure.fill_phi(ctx, old)
        separate_lanes(ctx)
        primal = frozenset(ctx.values.values())

        def last() -> None:
            fuse(ctx.derivative, split_sums(ctx.session, ctx.derivative, primal, ctx.signature.width))
            keep_from_packing(ctx.derivative)

        ctx.session.last[ctx.derivative.name] = last

    def _arguments(self) -> None:
        ctx = self.ctx
        ctx.builder.position(ctx.blocks[ctx.primal.entry])
        parameters = iter(ctx.derivative.arguments)
        for argument, form in zip(ctx.primal.arguments, ctx.signature.arguments, strict=True):
            ctx.values[argument] = next(parameters)
            if form:
                ctx.shadow[argument] = ctx.shadows.unflatten(argument.type, parameters)

    def _block(self, block: Block) -> None:
        ctx = self.ctx
        new_block = ctx.blocks[block]
        ctx.builder.position(new_block)
        live = block in ctx.facts.cfg.live
        phis = block.phis
        for phi in phis:
            self._copy_phi(phi)
        if live:
            for phi in phis:
                structure.phi(ctx, phi)
        cones = Cones(ctx, block) if live else None
        for old in block.instructions[len(phis) :]:
            new = self._copy(old)
            handler = HANDLERS.get(old.opcode) if live else None
            if cones is not None and (old in cones.inner or old in cones.roots):
                ctx.builder.insert(new, old.name or "t")
                ctx.values[old] = new
                if old in cones.roots:
                    ctx.shadow[old] = cones.tangent(old)
                continue
            if handler is not None and old.opcode in OWN_PLACE:
                handler(ctx, old, new)
                continue
            ctx.builder.insert(new, old.name or "t")
            ctx.values[old] = new
            if handler is not None:
                handler(ctx, old, new)

    def _copy(self, old: Instruction) -> Instruction:
        ctx = self.ctx
        new = old.copy()
        new.name = None if old.name is None else ctx.derivative.fresh_name(old.name)
        keep_metadata(new, PRIMAL_METADATA)
        new.map_inputs(ctx.prim)
        new.map_blocks(lambda b: ctx.blocks.get(b, b))
        if isinstance(new, Call) and new.tail:
            new.tail = ""
        return new

    def _copy_phi(self, old: Phi) -> None:
        ctx = self.ctx
        new = Phi(old.type, name=ctx.derivative.fresh_name(old.name or "phi"), flags=old.flags)
        assert ctx.builder.block is not None
        ctx.builder.block.append(new)
        ctx.values[old] = new
        self._scopes.append((old, new))

    def _fill(self, old: Phi, new: Phi) -> None:
        ctx = self.ctx
        assert old.parent is not None
        for value, source in old.incoming:
            if source in ctx.blocks:
                at = ctx.exits.get((source, old.parent), ctx.blocks[source])
                new.add_incoming(ctx.prim(value), at)


Handler = Callable[[Context, Any, Any], None]


def _refuse_if_active(ctx: Context, old: Instruction, new: Instruction) -> None:
    if ctx.is_active(old) or any(
        ctx.is_active(v) and not isinstance(v.type.scalar, IntType) for v in old.operands
    ):
        raise ctx.refuse(f"the instruction {old.opcode} has no derivative rule here", old)


def _sext(ctx: Context, old: Instruction, new: Instruction) -> None:
    return


def _bitwise(ctx: Context, old: Instruction, new: Instruction) -> None:
    integers.bits(ctx, old)


def _cast(ctx: Context, old: Instruction, new: Instruction) -> None:
    integers.move(ctx, old)


def _one(function: Callable[[Context, Any], None]) -> Handler:
    return lambda ctx, old, new: function(ctx, old)


OWN_PLACE = frozenset({"call", "invoke", "ret"})
"""Instructions whose handlers put the primal's copy in its place themselves."""

HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fpext", "fptrunc"), scalars.operation),
    **dict.fromkeys(("shl", "lshr", "or", "and", "xor"), _bitwise),
    **dict.fromkeys(("bitcast", "trunc", "zext", "ptrtoint", "inttoptr", "addrspacecast"), _cast),
    **dict.fromkeys(("extractelement", "insertelement", "shufflevector"), _one(structure.element)),
    "alloca": _one(memory.alloca),
    "getelementptr": _one(memory.address),
    "load": _one(memory.load),
    "store": _one(memory.store),
    "atomicrmw": memory.atomic,
    "cmpxchg": memory.compare_exchange,
    "select": _one(structure.select),
    "freeze": _one(structure.freeze),
    "extractvalue": _one(structure.extract_value),
    "insertvalue": _one(structure.insert_value),
    "call": calls.call,
    "invoke": calls.call,
    "ret": _one(structure.returned),
    "va_arg": _refuse_if_active,
}
"""The handler of each instruction; the others are copied alone, because nothing differentiable passes them."""

__all__ = ["ACTIVE", "Transform", "Value", "differentiate_forward", "is_float_like"]
