"""Alias scopes of tape arrays: LLVM is told that no array overlaps another one or anything else.

All arrays of a loop lie in one block and are reached through pointers that change as they grow, so LLVM could
not find this out; it needs it to vectorise the loops that write and read them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.instructions import Instruction, Load, Store
from ferrodiff.adcore.ir.types import FunctionType, metadata, void
from ferrodiff.adcore.ir.values import Function, MetadataOperand
from ferrodiff.adcore.nodes import Nodes, members
from ferrodiff.adcore.reverse.memory import MemorySweep
from ferrodiff.adcore.reverse.prepare import LoopPlan, Shape
from ferrodiff.adcore.reverse.tape import Kept, Tape
from ferrodiff.adcore.reverse.windows import apart, invariant_base
from ferrodiff.adcore.session import Session

SEPARATED = 24
"""Of more arrays than this it is only said that nothing else overlaps them."""


def separate(session: Session, tape: Tape, functions: Iterable[Function]) -> None:
    """Attach scopes to every access of a tape array, and their absence to the reverse sweep's other accesses.

    The forward sweep's own loads and stores stay as they are: told that the tape does not overlap them, LLVM
    carries loaded values from iteration to iteration, and then does not vectorise the loop.
    """
    arrays = list(dict.fromkeys(tape.accesses.values()))
    if not arrays:
        return
    nodes = Nodes(session)
    domain = nodes.add('!"tape"', distinct=True)
    if len(arrays) > SEPARATED:
        shared = nodes.add(f'{domain}, !"arrays"', distinct=True)
        scope = dict.fromkeys(arrays, shared)
    else:
        scope = {kept: nodes.add(f'{domain}, !"array"', distinct=True) for kept in arrays}
    distinct = list(dict.fromkeys(scope.values()))
    lists = {each: nodes.add(each) for each in distinct}
    apart_from = {each: _list(nodes, [s for s in distinct if s is not each]) for each in distinct}
    own = {kept: lists[scope[kept]] for kept in arrays}
    others = {kept: apart_from[scope[kept]] for kept in arrays}
    everything = distinct
    merged: dict[str | None, str] = {}
    for function in functions:
        for insn in function.instructions():
            if insn in tape.accesses:
                _mark(insn, own, others, tape.accesses[insn])
            elif isinstance(insn, (Load, Store)) and _in_reverse_sweep(insn):
                before = insn.metadata.get("noalias")
                if before not in merged:
                    merged[before] = nodes.add(", ".join([*members(session, before), *everything]))
                insn.metadata["noalias"] = merged[before]


def _in_reverse_sweep(insn: Instruction) -> bool:
    return insn.parent is not None and insn.parent.name.startswith("back.")


def _list(nodes: Nodes, scopes: list[str]) -> str | None:
    return nodes.add(", ".join(scopes)) if scopes else None


def _mark(insn: Instruction, own: dict[Kept, str], others: dict[Kept, str | None], kept: Kept) -> None:
    insn.metadata["alias.scope"] = own[kept]
    apart = others[kept]
    if apart is not None:
        insn.metadata["noalias"] = apart


def separate_shadows(
    session: Session, shape: Shape, alias: Alias, memory: MemorySweep, entries: dict[LoopPlan, Instruction]
) -> None:
    """Tell LLVM which shadows never overlap inside one run of an innermost loop.

    Buffers that are swapped between runs are known to be apart at any one time; LLVM does not find that out
    across the tape. ``entries`` are the places in the reverse sweep where runs of loops begin: the scopes are
    declared there, because they hold for one run only.
    """
    nodes = Nodes(session)
    for plan, entry in entries.items():
        if plan.loop.children or plan.parent is None:
            continue
        groups = _groups(plan, shape, memory)
        if len(groups) < 2 or not all(apart(a, b, alias) for a in groups for b in groups if a is not b):
            continue
        domain = nodes.add('!"shadows"', distinct=True)
        scope = {base: nodes.add(f'{domain}, !"shadow"', distinct=True) for base in groups}
        for base, accesses in groups.items():
            own = nodes.add(scope[base])
            _declare(entry, own)
            others = nodes.add(", ".join(s for b, s in scope.items() if b is not base))
            for insn in accesses:
                insn.metadata["alias.scope"] = own
                insn.metadata["noalias"] = others


def _groups(plan: LoopPlan, shape: Shape, memory: MemorySweep) -> dict[Value, list[Instruction]]:
    """Shadow accesses in a loop's reverse, by the primal's base; empty if some base changes in the loop."""
    found: dict[Value, list[Instruction]] = {}
    for insn, pointer, block in memory.accesses:
        if block not in plan.loop.blocks:
            continue
        base = invariant_base(pointer, plan, shape.loops)
        if base is None:
            return {}
        found.setdefault(base, []).append(insn)
    return found


def _declare(entry: Instruction, scopes: str) -> None:
    block = entry.parent
    assert block is not None and block.parent is not None
    builder = Builder(block.parent).position_before(entry)
    kind = FunctionType(void, (metadata,))
    builder.call("llvm.experimental.noalias.scope.decl", void, [MetadataOperand(scopes)], function_type=kind)
