"""Alias scopes of lanes: LLVM is told that no lane's shadows overlap another lane's, or the primal's memory.

Distinct objects have distinct shadows in every lane, or the derivative has no meaning; but where addresses
are swapped or merged LLVM cannot know, and would check every pair of them before it vectorises a loop.
Within a lane shadows alias as their primals do: what the primal's accesses say is kept.
"""

from __future__ import annotations

from ferrodiff.adcore.forward.context import GUARDED, Context
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.instructions import GetElementPtr, Instruction, Load, Phi, Select, Store
from ferrodiff.adcore.ir.types import PointerType
from ferrodiff.adcore.nodes import Nodes, members
from ferrodiff.adcore.shadow import Fields

PRIMAL = -1


def separate_lanes(ctx: Context) -> None:
    """Attach scopes to every load and store whose address is known to be the primal's or one lane's."""
    if ctx.signature.guard or GUARDED in ctx.signature.arguments:
        return  # a shadow address may then be the primal's own
    owners = _owners(ctx)
    nodes = Nodes(ctx.session)
    domain = nodes.add('!"lanes"', distinct=True)
    scopes = {who: nodes.add(f'{domain}, !"lane"', distinct=True) for who in range(PRIMAL, ctx.width)}
    made: dict[tuple[str | None, tuple[str, ...]], str] = {}

    def extended(node: str | None, more: tuple[str, ...]) -> str:
        found = made.get((node, more))
        if found is None:
            found = made[node, more] = nodes.add(", ".join([*members(ctx.session, node), *more]))
        return found

    for insn in ctx.derivative.instructions():
        if not isinstance(insn, (Load, Store)):
            continue
        who = _owner(insn.pointer, owners)
        if who is not None:
            others = tuple(scope for other, scope in scopes.items() if other != who)
            insn.metadata["alias.scope"] = extended(insn.metadata.get("alias.scope"), (scopes[who],))
            insn.metadata["noalias"] = extended(insn.metadata.get("noalias"), others)


def _owners(ctx: Context) -> dict[Value, int | None]:
    """Address to whose memory it points into; None where it could be several parties'."""
    found: dict[Value, int | None] = {}

    def note(value: Value, who: int) -> None:
        found[value] = who if found.get(value, who) == who else None

    for old, new in ctx.values.items():
        if isinstance(old.type, PointerType):
            note(new, PRIMAL)
    for old, shadow in ctx.shadow.items():
        if isinstance(old.type, PointerType) and shadow is not None and not isinstance(shadow, Fields):
            for lane, value in enumerate(shadow):
                note(value, lane)
    return found


def _owner(pointer: Value, owners: dict[Value, int | None], depth: int = 0) -> int | None:
    """Whose memory an address points into; None where that is not known."""
    if isinstance(pointer, (Phi, Select)) and depth < 8:
        # A merge of a lane's address with a constant's shares nothing with the lane.
        sources = pointer.operands if isinstance(pointer, Phi) else pointer.operands[1:]
        if any(not isinstance(v, Instruction) and v not in owners for v in sources):
            return None
    if pointer in owners:
        return owners[pointer]
    if isinstance(pointer, GetElementPtr) and depth < 8:
        return _owner(pointer.operands[0], owners, depth + 1)
    return None
