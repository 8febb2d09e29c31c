"""Indirect calls become choices between direct ones, so that the called functions have derivatives.

A callee's address is compared with every function that it may be; for any other address the derivative stops
the program with a message. Only functions that are differentiated are changed; the primal stays as it was.
"""

from __future__ import annotations

import re

from ferrodiff.adcore.facts.targets import is_slot, targets
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import global_ref
from ferrodiff.adcore.ir.instructions import Branch, Call, Invoke, Phi
from ferrodiff.adcore.ir.types import void
from ferrodiff.adcore.ir.values import Block, Function
from ferrodiff.adcore.session import Session
from ferrodiff.adcore.stops import stop

MOST = 64
"""Of more functions than this none is chosen."""

_MESSAGE = "a derivative reached a function through a pointer that is not in the program"
_NAME = "ferrodiff.unknown.function"


def resolve(session: Session, start: Function, instruction: str | None) -> bool:
    """Spread out the indirect calls of the functions in which one reads like `instruction`.

    Looks at `start` and all it calls. Says whether anything was changed.
    """
    if instruction is None or not _CALLS.search(instruction):
        return False
    changed = False
    for function in reachable(session, start):
        calls = [i for i in function.instructions() if isinstance(i, Call) and _is_indirect(i)]
        if any(_reads(c) == instruction for c in calls):
            for call in calls:
                changed = _spread(session, function, call) or changed
    return changed


_CALLS = re.compile(r"\b(?:call|invoke)\b")


def _reads(call: Call) -> str:
    return str(call).split(", !", 1)[0]


def _is_indirect(call: Call) -> bool:
    return call.callee_name is None and not call.is_inline_asm


def reachable(session: Session, start: Function) -> list[Function]:
    """A function and all with a body that it may call, directly or through pointers."""
    found: dict[str, Function] = {}
    work = [start]
    while work:
        function = work.pop()
        if function.name in found:
            continue
        found[function.name] = function
        for insn in function.instructions():
            if not isinstance(insn, Call):
                continue
            names = targets(session.module, insn) if _is_indirect(insn) else [insn.callee_name or ""]
            work.extend(d for n in names if (d := session.definition(n)) is not None)
    return list(found.values())


def _spread(session: Session, function: Function, call: Call) -> bool:
    names = targets(session.module, call)
    block = call.parent
    known = names or is_slot(session.module, call.callee)
    if not known or len(names) > MOST or block is None or call.bundles:
        return False
    unknown = stop(session, _NAME, _MESSAGE)
    first = block
    join = _split(function, block, call)
    result = Phi(call.type, name=function.fresh_name("called")) if call.type is not void else None
    for name in names:
        here, following = function.add_block("target"), function.add_block("other")
        same = Builder(function).position(block).icmp("eq", call.callee, global_ref(name))
        block.append(Branch([here, following], same))
        _direct(function, here, call, name, join, result)
        if isinstance(call, Invoke):
            for phi in call.unwind.phis:
                phi.add_incoming(phi.value_from(first), here)
        block = following
    if isinstance(call, Invoke):
        for phi in call.unwind.phis:
            at = phi.incoming_blocks.index(first)
            del phi.incoming_blocks[at], phi.operands[at]
    builder = Builder(function).position(block)
    builder.call(unknown, void, [])
    builder.unreachable()
    if result is not None:
        join.instructions.insert(0, result)
        result.parent = join
        for insn in function.instructions():
            insn.map_inputs(lambda v: result if v is call else v)
    return True


def _split(function: Function, block: Block, call: Call) -> Block:
    """Take a call out of its block; what follows it gets a block of its own, which is the answer."""
    join = function.add_block("called", after=block)
    at = block.instructions.index(call)
    rest = block.instructions[at + 1 :]
    del block.instructions[at:]
    if isinstance(call, Invoke):
        join.append(Branch([call.normal]))
        moved = [call.normal]
    else:
        for insn in rest:
            join.append(insn)
        moved = list(join.successors)
    for target in moved:
        for phi in target.phis:
            phi.map_blocks(lambda b: join if b is block else b)
    return join


def _direct(function: Function, here: Block, call: Call, name: str, join: Block, result: Phi | None) -> None:
    """The call of one target in a block of its own, which goes on at the join."""
    copy = call.copy()
    copy.callee = global_ref(name)
    copy.name = function.fresh_name("direct") if result is not None else None
    leaving = here
    if isinstance(copy, Invoke):
        leaving = function.add_block("returned")
        copy.normal = leaving
        here.append(copy)
        leaving.append(Branch([join]))
    else:
        here.append(copy)
        here.append(Branch([join]))
    if result is not None:
        value: Value = copy
        result.add_incoming(value, leaving)
