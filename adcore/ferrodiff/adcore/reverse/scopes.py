"""Alias scopes of tape arrays: LLVM is told that no array overlaps another one or anything else.

All arrays of a loop lie in one block and are reached through pointers that change as they grow, so LLVM could
not find this out; it needs it to vectorise the loops that write and read them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrodiff.adcore.ir.instructions import Instruction, Load, Store
from ferrodiff.adcore.ir.values import Function
from ferrodiff.adcore.reverse.tape import Kept, Tape
from ferrodiff.adcore.session import Session


class Nodes:
    """New metadata nodes of a module."""

    def __init__(self, session: Session) -> None:
        self.session = session
        numbers = (int(k.lstrip("!")) for k in session.module.metadata if k.lstrip("!").isdigit())
        known = session.facts.setdefault("next node", max(numbers, default=0) + 1)
        assert isinstance(known, int)

    def add(self, text: str, distinct: bool = False) -> str:
        """A node `!{text}`; a distinct one begins with itself."""
        number = self.session.facts["next node"]
        assert isinstance(number, int)
        self.session.facts["next node"] = number + 1
        name = f"!{number}"
        body = f"distinct !{{{name}{', ' + text if text else ''}}}" if distinct else f"!{{{text}}}"
        self.session.globals[name] = f"{name} = {body}"
        return name


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
    scope = {kept: nodes.add(f'{domain}, !"array"', distinct=True) for kept in arrays}
    own = {kept: nodes.add(scope[kept]) for kept in arrays}
    others = {kept: _list(nodes, [scope[k] for k in arrays if k is not kept]) for kept in arrays}
    everything = [scope[k] for k in arrays]
    merged: dict[str | None, str] = {}
    for function in functions:
        for insn in function.instructions():
            if insn in tape.accesses:
                _mark(insn, own, others, tape.accesses[insn])
            elif isinstance(insn, (Load, Store)) and _in_reverse_sweep(insn):
                before = insn.metadata.get("noalias")
                if before not in merged:
                    merged[before] = nodes.add(", ".join([*_members(session, before), *everything]))
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


def _members(session: Session, node: str | None) -> list[str]:
    """The scopes in a list node of the module; an unknown node is kept out by returning nothing."""
    if node is None:
        return []
    text = session.module.metadata.get(node) or session.module.metadata.get(node.lstrip("!")) or ""
    inside = text[text.find("{") + 1 : text.rfind("}")] if "{" in text else ""
    return [part.strip() for part in inside.split(",") if part.strip()]
