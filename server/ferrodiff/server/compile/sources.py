"""The source files of a program: the root file and, by rustc's rules, the file modules below it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.errors import Failure
from ferrodiff.server.paths import STANDARD_INPUT, read_source

_FILE_MODULE = re.compile(r"\bmod\s+(?:r#)?\w+\s*;")
_PATH_ATTRIBUTE = re.compile(r'#\s*\[\s*path\s*=\s*"((?:[^"\\]|\\.)*)"\s*\]')
ARGUMENTS = "--arg "
"""What the names of files for inputs from the command line start with: panics and rustc show them."""


@dataclass(slots=True)
class SourceFile:
    """One file of the program. `name` is what messages call it, `target` where its rewritten text goes."""

    path: Path
    name: str
    target: str
    module: str
    """Its path from the root, `outer::inner`; empty for the root."""
    owns_folder: bool
    """Whether its file modules stand beside it (the root, `mod.rs`), and not in a folder of its name."""
    analysis: FileAnalysis
    rewritten: str = ""

    @property
    def source(self) -> SourceText:
        return self.analysis.source

    def file_modules(self, data: bytes) -> Iterator[tuple[FileModule, Path]]:
        """The `mod x;` items of this file's text `data` (its own or the rewritten one) whose files exist."""
        if not _FILE_MODULE.search(data.decode("utf-8", "surrogatepass")):
            return
        home = self.path.parent if self.owns_folder else self.path.parent / self.path.stem
        for item in _file_modules(data):
            found = item.resolve(self.path.parent, home)
            if found is not None:
                yield item, found


@dataclass(frozen=True, slots=True)
class FileModule:
    """A `mod name;` item. `nest` are the inline modules around it."""

    name: str
    start: int
    nest: tuple[str, ...]
    explicit: str | None
    attribute: Span | None

    def resolve(self, folder: Path, home: Path) -> Path | None:
        """The module's file by rustc's rules; None when there is none."""
        if self.explicit is not None:
            base = folder if not self.nest else home.joinpath(*self.nest)
            candidates = [base / self.explicit]
        else:
            base = home.joinpath(*self.nest)
            candidates = [base / f"{self.name}.rs", base / self.name / "mod.rs"]
        for candidate in candidates:
            if candidate.is_file():
                return candidate.resolve()
        return None

    def owns_folder(self, path: Path) -> bool:
        """Whether the module's own file modules stand beside its file."""
        return self.explicit is not None or path.name == "mod.rs"


def argument_file(name: str, expression: str) -> SourceFile:
    """An input from the command line, as a file of its own, so that rustc's errors about it name it."""
    target = ARGUMENTS + name
    return SourceFile(Path(target), target, target, "", False, analyse(expression), expression)


def read_sources(argument: str, text: str | None = None) -> list[SourceFile]:
    """The root file, as the user named it, and the modules below it; each file once.

    `text` replaces the root's contents. Raises `Failure` for files that cannot be read.
    """
    return _Reader(argument).read(text)


def read_program(argument: str, text: str | None = None) -> list[SourceFile]:
    """The program that a file belongs to: its own, or that of its package when it is a module that needs it.

    A module that says neither `crate::` nor `super::` stands alone, so that nothing else has to compile.
    """
    if argument == STANDARD_INPUT:
        return read_sources(argument, text)
    contents = read_source(argument) if text is None else text
    if _NEEDS_OTHERS.search(contents):
        path = Path(argument).resolve()
        for root in _roots(path):
            with contextlib.suppress(Failure):
                reader = _Reader(os.path.relpath(root) if not os.path.isabs(argument) else str(root))
                files = reader.read(None, {path: contents})
                if any(file.path == path for file in files):
                    return files
    return read_sources(argument, contents)


def nearest_first(files: list[SourceFile], argument: str) -> list[SourceFile]:
    """The files with that which `argument` names before the others."""
    path = Path(argument).resolve()
    return sorted(files, key=lambda file: file.path != path)


_NEEDS_OTHERS = re.compile(
    r"\bcrate\s*::|^(?:pub(?:\([^)]*\))?\s+)?use\s+super\b|^\S.*\bsuper\s*::", re.MULTILINE
)


