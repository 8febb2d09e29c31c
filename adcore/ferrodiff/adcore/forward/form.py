"""Which form the lanes take in a function: one vector per tangent, or one scalar per lane.

LLVM's loop vectoriser leaves loops alone that already hold vectors. So a loop whose iterations are
independent (or only sum up, or look back one iteration at a loaded value) keeps its lanes apart, and LLVM
vectorises along the loop. Everything sequential has nothing but the lanes to vectorise along and gets one
vector per tangent: recurrences, straight-line code.
"""

from __future__ import annotations

from ferrodiff.adcore.facts.activity import Activity
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.instructions import Instruction, Phi
from ferrodiff.adcore.ir.types import is_float_like
from ferrodiff.adcore.ir.values import Block, uses

Users = dict[Value, list[Instruction]]


def choose_form(facts: Activity, width: int) -> str:
    """`scalar`, `simd` or `unrolled`; see the module's text."""
    if width == 1:
        return "scalar"
    loops = innermost_loops(facts)
    if not loops:
        return "simd"
    function = loops[0][0].parent
    assert function is not None
    users = uses(function)
    return "simd" if any(_is_recurrent(facts, users, header, body) for header, body in loops) else "unrolled"


def innermost_loops(facts: Activity) -> list[tuple[Block, set[Block]]]:
    """Header and blocks of every natural loop without a loop inside."""
    cfg = facts.cfg
    found: dict[Block, set[Block]] = {}
    for block in cfg.order:
        for target in cfg.successors[block]:
            if cfg.dominates(target, block):
                body = found.setdefault(target, {target})
                work = [block]
                while work:
                    each = work.pop()
                    if each not in body:
                        body.add(each)
                        work.extend(cfg.predecessors[each])
    return [(h, b) for h, b in found.items() if not any(o is not h and o in b for o in found)]


def _is_recurrent(facts: Activity, users: Users, header: Block, body: set[Block]) -> bool:
    floats = [phi for phi in header.phis if is_float_like(phi.type) and phi in facts.active]
    return not all(is_sum(phi, users, body) or not feeds_itself(phi, body) for phi in floats)


def feeds_itself(phi: Phi, body: set[Block]) -> bool:
    """Whether the phi's next value depends on its present one: not so where a loaded value is carried on."""
    work = [value for value, source in phi.incoming if source in body]
    seen: set[Value] = set()
    while work:
        value = work.pop()
        if value is phi:
            return True
        if isinstance(value, Instruction) and value.parent in body and value not in seen:
            seen.add(value)
            if is_float_like(value.type):
                work.extend(value.operands)
    return False


def is_sum(phi: Phi, users: Users, body: set[Block]) -> bool:
    """Whether the loop only adds to the phi's value, and reads it for nothing else."""
    chain: set[Value] = {phi}
    sources = [value for value, source in phi.incoming if source in body]
    if not all(_adds_to(value, body, chain, 0) for value in sources):
        return False
    return all(user in chain for link in chain for user in users.get(link, ()) if user.parent in body)


def _adds_to(value: Value, body: set[Block], chain: set[Value], depth: int) -> bool:
    """Whether `value` is the phi with something added; collects the values in between in `chain`."""
    if value in chain:
        return True
    if not isinstance(value, Instruction) or value.parent not in body or depth > 16:
        return False
    match value.opcode:
        case "fadd":
            found = any(_adds_to(v, body, chain, depth + 1) for v in value.operands)
        case "fsub":
            found = _adds_to(value.operands[0], body, chain, depth + 1)
        case "phi":
            found = all(_adds_to(v, body, chain, depth + 1) for v in value.operands)
        case "select":
            found = all(_adds_to(v, body, chain, depth + 1) for v in value.operands[1:])
        case _:
            found = False
    if found:
        chain.add(value)
    return found
