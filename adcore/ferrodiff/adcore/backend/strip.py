"""Taking the bodies of functions out of a module."""

from __future__ import annotations

from collections.abc import Collection

from ferrodiff.adcore.ir.module import Module
from ferrodiff.adcore.ir.writer import apply_edits, write_declaration


def strip_bodies(text: str, names: Collection[str]) -> str:
    """Canonical text with the named definitions turned into declarations.

    Names that the module does not define are passed over.
    """
    module = Module.parse(text)
    edits: list[tuple[int, int, str]] = []
    for name in names:
        if name in module.functions and name not in module.declarations:
            function = module.functions[name]
            edits.append((*module.spans[name], write_declaration(function).rstrip("\n")))
    return apply_edits(text, edits)


def keep_only(text: str, names: Collection[str]) -> str:
    """Canonical text in which only the named functions have bodies."""
    module = Module.parse(text)
    kept = set(names)
    others = [n for n in module.functions if n not in module.declarations and n not in kept]
    return strip_bodies(text, others)