def _roots(path: Path) -> Iterator[Path]:
    """The roots of the targets of the package around a file, unless it is one itself."""
    for folder in path.parents:
        if (folder / "Cargo.toml").is_file():
            roots = [folder / "src" / "lib.rs", folder / "src" / "main.rs"]
            for targets in ("src/bin", "examples", "tests", "benches"):
                roots += sorted((folder / targets).glob("*.rs"))
                roots += sorted((folder / targets).glob("*/main.rs"))
            if path not in roots:
                yield from (root for root in roots if root.is_file())
            return


class _Reader:
    def __init__(self, argument: str) -> None:
        self.argument = argument
        self.replaced: Mapping[Path, str] = {}
        piped = argument == STANDARD_INPUT
        self.root_folder = Path.cwd() if piped else Path(argument).resolve().parent
        self.shown_folder = "" if piped else os.path.dirname(argument)

    def read(self, text: str | None, replaced: Mapping[Path, str] = MappingProxyType({})) -> list[SourceFile]:
        self.replaced = replaced
        piped = self.argument == STANDARD_INPUT
        path = self.root_folder / "stdin.rs" if piped else Path(self.argument).resolve()
        contents = read_source(self.argument) if text is None else text
        name = "stdin.rs" if piped else self.argument
        files = [SourceFile(path, name, self._target(path), "", True, analyse(contents))]
        known = {path}
        for file in files:  # it grows
            for item, found in file.file_modules(file.source.data):
                if found not in known:
                    known.add(found)
                    files.append(self._module(file, item, found))
        return files

    def _module(self, parent: SourceFile, item: FileModule, path: Path) -> SourceFile:
        module = "::".join([*([parent.module] if parent.module else []), *item.nest, item.name])
        contents = self.replaced.get(path)
        analysis = analyse(read_source(path) if contents is None else contents)
        target = self._target(path)
        return SourceFile(path, self._shown(path), target, module, item.owns_folder(path), analysis)

    def _target(self, path: Path) -> str:
        relative = os.path.relpath(path, self.root_folder)
        return relative if not relative.startswith("..") else "outside/" + relative.replace("../", "up/")

    def _shown(self, path: Path) -> str:
        return os.path.normpath(os.path.join(self.shown_folder, os.path.relpath(path, self.root_folder)))


def word_at(data: bytes, start: int, stop: int) -> Span:
    """From `start` to the end of the word there, one byte at least where there is one before `stop`."""
    end = start
    while end < stop and (data[end : end + 1].isalnum() or data[end] == 0x5F or data[end] >= 0x80):
        end += 1
    return Span(start, max(end, min(start + 1, stop)))


def _file_modules(data: bytes) -> Iterator[FileModule]:
    import tree_sitter_rust
    from tree_sitter import Language, Node, Parser

    tree = Parser(Language(tree_sitter_rust.language())).parse(data)

    def visit(node: Node, nest: tuple[str, ...]) -> Iterator[FileModule]:
        attributes: list[Node] = []
        for child in node.named_children:
            if child.type == "attribute_item":
                attributes.append(child)
                continue
            if child.type in ("line_comment", "block_comment"):
                continue
            if child.type == "mod_item":
                yield from module(child, nest, attributes)
            attributes = []

    def module(node: Node, nest: tuple[str, ...], attributes: list[Node]) -> Iterator[FileModule]:
        name_node = node.child_by_field_name("name")
        name = (name_node.text or b"").decode("utf-8", "replace").removeprefix("r#") if name_node else ""
        body = node.child_by_field_name("body")
        if body is not None:
            yield from visit(body, (*nest, name))
            return
        explicit, span = None, None
        for attribute in attributes:
            match = _PATH_ATTRIBUTE.fullmatch((attribute.text or b"").decode("utf-8", "replace"))
            if match:
                explicit, span = match.group(1), Span(attribute.start_byte, attribute.end_byte)
        yield FileModule(name, node.start_byte, nest, explicit, span)

    yield from visit(tree.root_node, ())
