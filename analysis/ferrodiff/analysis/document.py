"""A Rust file under analysis, from scratch (`analyse`) or edit by edit (`Document`).

The file is cut at its top-level items. What is found in an item depends on its own bytes (and on the names
the autodiff macros go by), so it is kept by content, in offsets relative to the item, and moved to its
place when asked for. One keystroke costs tree-sitter's incremental parse, one look at each top-level item's
bytes, and the analysis of the items that changed.

tree-sitter recovers from a syntax error differently when it reuses an old tree. A file with an error is
therefore parsed anew, so that a `Document` always says what `analyse` would.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from tree_sitter import Node, Tree

from ferrodiff.analysis.items import MACROS, Found, Walker, module_root
from ferrodiff.analysis.model import Attribute, Function, Import, Misplaced, Mode, Name, shifted
from ferrodiff.analysis.printing import COMMENTS
from ferrodiff.analysis.syntax import language, parse
from ferrodiff.analysis.text import SourceText, Span, decode, encode

if TYPE_CHECKING:
    from ferrodiff.analysis.diagnostics.core import Diagnostic

# It starts with a literal, which `re` finds fast; what stands before is looked at afterwards.
_ALIAS = re.compile(rb"(autodiff(?:_forward|_reverse)?)\s+as\s+(\w+)")
_WORD_END = re.compile(rb"\w\Z")
_ORDINARY_TRIGGER = re.compile(rb"autodiff")


@dataclass(slots=True)
class Chunk:
    """One top-level item with the attributes and comments before it; spans are relative to its start."""

    text: bytes
    found: Found
    notable: bool
    """Whether there is more than names."""
    every_function: tuple[Function, ...] | None = None
    checks: object = None
    """Per-item results that callers keep beside the facts (see `ferrodiff.analysis.diagnostics`)."""
    moved: tuple[int, tuple[Function, ...]] = (-1, ())
    """The annotated functions at the place where they were last asked for."""

    def functions_at(self, start: int) -> tuple[Function, ...]:
        if self.moved[0] != start:
            self.moved = start, tuple([shifted(f, start) for f in self.found.functions])
        return self.moved[1]


class PlacedChunk(NamedTuple):
    start: int
    chunk: Chunk
    siblings: Sequence[Node]
    """All top-level nodes of the file; the chunk's are a part of them."""
    first: int
    last: int

    @property
    def nodes(self) -> Sequence[Node]:
        return self.siblings[self.first : self.last + 1]


