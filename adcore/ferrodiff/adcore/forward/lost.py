"""Active data stored in memory without a shadow, and functions that read it back: refused across calls too.

Within one function the activity analysis sees both ends. A callee that stores behind a pointer which has no
shadow tells its callers; data in global variables may be read by every function that the derivative runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrodiff.adcore.dispatch import reachable
from ferrodiff.adcore.facts.activity import READ_BACK
from ferrodiff.adcore.forward.context import Context, Signature
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import ConstExpr, GlobalRef
from ferrodiff.adcore.ir.instructions import Call, Instruction
from ferrodiff.adcore.ir.types import IntType
from ferrodiff.adcore.ir.values import Argument, Function
from ferrodiff.adcore.rules.runtime import inactive
from ferrodiff.adcore.session import Session, global_behind

_ARGUMENTS = "arguments behind which active data is lost"
_GLOBALS = "globals in which active data is lost"
_SMALLEST = 32
"""Bits of the smallest integer that may be a float's."""


def record(ctx: Context) -> None:
    """Keep where the function stores active data without a shadow."""
    arguments: set[int] = set()
    for insn, roots in ctx.facts.const_stores:
        for root in roots:
            if isinstance(root, Argument):
                arguments.add(root.index)
            elif isinstance(root, GlobalRef):
                _globals(ctx.session).setdefault((ctx.primal.name, root.name), insn)
    ctx.session.facts[_ARGUMENTS, ctx.signature] = frozenset(arguments)


def pass_on(ctx: Context, call: Call, signature: Signature) -> None:
    """What a callee's derivative loses behind its arguments is lost to the caller as well.

    A thunk reads nothing after its only call. Raises `CannotDifferentiate` if the caller reads it back.
    """
    lost = ctx.session.facts.get((_ARGUMENTS, signature), frozenset())
    assert isinstance(lost, frozenset)
    if not ctx.signature.ranges.ranges:
        for index in sorted(lost):
            ctx.analysis.lose(call, call.operands[index])


def check_globals(session: Session, thunk: Function) -> None:
    """Refuse a derivative one of whose functions may read what another one stored in a global variable.

    Raises `CannotDifferentiate`.
    """
    if not _globals(session):
        return
    functions = {f.name: f for f in reachable(session, thunk)}
    for (writer, name), insn in _globals(session).items():
        if writer not in functions:
            continue
        for function in functions.values():
            if function.name != writer and any(_may_read(i, name) for i in function.instructions()):
                raise session.refuse(READ_BACK[0], insn, READ_BACK[1])


def _globals(session: Session) -> dict[tuple[str, str], Instruction]:
    found = session.facts.setdefault(_GLOBALS, {})
    assert isinstance(found, dict)
    return found


def _may_read(insn: Instruction, name: str) -> bool:
    """Whether an instruction reads a global, or takes its address to somewhere else."""
    operands = list(_operands_of(insn))
    if not any(_is(v, name) for v in operands):
        return False
    if insn.opcode in ("load", "atomicrmw", "cmpxchg"):
        kind = insn.operands[-1].type if insn.opcode != "load" else insn.type
        return not isinstance(kind, IntType) or kind.bits >= _SMALLEST * (1 + (insn.opcode != "load"))
    if insn.opcode == "store":
        return _is(insn.operands[0], name)
    if isinstance(insn, Call):
        return inactive(insn.callee_name or "") is None
    return insn.opcode != "icmp"


def _operands_of(insn: Instruction) -> Iterator[Value]:
    for value in insn.operands:
        yield value
        if isinstance(value, ConstExpr):
            yield from value.operands


def _is(value: Value, name: str) -> bool:
    found = global_behind(value)
    return found is not None and found.name == name
