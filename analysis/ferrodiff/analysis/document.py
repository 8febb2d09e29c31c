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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

import tree_sitter_rust
from tree_sitter import Language, Node, Parser, Tree

from ferrodiff.analysis.items import MACROS, Found, Walker, module_root
from ferrodiff.analysis.model import Attribute, Function, Import, Misplaced, Mode, Name, shifted
from ferrodiff.analysis.printing import COMMENTS
from ferrodiff.analysis.text import SourceText, Span, decode, encode

if TYPE_CHECKING:
    from ferrodiff.analysis.diagnostics.core import Diagnostic

# It starts with a literal, which `re` finds fast; what stands before is looked at afterwards.
_ALIAS = re.compile(rb"(autodiff(?:_forward|_reverse)?)\s+as\s+(\w+)")
_WORD_END = re.compile(rb"\w\Z")
_ORDINARY_TRIGGER = re.compile(rb"autodiff")


@cache
def _language() -> Language:
    return Language(tree_sitter_rust.language())


def parse(data: bytes, old: Tree | None = None) -> Tree:
    """The syntax tree of a whole file; `old` must have been edited to match `data`."""
    parser = Parser(_language())
    return parser.parse(data, old) if old is not None else parser.parse(data)


@dataclass(slots=True)
class Chunk:
    """One top-level item with the attributes and comments before it; spans are relative to its start."""

    text: bytes
    found: Found
    every_function: tuple[Function, ...] | None = None
    checks: object = None
    """Per-item results that callers keep beside the facts (see `ferrodiff.analysis.diagnostics`)."""


@dataclass(frozen=True, slots=True)
class PlacedChunk:
    start: int
    chunk: Chunk
    nodes: tuple[Node, ...]


@dataclass(eq=False)
class FileAnalysis:
    """Everything known about one version of a file. Spans are byte offsets into `source`."""

    source: SourceText
    tree: Tree
    chunks: tuple[PlacedChunk, ...]
    aliases: Mapping[str, Mode | None] = field(default_factory=dict)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The annotated functions, in document order."""
        return tuple(
            [shifted(f, placed.start) for placed in self.chunks for f in placed.chunk.found.functions]
        )

    @cached_property
    def all_functions(self) -> tuple[Function, ...]:
        """Every function of the file outside macro calls, annotated or not, in document order of their scopes."""
        return tuple(
            [shifted(f, placed.start) for placed in self.chunks for f in self.every_function(placed)]
        )

    @cached_property
    def misplaced(self) -> tuple[Misplaced, ...]:
        """Annotations on anything but a function."""
        return tuple(
            [shifted(m, placed.start) for placed in self.chunks for m in placed.chunk.found.misplaced]
        )

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple([shifted(i, placed.start) for placed in self.chunks for i in placed.chunk.found.imports])

    @cached_property
    def inner_attributes(self) -> tuple[Attribute, ...]:
        """``#![...]`` at the head of the file or of a module."""
        return tuple(
            [shifted(a, placed.start) for placed in self.chunks for a in placed.chunk.found.features]
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


def _groups(root: Node) -> Iterator[tuple[Node, ...]]:
    """Top-level items, each with the attributes and comments before it."""
    pending: list[Node] = []
    for node in root.children:
        pending.append(node)
        if node.type != "attribute_item" and node.type not in COMMENTS:
            yield tuple(pending)
            pending = []
    if pending:
        yield tuple(pending)


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


class _Chunks:
    """Chunks by content. Those that the last version did not use are forgotten."""

    def __init__(self) -> None:
        self.known: dict[bytes, Chunk] = {}
        self.aliases: Mapping[str, Mode | None] = {}

    def place(self, data: bytes, tree: Tree) -> tuple[tuple[PlacedChunk, ...], Mapping[str, Mode | None]]:
        root = tree.root_node
        aliases = _aliases(data, root)
        if aliases != self.aliases:
            self.known, self.aliases = {}, aliases
        triggers = _triggers(data, aliases)
        used: dict[bytes, Chunk] = {}
        placed = []
        for nodes in _groups(root):
            start, end = nodes[0].start_byte, nodes[-1].end_byte
            text = data[start:end]
            chunk = used.get(text) or self.known.get(text) or self._read(text, start, end, nodes, triggers)
            used[text] = chunk
            placed.append(PlacedChunk(start, chunk, nodes))
        self.known = used
        return tuple(placed), aliases

    def _read(
        self, text: bytes, start: int, end: int, nodes: tuple[Node, ...], triggers: Sequence[int]
    ) -> Chunk:
        inside = triggers[bisect_left(triggers, start) : bisect_left(triggers, end)]
        walker = Walker(text, start, self.aliases, inside)
        return Chunk(text, walker.walk(nodes, module_root()))


def analyse(text: str) -> FileAnalysis:
    """The analysis of a whole file. Accepts any string."""
    source = SourceText(text)
    tree = parse(source.data)
    chunks, aliases = _Chunks().place(source.data, tree)
    return FileAnalysis(source, tree, chunks, aliases)


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
        self._tree.edit(
            span.start,
            span.end,
            new_end,
            before.line_col(span.start),
            before.line_col(span.end),
            self.source.line_col(new_end),
        )
        self._tree = parse(self.source.data, self._tree)
        if self._tree.root_node.has_error:
            self._tree = parse(self.source.data)
        self._analysis = None

    @property
    def analysis(self) -> FileAnalysis:
        if self._analysis is None:
            chunks, aliases = self._chunks.place(self.source.data, self._tree)
            self._analysis = FileAnalysis(self.source, self._tree, chunks, aliases)
        return self._analysis
