"""Copying functions and instructions."""

from __future__ import annotations

from collections.abc import Mapping

from ferrodiff.adcore.ir.base import Value
from ferrodiff.adcore.ir.instructions import Instruction
from ferrodiff.adcore.ir.text import closing
from ferrodiff.adcore.ir.values import Argument, Block, Function

PRIMAL_METADATA = frozenset(
    (
        "noundef",
        "range",
        "nonnull",
        "align",
        "dereferenceable",
        "dereferenceable_or_null",
        "alias.scope",
        "noalias",
        "invariant.load",
        "prof",
        "srcloc",
    )
)
"""Metadata that stays true of a copy of a primal instruction.

``dbg`` needs the function's own debug info; ``tbaa`` would let LLVM separate a value from its tangent's
memory by type; loop metadata belongs to the original loop.
"""

SHADOW_METADATA = frozenset({"alias.scope", "noalias"})
"""Metadata that is no claim about the value itself, so it may stand on a shadow's access."""


def keep_metadata(insn: Instruction, kinds: frozenset[str]) -> None:
    """Drop every metadata attachment that is not among ``kinds``."""
    if insn.metadata:
        insn.metadata = {k: v for k, v in insn.metadata.items() if k in kinds}


def clone_function(
    function: Function, new_name: str, *, keep: frozenset[str] = PRIMAL_METADATA
) -> tuple[Function, dict[Value, Value], dict[Block, Block]]:
    """A copy under a new name, with maps from old values and blocks to new ones.

    The copy is internal, has no debug info, and its instructions keep the metadata kinds ``keep``.
    """
    values: dict[Value, Value] = {}
    copy = Function(
        new_name,
        function.return_type,
        linkage="internal",
        calling_convention=function.calling_convention,
        return_attributes=function.return_attributes,
        attributes=function.attributes,
        personality=function.personality,
        vararg=function.vararg,
        module=function.module,
    )
    for argument in function.arguments:
        new = Argument(argument.type, argument.name or "", argument.index, argument.attributes)
        copy.arguments.append(new)
        values[argument] = new
    blocks = copy_blocks(function.blocks, copy, values, keep=keep)
    copy.required_declarations.update(function.required_declarations)
    return copy, values, blocks


def copy_blocks(
    blocks: list[Block],
    into: Function,
    values: dict[Value, Value],
    *,
    keep: frozenset[str] = PRIMAL_METADATA,
) -> dict[Block, Block]:
    """Append copies of blocks to a function; ``values`` maps inputs and receives the copies.

    Names are kept where they are free. Returns the map of blocks; blocks outside it stay as they are.
    """
    new_blocks: dict[Block, Block] = {}
    for block in blocks:
        new_blocks[block] = Block(into.fresh_name(block.name), into)
    copies: list[Instruction] = []
    for block in blocks:
        target = new_blocks[block]
        for insn in block.instructions:
            copy = insn.copy()
            keep_metadata(copy, keep)
            if copy.name is not None:
                copy.name = into.fresh_name(copy.name)
            target.append(copy)
            values[insn] = copy
            copies.append(copy)
    remap(copies, values, new_blocks)
    into.blocks.extend(new_blocks.values())
    return new_blocks


def remap(
    instructions: list[Instruction], values: Mapping[Value, Value], blocks: Mapping[Block, Block]
) -> None:
    """Replace inputs and blocks by what they are mapped to; what is not mapped stays."""

    def value_of(value: Value) -> Value:
        return values.get(value, value)

    def block_of(block: Block) -> Block:
        return blocks.get(block, block)

    for insn in instructions:
        insn.map_inputs(value_of)
        insn.map_blocks(block_of)


_KEPT_ATTRIBUTES = frozenset({"nounwind", "nonlazybind", "uwtable", "sspstrong", "strictfp", "unnamed_addr"})
_KEPT_STRINGS = frozenset(
    {
        "target-cpu",
        "target-features",
        "tune-cpu",
        "probe-stack",
        "prefer-vector-width",
        "min-legal-vector-width",
    }
)


def attributes_for_derivative(function: Function) -> str:
    """Those function attributes of a primal, written out, that are true of its derivative too.

    What the primal does to memory, whether it returns, frees or recurses says nothing about a function that
    also works on shadows, so ``memory(...)``, ``willreturn``, ``nofree``, ``norecurse`` and their like go.
    The processor's attributes stay, because LLVM inlines only between functions that agree on them.
    """
    kept: list[str] = []
    for word in split_attributes(function.attributes):
        if word.startswith("#"):
            groups = function.module.attribute_groups if function.module is not None else {}
            kept.extend(w for w in split_attributes(groups.get(word, "")) if _is_kept(w))
        elif _is_kept(word):
            kept.append(word)
    return " ".join(dict.fromkeys(kept))


def _is_kept(word: str) -> bool:
    if word.startswith('"'):
        return word.split('"')[1] in _KEPT_STRINGS
    return word.split("(")[0] in _KEPT_ATTRIBUTES


def split_attributes(text: str) -> list[str]:
    """The attributes of a list; ``memory(argmem: read)`` and ``"key"="value"`` are one each."""
    found: list[str] = []
    position = 0
    while position < len(text):
        end = position
        while end < len(text) and text[end] != " ":
            if text[end] == "(":
                end = closing(text, end)
            elif text[end] == '"':
                end = text.index('"', end + 1)
            end += 1
        if end > position:
            found.append(text[position:end])
        position = end + 1
    return found
