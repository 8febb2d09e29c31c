"""A Rust file under analysis, from scratch (`analyse`) or edit by edit (`Document`).

The file is cut into its top-level items (`ferrodiff.analysis.pieces`), and each is parsed on its own, without
the bodies in which there is nothing to find (`ferrodiff.analysis.skeleton`). What is found in an item depends
on its own bytes (and on the names the autodiff macros go by), so it is kept by content, in offsets relative to
the item, and moved to its place when asked for. One keystroke costs a look at the item it is in, whether the
file has syntax errors or not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tree_sitter import Tree

from ferrodiff.analysis.items import MACROS, Found, Walker, module_root
from ferrodiff.analysis.lexemes import Opaque
from ferrodiff.analysis.local_types import Definitions, definitions
from ferrodiff.analysis.model import FILE_SCOPE, Attribute, Function, Import, Misplaced, Mode, Name, shifted
from ferrodiff.analysis.opening import Opening, opening
from ferrodiff.analysis.pieces import Cut, Piece, Segment, is_single_block
from ferrodiff.analysis.skeleton import skeleton
from ferrodiff.analysis.syntax import parse
from ferrodiff.analysis.text import SourceText, Span, decode, encode
from ferrodiff.analysis.unclosed import unclosed

if TYPE_CHECKING:
    from ferrodiff.analysis.diagnostics.core import Diagnostic

# It starts with a literal, which `re` finds fast; what stands before is looked at afterwards.
_ALIAS = re.compile(rb"(autodiff(?:_forward|_reverse)?)\s+as\s+(\w+)")
_WORD_END = re.compile(rb"\w\Z")
_ORDINARY_TRIGGER = re.compile(rb"autodiff")
_FUNCTION = re.compile(rb"\bfn\b")
# Comments, and then a function without attributes.
_PLAIN_FUNCTION = re.compile(
    rb"""(?P<head>(?:\s|//[^\n]*+\n)*+)
    (?:pub(?:\([\w:\s]*\))?\s+)?(?:(?:const|async|unsafe|extern\s+"\w+")\s+)*fn\s+(?P<name>[A-Za-z_]\w*)\s*[<(]""",
    re.VERBOSE,
)


@dataclass(slots=True)
class Chunk:
    """One top-level item, or a few; spans are relative to its start."""

    text: bytes
    braces: tuple[int, ...]
    """As in `ferrodiff.analysis.pieces.Segment`."""
    found: Found
    opening: Opening
    notable: bool
    """Whether there is more to `found` than names and globs."""
    broken: bool
    """Whether there is a syntax error outside the bodies that hold no annotation."""
    unclosed: tuple[Span, ...] = ()
    """Annotations whose brackets are not closed, to the end of the line."""
    every_function: tuple[Function, ...] | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    """Per-item results that callers keep beside the facts (see `ferrodiff.analysis.diagnostics`)."""
    moved: tuple[int, tuple[Function, ...]] = (-1, ())
    """The annotated functions at the place where they were last asked for."""
    _opaque: Opaque | None = None
    _definitions: Definitions | None = None

    def functions_at(self, start: int) -> tuple[Function, ...]:
        if self.moved[0] != start:
            self.moved = start, tuple([shifted(f, start) for f in self.found.functions])
        return self.moved[1]

    @property
    def opaque(self) -> Opaque:
        """Its comments and literals."""
        if self._opaque is None:
            self._opaque = Opaque(self.text)
        return self._opaque

    @property
    def definitions(self) -> Definitions:
        """The types that it defines."""
        if self._definitions is None:
            self._definitions = definitions(self.text)
        return self._definitions


class PlacedChunk(NamedTuple):
    start: int
    chunk: Chunk


@dataclass(eq=False)
class FileAnalysis:
    """Everything known about one version of a file. Spans are byte offsets into `source`."""

    source: SourceText
    chunks: tuple[PlacedChunk, ...]
    """Together they are the whole text."""
    notable: tuple[PlacedChunk, ...]
    """Those with annotations, imports of autodiff or inner attributes; the others only have names."""
    aliases: Mapping[str, Mode | None] = field(default_factory=dict)

    @cached_property
    def tree(self) -> Tree:
        """The syntax tree of the whole file, parsed when first asked for."""
        return parse(self.source.data)

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

    @cached_property
    def broken(self) -> bool:
        """Whether there is a syntax error that may hide an annotation."""
        return any(placed.chunk.broken for placed in self.chunks)

    def every_function(self, placed: PlacedChunk) -> tuple[Function, ...]:
        chunk = placed.chunk
        if chunk.every_function is None:
            wanted = [match.start() for match in _FUNCTION.finditer(chunk.text)]
            known = skeleton(chunk.text, chunk.braces, wanted)
            walker = Walker(chunk.text, 0, self.aliases, None, known.wheres)
            chunk.every_function = tuple(walker.walk(known.tree.root_node.children, module_root()).functions)
        return chunk.every_function

    def comment_at(self, offset: int) -> Span | None:
        """The comment around a place."""
        index = bisect_right(self.chunks, offset, key=lambda placed: placed.start) - 1
        if index < 0:
            return None
        start, chunk = self.chunks[index]
        around = chunk.opaque.around(offset - start)
        if around is None or chunk.text[around.start : around.start + 2] not in (b"//", b"/*"):
            return None
        return around.shifted(start)

    def function_at(self, offset: int) -> Function | None:
        """The innermost annotated function whose span (attributes included) touches `offset`."""
        inside = [f for f in self.functions if f.span.touches(offset)]
        return min(inside, key=lambda f: f.span.length, default=None)


def _aliases(data: bytes, pieces: Sequence[tuple[int, Segment | Piece]]) -> dict[str, Mode | None]:
    """Names of the macros in this file: their own and those given by ``use ... as``."""
    names = dict(MACROS)
    found: dict[int, list[re.Match[bytes]]] = {}
    for match in _ALIAS.finditer(data):
        if _WORD_END.search(data, max(match.start() - 1, 0), match.start()) is None:
            index = bisect_right(pieces, match.start(), key=lambda piece: piece[0]) - 1
            found.setdefault(index, []).append(match)
    for index, matches in found.items():
        start, piece = pieces[index]
        wanted = [match.start() - start for match in matches]
        root = skeleton(piece.text, piece.braces, wanted).tree.root_node
        for match in matches:
            node = root.descendant_for_byte_range(match.start(2) - start, match.end(2) - start)
            if node is not None and node.parent is not None and node.parent.type == "use_as_clause":
                names[decode(match[2])] = MACROS[decode(match[1])]
    return names


def _trigger(aliases: Mapping[str, Mode | None]) -> re.Pattern[bytes]:
    """Finds what may be an annotation or an import."""
    extra = [re.escape(encode(name)) for name in aliases if name not in MACROS]
    return re.compile(rb"autodiff|\b(?:" + b"|".join(extra) + rb")\b") if extra else _ORDINARY_TRIGGER


class _Chunks:
    """Chunks by content. Those that the last version did not use are forgotten."""

    def __init__(self) -> None:
        self.known: dict[bytes, Chunk] = {}
        self.aliases: Mapping[str, Mode | None] = {}
        self.trigger = _ORDINARY_TRIGGER

    def analyse(self, source: SourceText, cut: Cut) -> FileAnalysis:
        pieces = cut.pieces()
        aliases = _aliases(source.data, pieces)
        if aliases != self.aliases:
            self.known, self.aliases, self.trigger = {}, aliases, _trigger(aliases)
        known, used = self.known, dict[bytes, Chunk]()
        placed: list[PlacedChunk] = []
        for start, piece in pieces:
            chunk = known.get(piece.text) or used.get(piece.text)
            if chunk is None:
                chunk = self._plain(piece) or self._read(piece)
            used[piece.text] = chunk
            placed.append(PlacedChunk(start, chunk))
        self.known = used
        notable = tuple([p for p in placed if p.chunk.notable])
        return FileAnalysis(source, tuple(placed), notable, aliases)

    def _plain(self, piece: Segment | Piece) -> Chunk | None:
        """A function that cannot have anything to do with autodiff: its name is all there is to know."""
        match = _PLAIN_FUNCTION.match(piece.text)
        if match is None or not is_single_block(piece) or self.trigger.search(piece.text) is not None:
            return None
        found = Found(names=[Name(decode(match["name"]), Span(*match.span("name")), FILE_SCOPE)])
        head = match.end("head")
        start = head - len(piece.text[:head].lstrip())
        return Chunk(piece.text, piece.braces, found, Opening(head, None, start), notable=False, broken=False)

    def _read(self, piece: Segment | Piece) -> Chunk:
        text = piece.text
        wanted = [match.start() for match in self.trigger.finditer(text)]
        known = skeleton(text, piece.braces, wanted)
        root = known.tree.root_node
        nodes = root.children
        found = Walker(text, 0, self.aliases, wanted, known.wheres).walk(
            nodes, module_root(), root.type == "ERROR"
        )
        broken = root.has_error
        return Chunk(
            text=text,
            braces=piece.braces,
            found=found,
            opening=opening(nodes),
            notable=found.is_notable,
            broken=broken,
            unclosed=unclosed(text, root, found) if broken else (),
        )


def analyse(text: str) -> FileAnalysis:
    """The analysis of a whole file. Accepts any string."""
    source = SourceText(text)
    return _Chunks().analyse(source, Cut.of(source.data))


class Document:
    """A file that is edited; `analysis` is always that of the current text."""

    def __init__(self, text: str) -> None:
        self.source = SourceText(text)
        self._cut = Cut.of(self.source.data)
        self._chunks = _Chunks()
        self._analysis: FileAnalysis | None = None

    def edit(self, span: Span, new_text: str) -> None:
        """Replaces the bytes of `span` (clamped to the text)."""
        size = len(self.source)
        start = min(max(span.start, 0), size)
        span = Span(start, min(max(span.end, start), size))
        self.source = self.source.edited(span, new_text)
        self._cut = self._cut.edited(self.source.data, span, span.end + len(self.source) - size)
        self._analysis = None

    @property
    def analysis(self) -> FileAnalysis:
        if self._analysis is None:
            self._analysis = self._chunks.analyse(self.source, self._cut)
        return self._analysis
