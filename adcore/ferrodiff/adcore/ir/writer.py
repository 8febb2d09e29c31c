"""Writing functions and whole modules as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrodiff.adcore.ir.header import header_text, read_header
from ferrodiff.adcore.ir.names import quote_name
from ferrodiff.adcore.ir.values import Function

if TYPE_CHECKING:
    from ferrodiff.adcore.ir.module import Module

_NEEDS_DEBUG = frozenset({"dbg", "DIAssignID"})


def write_function(function: Function) -> str:
    """The definition (or declaration) as text, ending in a newline.

    Values without a name get one, and a name that stands twice is changed. Without a debug attachment of
    the function itself, its instructions' ``!dbg`` is left out, as LLVM demands.
    """
    if function.is_declaration:
        return write_declaration(function)
    settle_names(function)
    keep_debug = function.debug is not None
    lines: list[str] = [header_text(function) + " {"]
    for block in function.blocks:
        lines.append(f"{quote_name(block.name)}:")
        for insn in block.instructions:
            if not keep_debug and "dbg" in insn.metadata:
                kept = {k: v for k, v in insn.metadata.items() if k not in _NEEDS_DEBUG}
                held, insn.metadata = insn.metadata, kept
                lines.append(f"  {insn}")
                insn.metadata = held
            else:
                lines.append(f"  {insn}")
    lines.append("}\n")
    return "\n".join(lines)


def write_declaration(function: Function) -> str:
    """The ``declare`` line of a function, also of one that has a body."""
    blocks = function.blocks
    function.blocks = []
    try:
        return header_text(function, keep_metadata=not blocks) + "\n"
    finally:
        function.blocks = blocks


def settle_names(function: Function) -> None:
    """Give every argument, block and result a name of its own."""
    taken: set[str] = set()
    nameless = False
    clashing = False
    for name in _all_names(function):
        if name is None:
            nameless = True
        elif name in taken:
            clashing = True
        else:
            taken.add(name)
    if nameless or clashing:
        _rename(function)


def _all_names(function: Function) -> Iterable[str | None]:
    for argument in function.arguments:
        yield argument.name
    for block in function.blocks:
        yield block.name
        for insn in block.instructions:
            if insn.type.text != "void":
                yield insn.name


def _rename(function: Function) -> None:
    function.forget_names()
    seen: set[str] = set()

    def settled(name: str | None, hint: str) -> str:
        if name is None or name in seen:
            name = function.fresh_name(name or hint)
        seen.add(name)
        return name

    for argument in function.arguments:
        argument.name = settled(argument.name, "arg")
    for block in function.blocks:
        block.name = settled(block.name, "bb")
        for insn in block.instructions:
            if insn.type.text != "void":
                insn.name = settled(insn.name, "t")


def assemble(
    module: Module,
    new_functions: list[Function],
    replaced: list[Function],
    declarations: list[str],
    globals: list[str],
) -> str:
    """:meth:`Module.with_functions`."""
    text = module.text
    edits: list[tuple[int, int, str]] = []
    appended: list[str] = list(globals)
    known = set(module.functions) | set(module.globals) | set(module.aliases)
    for function in (*replaced, *new_functions):
        written = write_function(function)
        span = module.spans.get(function.name)
        if span is None:
            appended.append(written)
        else:
            edits.append((*span, written.rstrip("\n")))
        known.add(function.name)
    required: dict[str, str] = {}
    for function in (*replaced, *new_functions):
        required.update(function.required_declarations)
    for line in declarations:
        required.setdefault(declared_name(line), line)
    appended.extend(line.rstrip("\n") + "\n" for name, line in required.items() if name not in known)
    text = apply_edits(text, edits)
    if not appended:
        return text
    return text.rstrip("\n") + "\n\n" + "\n".join(appended)


def apply_edits(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with each range replaced; ranges do not overlap."""
    pieces: list[str] = []
    position = 0
    for start, end, new in sorted(edits):
        pieces.append(text[position:start])
        pieces.append(new)
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def declared_name(line: str) -> str:
    """The name that a ``declare`` line declares."""
    return read_header(line).name
