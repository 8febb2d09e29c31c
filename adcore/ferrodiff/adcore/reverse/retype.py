"""Pointers that travel as integers become pointers again.

LLVM moves containers word by word as ``i64``, also the words that are addresses. A shadow can only follow
pointers, so integer loads and stores of pointer cells, and the phis and selects between them, are retyped.
"""

from __future__ import annotations

from collections.abc import Callable

from ferrodiff.adcore.facts.alias import Alias
from ferrodiff.adcore.facts.memtypes import MemoryTypes
from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.builder import Builder
from ferrodiff.adcore.ir.constants import Constant, ConstExpr, ConstInt, const_expr, poison, zero
from ferrodiff.adcore.ir.instructions import (
    Cast,
    Freeze,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
)
from ferrodiff.adcore.ir.types import PointerType, i8, i64, ptr
from ferrodiff.adcore.ir.values import Function, uses
from ferrodiff.adcore.reverse.augment import insert_after

ROUNDS = 4
"""Retyping memory tells more about memory; this often it is looked at again."""


def retype_pointers(function: Function, facts: Callable[[], tuple[Alias, MemoryTypes]]) -> None:
    """Retype in place until nothing changes. ``facts`` computes the facts of the function as it stands."""
    if not _has_candidates(function):
        return
    for _ in range(ROUNDS):
        _alias, memory = facts()
        changed = _retype_memory(function, memory)
        changed = _retype_webs(function, memory) or changed
        changed = _drop_round_trips(function) or changed
        if not changed:
            return


def _has_candidates(function: Function) -> bool:
    return any(
        i.opcode in ("inttoptr", "ptrtoint") or (isinstance(i, Load) and i.type is i64)
        for i in function.instructions()
    )


def _replace(function: Function, old: Value, new: Value, except_in: Instruction | None = None) -> None:
    for insn in function.instructions():
        if insn is not except_in:
            insn.map_inputs(lambda v: new if v is old else v)


# -- memory ------------------------------------------------------------------------------------------------


def _retype_memory(function: Function, memory: MemoryTypes) -> bool:
    found = [
        i
        for i in function.instructions()
        if (isinstance(i, Load) and i.type is i64 and _is_pointer_cell(i.pointer, memory, i.align))
        or (isinstance(i, Store) and i.value.type is i64 and _is_pointer_cell(i.pointer, memory, i.align))
    ]
    for insn in found:
        if isinstance(insn, Load):
            _retype_load(function, insn)
        elif isinstance(insn, Store):
            _retype_store(function, insn)
    return bool(found)


def _is_pointer_cell(pointer: Value, memory: MemoryTypes, align: int | None) -> bool:
    cells = memory.scalars(pointer, 8, align)
    return cells is not None and len(cells) == 1 and cells[0][0] == 0 and isinstance(cells[0][1], PointerType)


def _retype_load(function: Function, insn: Load) -> None:
    new = Load(ptr, insn.pointer, insn.align, function.fresh_name("address"))
    if "dbg" in insn.metadata:
        new.metadata["dbg"] = insn.metadata["dbg"]
    back = Cast("ptrtoint", i64, new, function.fresh_name("word"))
    block = insn.parent
    assert block is not None
    block.replace_with(insn, [new, back])
    _replace(function, insn, back)


def _retype_store(function: Function, insn: Store) -> None:
    block = insn.parent
    assert block is not None
    value = _as_pointer(function, insn.value, insn)
    new = Store(value, insn.pointer, insn.align)
    if "dbg" in insn.metadata:
        new.metadata["dbg"] = insn.metadata["dbg"]
    block.replace_with(insn, [new])


def _as_pointer(function: Function, value: Value, before: Instruction) -> Value:
    if isinstance(value, ConstInt) and value.value == 0:
        return zero(ptr)
    return Builder(function).position_before(before).inttoptr(value, ptr, "address")


# -- webs --------------------------------------------------------------------------------------------------


def _retype_webs(function: Function, memory: MemoryTypes) -> bool:
    users = uses(function)
    changed = False
    seen: set[Value] = set()
    for insn in list(function.instructions()):
        if insn.type is i64 and isinstance(insn, (Phi, Select, Freeze)) and insn not in seen:
            web = _web(insn, users)
            seen |= web
            if _is_pointer_web(web, users, memory):
                _retype_web(function, web)
                changed = True
    return changed


def _sources(node: Value) -> list[Value]:
    assert isinstance(node, Instruction)
    return node.operands[1:] if isinstance(node, Select) else list(node.operands)


