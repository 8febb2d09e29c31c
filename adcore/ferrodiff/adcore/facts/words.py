"""Words that may be a number, an address or a float's bits: the payload of a `Result<f64, String>` is one register."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.constants import ConstAggregate, ConstExpr, ConstInt, GlobalRef
from ferrodiff.adcore.ir.instructions import Instruction
from ferrodiff.adcore.ir.types import FloatType, IntType, PointerType
from ferrodiff.adcore.ir.values import Argument, Block

_ELEMENTS = ("insertvalue", "extractvalue", "insertelement", "extractelement")
_CARRIERS = frozenset(("bitcast", "phi", "select", "freeze", "zext", "or", "shl", *_ELEMENTS))
"""Operations whose result may hold an operand's bits unchanged."""

_MERGES = frozenset(["phi", "select", "freeze"])
_FLOAT, _OTHER = frozenset(["float"]), frozenset(["other"])
_SMALLEST = 32
"""Bits of the smallest integer that may be a float's."""


def disguised_addresses(blocks: Iterable[Block]) -> frozenset[Value]:
    """Integers and floats that may be the bits of an address: what `ptrtoint` makes, and what carries it on."""
    rest = [i for b in blocks for i in b.instructions if i.opcode in _CARRIERS or i.opcode == "ptrtoint"]
    found: set[Value] = {i for i in rest if i.opcode == "ptrtoint"}
    rest = [i for i in rest if i.opcode != "ptrtoint" and not isinstance(i.type.scalar, PointerType)]
    found.update(v for i in rest for v in i.operands if _is_constant_address(v))
    size = 0
    while size != len(found):
        size = len(found)
        found.update(i for i in rest if any(v in found for v in _carried(i)))
    return frozenset(found)


def ambiguous_words(blocks: Iterable[Block]) -> frozenset[Value]:
    """Merges of integers or addresses that are a float's bits by one way and something else by another."""
    merges = {i: True for b in blocks for i in b.instructions if i.opcode in _MERGES and _is_word(i)}
    kinds: dict[Value, frozenset[str]] = {}
    size = -1
    while size != sum(map(len, kinds.values())):
        size = sum(map(len, kinds.values()))
        for insn in merges:
            parts = (kinds.get(v, frozenset()) if v in merges else _kind(v) for v in _carried(insn))
            kinds[insn] = frozenset().union(*parts)
    return frozenset(insn for insn, found in kinds.items() if len(found) > 1)


def is_float_word(value: Value) -> bool:
    """Whether an integer or an address is a float's bits, as far as its own definition shows."""
    return _kind(value) == _FLOAT


def _kind(value: Value) -> frozenset[str]:
    if isinstance(value, ConstInt):
        return frozenset() if not value.value else _FLOAT if looks_like_float(value) else _OTHER
    if isinstance(value, (Instruction, ConstExpr)):
        if value.opcode == "inttoptr":
            return _kind(value.operands[0])
        from_float = value.opcode == "bitcast" and isinstance(value.operands[0].type.scalar, FloatType)
        return _FLOAT if from_float else _OTHER
    return _OTHER if isinstance(value, (Argument, GlobalRef)) else frozenset()


def _is_word(insn: Instruction) -> bool:
    ty = insn.type
    return isinstance(ty, PointerType) or (isinstance(ty, IntType) and ty.bits >= _SMALLEST)


def _carried(insn: Instruction) -> list[Value]:
    return insn.operands[1:] if insn.opcode == "select" else insn.operands


def _is_constant_address(value: Value) -> bool:
    """Whether a constant that is no pointer itself is made from an address."""
    if isinstance(value, ConstExpr):
        return value.opcode == "ptrtoint" or any(_is_constant_address(v) for v in value.operands)
    return isinstance(value, ConstAggregate) and any(_is_constant_address(v) for v in value.elements)


def looks_like_float(constant: ConstInt) -> bool:
    """Whether an integer constant is more likely the bits of floats than a number, length or discriminant.

    A wrong yes costs a zero in the shadow of an integer that nobody reads; a wrong no would put a number into a
    tangent, so every plausible double, and every plausible single in either half, counts as a float.
    """
    assert isinstance(constant.type, IntType)
    words = -(-constant.type.bits // 32)
    return may_be_floats(constant.unsigned.to_bytes(4 * words, "little"))


def may_be_floats(data: bytes) -> bool:
    """The same of bytes, which are whole words of 32 bits."""
    words = len(data) // 4
    singles = struct.unpack(f"<{words}f", data)
    if any(2.0**-40 < abs(x) < 2.0**40 for x in singles if x == x):
        return True
    doubles = struct.unpack(f"<{words // 2}d", data[: 8 * (words // 2)])
    return any(2.0**-500 < abs(x) < 2.0**500 or abs(x) == float("inf") for x in doubles if x == x)