@dataclass(eq=False)
class FileAnalysis:
    """Everything known about one version of a file. Spans are byte offsets into `source`."""

    source: SourceText
    tree: Tree
    chunks: tuple[PlacedChunk, ...]
    notable: tuple[PlacedChunk, ...]
    """Those with annotations, imports of autodiff or inner attributes; the others only have names."""
    aliases: Mapping[str, Mode | None] = field(default_factory=dict)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The annotated functions, in document order."""
        return tuple([f for placed in self.notable for f in placed.chunk.functions_at(placed.start)])

    @cached_property
    def all_functions(self) -> tuple[Function, ...]:
        """Every function outside macro calls, annotated or not, in document order of their scopes."""
        return tuple(
            [shifted(f, placed.start) for placed in self.chunks for f in self.every_function(placed)]
        )

    @cached_property
    def misplaced(self) -> tuple[Misplaced, ...]:
        """Annotations on anything but a function."""
        return tuple(
            [shifted(m, placed.start) for placed in self.notable for m in placed.chunk.found.misplaced]
        )

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(
            [shifted(i, placed.start) for placed in self.notable for i in placed.chunk.found.imports]
        )

    @cached_property
    def inner_attributes(self) -> tuple[Attribute, ...]:
        """``#![...]`` at the head of the file or of a module."""
        return tuple(
            [shifted(a, placed.start) for placed in self.notable for a in placed.chunk.found.features]
        )

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """Items of the value namespace in the scopes that hold annotations, and at the file's root."""
        return tuple([shifted(n, placed.start) for placed in self.chunks for n in placed.chunk.found.names])

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What there is to say about the annotations, in order of place."""
        from ferrodiff.analysis.diagnostics.run import diagnose  # loaded when first asked for

        return diagnose(self)

    def every_function(self, placed: PlacedChunk) -> tuple[Function, ...]:
        chunk = placed.chunk
        if chunk.every_function is None:
            walker = Walker(chunk.text, placed.start, self.aliases, None)
            chunk.every_function = tuple(walker.walk(placed.nodes, module_root()).functions)
        return chunk.every_function

    def function_at(self, offset: int) -> Function | None:
        """The innermost annotated function whose span (attributes included) touches `offset`."""
        inside = [f for f in self.functions if f.span.touches(offset)]
        return min(inside, key=lambda f: f.span.length, default=None)


@cache
def _before_items() -> frozenset[int]:
    """Kinds of nodes that belong to the item after them."""
    grammar = language()
    names = ("attribute_item", *COMMENTS)
    return frozenset(
        [number for name in names if (number := grammar.id_for_node_kind(name, True)) is not None]
    )


def _aliases(data: bytes, root: Node) -> dict[str, Mode | None]:
    """Names of the macros in this file: their own and those given by ``use ... as``."""
    names = dict(MACROS)
    for match in _ALIAS.finditer(data):
        if _WORD_END.search(data, max(match.start() - 1, 0), match.start()):
            continue
        node = root.descendant_for_byte_range(match.start(2), match.end(2))
        if node is not None and node.parent is not None and node.parent.type == "use_as_clause":
            names[decode(match[2])] = MACROS[decode(match[1])]
    return names


def _triggers(data: bytes, aliases: Mapping[str, Mode | None]) -> list[int]:
    extra = [re.escape(encode(name)) for name in aliases if name not in MACROS]
    pattern = re.compile(rb"autodiff|\b(?:" + b"|".join(extra) + rb")\b") if extra else _ORDINARY_TRIGGER
    return [match.start() for match in pattern.finditer(data)]


_Key = bytes | tuple[int, bytes]


class _Chunks:
    """Chunks by content. Those that the last version did not use are forgotten."""

    def __init__(self) -> None:
        self.known: dict[_Key, Chunk] = {}
        self.aliases: Mapping[str, Mode | None] = {}
        self._triggers: list[int] | None = None

    def analyse(self, source: SourceText, tree: Tree) -> FileAnalysis:
        data, root = source.data, tree.root_node
        aliases = _aliases(data, root)
        if aliases != self.aliases:
            self.known, self.aliases = {}, aliases
        known = self.known
        used: dict[_Key, Chunk] = {}
        placed: list[PlacedChunk] = []
        notable: list[PlacedChunk] = []
        broken, in_pieces = root.has_error, root.type == "ERROR"
        siblings, first, before = root.children, 0, _before_items()
        final = len(siblings) - 1
        for last, node in enumerate(siblings):
            kind = node.kind_id
            if kind in before and last != final:
                continue
            start = node.start_byte if first == last else siblings[first].start_byte
            text = data[start : node.end_byte]
            key: _Key = (~kind if in_pieces else kind, text) if broken else text
            chunk = known.get(key)
            if (
                chunk is None
                or in_pieces
                or (broken and any(n.has_error for n in siblings[first : last + 1]))
            ):
                chunk = used.get(key) if not broken else None
                if chunk is None:
                    chunk = self._read(text, start, siblings[first : last + 1], data, in_pieces)
            used[key] = chunk
            here = PlacedChunk(start, chunk, siblings, first, last)
            placed.append(here)
            if chunk.notable:
                notable.append(here)
            first = last + 1
        # What was read from pieces of a file that cannot be parsed holds for these pieces only.
        self.known, self._triggers = {} if in_pieces else used, None
        return FileAnalysis(source, tree, tuple(placed), tuple(notable), aliases)

    def _read(self, text: bytes, start: int, nodes: Sequence[Node], data: bytes, in_pieces: bool) -> Chunk:
        if self._triggers is None:
            self._triggers = _triggers(data, self.aliases)
        end = start + len(text)
        inside = self._triggers[bisect_left(self._triggers, start) : bisect_left(self._triggers, end)]
        found = Walker(text, start, self.aliases, inside).walk(nodes, module_root(), in_pieces)
        return Chunk(text, found, found.is_notable)


def analyse(text: str) -> FileAnalysis:
    """The analysis of a whole file. Accepts any string."""
    source = SourceText(text)
    return _Chunks().analyse(source, parse(source.data))


class Document:
    """A file that is edited; `analysis` is always that of the current text."""

    def __init__(self, text: str) -> None:
        self.source = SourceText(text)
        self._tree = parse(self.source.data)
        self._chunks = _Chunks()
        self._analysis: FileAnalysis | None = None

    def edit(self, span: Span, new_text: str) -> None:
        """Replaces the bytes of `span` (clamped to the text)."""
        size = len(self.source)
        start = min(max(span.start, 0), size)
        span = Span(start, min(max(span.end, start), size))
        before, self.source = self.source, self.source.edited(span, new_text)
        new_end = span.end + len(self.source) - size
        self._tree = self._parsed(before, span, new_end)
        self._analysis = None

    def _parsed(self, before: SourceText, span: Span, new_end: int) -> Tree:
        """Reuses the old tree as long as neither text has a syntax error."""
        if not self._tree.root_node.has_error:
            old_end = before.line_col(span.end)
            self._tree.edit(
                span.start,
                span.end,
                new_end,
                before.line_col(span.start),
                old_end,
                self.source.line_col(new_end),
            )
            tree = parse(self.source.data, self._tree)
            if not tree.root_node.has_error:
                return tree
        return parse(self.source.data)

    @property
    def analysis(self) -> FileAnalysis:
        if self._analysis is None:
            self._analysis = self._chunks.analyse(self.source, self._tree)
        return self._analysis
