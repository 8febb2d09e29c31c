"""Which form the lanes take in a function: one vector per tangent, or one scalar per lane.

LLVM's loop vectoriser leaves loops alone that already hold vectors. So a loop whose iterations are independent (or
that only sums up) keeps its lanes apart, and LLVM vectorises along the loop; everything sequential - recurrences,
straight-line code - has nothing but the lanes to vectorise along, and gets one vector per tangent.
"""

from __future__ import annotations

from ferrodiff.adcore.facts.activity import Activity
from ferrodiff.adcore.ir.instructions import Instruction, Phi
from ferrodiff.adcore.ir.types import is_float_like
from ferrodiff.adcore.ir.values import Block


def choose_form(facts: Activity, width: int) -> str:
    """`scalar`, `simd` or `unrolled`; see the module's text."""
    if width == 1:
        return "scalar"
    loops = innermost_loops(facts)
    if not loops:
        return "simd"
    return "simd" if any(_is_recurrent(facts, header, body) for header, body in loops) else "unrolled"


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


def _is_recurrent(facts: Activity, header: Block, body: set[Block]) -> bool:
    return any(
        is_float_like(phi.type) and phi in facts.active and not _is_sum(phi, body) for phi in header.phis
    )


def _is_sum(phi: Phi, body: set[Block]) -> bool:
    """Whether the loop only adds to the phi's value."""
    for value, source in phi.incoming:
        if source in body and not _adds_to(value, phi, body, 0):
            return False
    return True


def _adds_to(value: object, phi: Phi, body: set[Block], depth: int) -> bool:
    if value is phi:
        return True
    if not isinstance(value, Instruction) or value.parent not in body or depth > 16:
        return False
    if value.opcode in ("fadd", "fsub"):
        operands = value.operands if value.opcode == "fadd" else value.operands[:1]
        return any(_adds_to(v, phi, body, depth + 1) for v in operands)
    if value.opcode == "phi":
        return all(_adds_to(v, phi, body, depth + 1) for v in value.operands)
    if value.opcode == "select":
        return all(_adds_to(v, phi, body, depth + 1) for v in value.operands[1:])
    return False