def _web(start: Instruction, users: dict[Value, list[Instruction]]) -> set[Value]:
    found: set[Value] = {start}
    work: list[Value] = [start]
    while work:
        at = work.pop()
        near = [*_sources(at), *users.get(at, ())]
        for each in near:
            if isinstance(each, (Phi, Select, Freeze)) and each.type is i64 and each not in found:
                if isinstance(each, Select) and each.operands[0] is at:
                    continue
                found.add(each)
                work.append(each)
    return found


def _is_pointer_web(web: set[Value], users: dict[Value, list[Instruction]], memory: MemoryTypes) -> bool:
    """Whether addresses go through a web, and whatever else goes through it is known to be a number."""
    origin = False
    for node in web:
        for source in _sources(node):
            if source in web or isinstance(source, Constant):
                continue
            if isinstance(source, Cast) and source.opcode == "ptrtoint":
                origin = True
            elif not _is_number(source, memory):
                return False
    sink = any(u.opcode == "inttoptr" for node in web for u in users.get(node, ()))
    return origin and sink


def _is_number(value: Value, memory: MemoryTypes) -> bool:
    """Whether a word cannot be an address: it is computed of numbers, or read from where integers stand."""
    seen: set[Value] = set()
    work = [value]
    while work:
        at = work.pop()
        if at in seen or isinstance(at, Constant):
            continue
        seen.add(at)
        if isinstance(at, Load):
            if memory.scalars(at.pointer, 8, at.align) != []:
                return False
        elif isinstance(at, Select):
            work.extend(at.operands[1:])
        elif _counts(at):
            continue
        elif isinstance(at, Instruction) and at.opcode in _COMPUTED:
            work.extend(at.operands)
        else:
            return False
    return True


def _counts(value: Value) -> bool:
    """Whether a word is one more or less than another one: no address of floats is made in this way."""
    if not isinstance(value, Instruction) or value.opcode not in ("add", "sub"):
        return False
    by = value.operands[1]
    return isinstance(by, ConstInt) and by.value in (1, -1, (1 << 64) - 1)


_COMPUTED = frozenset(
    ["add", "sub", "mul", "udiv", "urem", "shl", "lshr", "ashr", "zext", "sext", "trunc", "phi", "freeze"]
)


def _retype_web(function: Function, web: set[Value]) -> None:
    new: dict[Value, Instruction] = {}
    for node in web:
        assert isinstance(node, Instruction)
        copy = node.copy()
        copy.type = ptr
        copy.name = function.fresh_name("address")
        copy.metadata = {k: v for k, v in node.metadata.items() if k == "dbg"}
        block = node.parent
        assert block is not None
        block.insert_before(node, copy)
        new[node] = copy

    def as_pointer(value: Value) -> Value:
        if value in new:
            return new[value]
        if isinstance(value, Cast) and value.opcode == "ptrtoint":
            return value.operands[0]
        if isinstance(value, Instruction):
            return _as_number(function, value)
        if isinstance(value, ConstExpr) and value.opcode == "ptrtoint":
            return value.operands[0]
        if isinstance(value, Constant):
            return _constant_address(value)
        return value

    for copy in new.values():
        if isinstance(copy, Select):
            copy.operands[1:] = [as_pointer(v) for v in copy.operands[1:]]
        else:
            copy.operands = [as_pointer(v) for v in copy.operands]
    for node, copy in new.items():
        assert isinstance(node, Instruction) and node.parent is not None
        back = Cast("ptrtoint", i64, copy, function.fresh_name("word"))
        insert_after(copy, back)
        node.parent.remove(node)
        _replace(function, node, back)


def _as_number(function: Function, value: Instruction) -> Value:
    """A number as an address that is based on nothing, computed right after the number."""
    place = GetElementPtr(ptr, i8, [zero(ptr), value], function.fresh_name("number"))
    insert_after(value, place)
    return place


def _constant_address(value: Constant) -> Value:
    if isinstance(value, ConstInt) and value.value == 0:
        return zero(ptr)
    if not isinstance(value, (ConstInt, ConstExpr)):
        return poison(ptr)
    return const_expr(ptr, f"inttoptr ({value.operand} to ptr)", "inttoptr", [value])


def _drop_round_trips(function: Function) -> bool:
    changed = False
    for insn in list(function.instructions()):
        if isinstance(insn, Cast) and insn.opcode == "inttoptr":
            inner = insn.operands[0]
            if isinstance(inner, Cast) and inner.opcode == "ptrtoint":
                _replace(function, insn, inner.operands[0])
                assert insn.parent is not None
                insn.parent.remove(insn)
                changed = True
    return changed
