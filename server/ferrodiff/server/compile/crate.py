"""A program's source files, rewritten to plain Rust in a folder of their own.

Every annotated file of the module tree is rewritten. The rewritten files refer to the others, and
to what `include!` and its kin read, by absolute paths, so that nothing needs to be copied. Line
numbers stay those of the user's files; `SourceMap` finds the user's text for a line that rustc or
debug information names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.errors import Failure, Reported
from ferrodiff.server.paths import STANDARD_INPUT, read_source
from ferrodiff.server.problems import message_of, severity
from ferrodiff.server.render import Message, Place, render

if TYPE_CHECKING:
    from ferrodiff.analysis.rewrite import Input, Note

WORKSPACE = "/ferrodiff-workspace"
"""Stands for the folder the rewritten files go to until `Crate.write` knows it, so that the text, and with it
the cache's key, does not depend on the folder."""

_INCLUDE = re.compile(r'\b(include(?:_str|_bytes)?!\s*[(\[{]\s*)"((?:[^"\\\n]|\\.)+)"')
_FILE_MODULE = re.compile(r"\bmod\s+(?:r#)?\w+\s*;")
_PATH_ATTRIBUTE = re.compile(r'#\s*\[\s*path\s*=\s*"((?:[^"\\]|\\.)*)"\s*\]')
_EDITION = re.compile(r'^\s*edition\s*=\s*"(\d{4})"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the program. `name` is what messages call it, `target` where its rewritten text goes."""

    path: Path
    name: str
    target: str
    analysis: FileAnalysis
    rewritten: str

    @property
    def source(self) -> SourceText:
        return self.analysis.source


@dataclass(slots=True)
class Crate:
    """A root file and the file modules below it."""

    root: SourceFile
    files: list[SourceFile] = field(default_factory=list)
    inputs: tuple[Input, ...] = ()
    """For a driven program: what the derivative is called with."""

    @property
    def has_main(self) -> bool:
        return any(
            function.bare_name == "main"
            and function.container == "module"
            and not function.container_info.modules
            for function in self.root.analysis.all_functions
        )

    @property
    def annotated(self) -> bool:
        return any(function.annotations for file in self.files for function in file.analysis.functions)

    def write(self, folder: Path) -> Path:
        """Writes the rewritten files below `folder`; returns the root's path there."""
        for file in self.files:
            target = folder / file.target
            target.parent.mkdir(parents=True, exist_ok=True)
            text = file.rewritten.replace(f'"{WORKSPACE}/', f'"{_escape(str(folder))}/')
            target.write_bytes(text.encode("utf-8", "surrogatepass"))
        return folder / self.root.target

    def find(self, name: str) -> SourceFile | None:
        """The file that rustc or debug information calls `name`."""
        for file in self.files:
            if name in (file.name, str(file.path), file.target):
                return file
        matches = [file for file in self.files if name.endswith("/" + file.target)]
        return matches[0] if len(matches) == 1 else None

    def place(self, name: str, line: int, column: int) -> Place | None:
        """The user's text at a 1-based line and byte column, from there to the end of the word or line.

        A line that carries an annotation holds generated text, so there the whole annotation is meant.
        None when the file is not the program's or the line is past its end (generated helpers).
        """
        file = self.find(name)
        if file is None or line < 1 or line > len(file.source.line_starts):
            return None
        span = file.source.line_span(line - 1)
        for function in file.analysis.functions:
            for annotation in function.annotations:
                first, last = (
                    file.source.line_of(annotation.span.start),
                    file.source.line_of(annotation.span.end),
                )
                if first <= line - 1 <= last and not _in_item(
                    file.source, function.item_text_span, line, column
                ):
                    return Place(file.name, file.source, annotation.span)
        start = min(span.start + max(column - 1, 0), span.end)
        if column <= 0:
            text = file.source.data[span.start : span.end]
            start = span.start + len(text) - len(text.lstrip())
        return Place(file.name, file.source, Span(start, _word_end(file.source.data, start, span.end)))


@dataclass(frozen=True, slots=True)
class Drive:
    """Asks for a `main` that calls one derivative; `inputs` are Rust expressions by parameter.

    With `check` it compares the derivative with central differences instead of printing it.
    """

    derivative: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    check: bool = False


def load_crate(
    path: str, *, shadow_checks: bool = True, text: str | None = None, drive: Drive | None = None
) -> Crate:
    """Reads and rewrites a program.

    `path` is the root file as the user named it; `text` replaces its contents (an unsaved buffer).
    With `drive` the program calls one derivative instead of its own `main`, and errors in other
    annotations do not matter.
    Raises `Failure` for unreadable files and `Reported` when annotations have errors.
    """
    loader = _Loader(path, shadow_checks, drive)
    root = loader.load_root(text)
    _refuse_errors(loader.files, drive)
    if drive is None:
        _refuse_rewriting(loader.refused)
    return Crate(root, loader.files, loader.inputs)


def detect_edition(path: str) -> str | None:
    """The edition of the nearest `Cargo.toml` above the file, None when there is none."""
    if path == STANDARD_INPUT:
        return None
    for folder in Path(path).resolve().parents:
        manifest = folder / "Cargo.toml"
        if manifest.is_file():
            try:
                found = _EDITION.search(manifest.read_text("utf-8", "replace"))
            except OSError:
                return None
            return found.group(1) if found else None
    return None


def _refuse_errors(files: list[SourceFile], drive: Drive | None) -> None:
    blocks = [
        render(message_of(file.name, file.source, item))
        for file in files
        for item in file.analysis.diagnostics
        if severity(item) == "error" and (drive is None or _concerns(file, item.span, drive))
    ]
    if blocks:
        raise Reported("\n\n".join(blocks))


def _concerns(file: SourceFile, span: Span, drive: Drive) -> bool:
    """Whether a place is in the function, or the annotation, of the derivative that is driven."""
    name = drive.derivative.rpartition("::")[2]
    for function in file.analysis.functions:
        for annotation in function.annotations:
            if annotation.name == name and (
                annotation.span.covers(span) or function.item_text_span.covers(span)
            ):
                return True
    return False


def _refuse_rewriting(refused: list[tuple[str, SourceText, Note]]) -> None:
    """Derivatives that cannot be written in Rust are errors at their annotation."""
    blocks = []
    for name, source, note in refused:
        start = source.offset(note.line - 1, note.column - 1, "utf-8")
        place = Place(name, source, Span(start, source.line_span(note.line - 1).end))
        blocks.append(render(Message("error", note.message, place)))
    if blocks:
        raise Reported("\n\n".join(blocks))


class _Loader:
    def __init__(self, path: str, shadow_checks: bool, drive: Drive | None) -> None:
        self.argument = path
        self.drive = drive
        self.inputs: tuple[Input, ...] = ()
        self.shadow_checks = shadow_checks
        self.files: list[SourceFile] = []
        self.refused: list[tuple[str, SourceText, Note]] = []
        self.root_folder = Path.cwd() if path == STANDARD_INPUT else Path(path).resolve().parent
        self.shown_folder = "" if path == STANDARD_INPUT else os.path.dirname(path)
        self.loading: set[Path] = set()

    def load_root(self, text: str | None) -> SourceFile:
        if self.argument == STANDARD_INPUT:
            name, path = "stdin.rs", self.root_folder / "stdin.rs"
        else:
            name, path = self.argument, Path(self.argument).resolve()
        contents = read_source(self.argument) if text is None else text
        return self._load(path, name, contents, owns_folder=True)

    def _load(self, path: Path, name: str, text: str, owns_folder: bool) -> SourceFile:
        self.loading.add(path)
        analysis = analyse(text)
        position = len(self.files)
        rewritten = self._rewrite(analysis, text, name)
        rewritten = _INCLUDE.sub(lambda match: _absolute_include(match, path.parent), rewritten)
        if _FILE_MODULE.search(rewritten):
            rewritten = self._link_modules(rewritten, path, owns_folder)
        file = SourceFile(path, name, self._target(path), analysis, rewritten)
        self.files.insert(position, file)
        self.loading.discard(path)
        return file

    def _rewrite(self, analysis: FileAnalysis, text: str, name: str) -> str:
        if self.drive is not None and not self.files:
            return self._driven(self.drive, text, name)
        if not any(function.annotations for function in analysis.functions) and "autodiff" not in text:
            return text
        from ferrodiff.analysis.rewrite import rewrite

        result = rewrite(text, shadow_checks=self.shadow_checks, path=name)
        self.refused += [(name, analysis.source, note) for note in result.refused]
        return result.text

    def _driven(self, drive: Drive, text: str, name: str) -> str:
        from ferrodiff.analysis.rewrite import NoDriver, driver, gradient_check

        try:
            make = gradient_check if drive.check else driver
            result = make(text, drive.derivative, drive.inputs, shadow_checks=self.shadow_checks, path=name)
        except NoDriver as problem:
            raise Failure(str(problem), help=problem.help, exit_code=1) from problem
        self.inputs = result.inputs
        return result.text

    def _target(self, path: Path) -> str:
        relative = os.path.relpath(path, self.root_folder)
        return relative if not relative.startswith("..") else "outside/" + relative.replace("../", "up/")

    def _shown(self, path: Path) -> str:
        return os.path.normpath(os.path.join(self.shown_folder, os.path.relpath(path, self.root_folder)))

    def _link_modules(self, text: str, path: Path, owns_folder: bool) -> str:
        """Gives every `mod x;` a `#[path]` to its rewritten file."""
        data = text.encode("utf-8", "surrogatepass")
        home = path.parent if owns_folder else path.parent / path.stem
        edits: list[tuple[int, int, bytes]] = []
        for item in _file_modules(data):
            found = item.resolve(path.parent, home)
            if found is None or found in self.loading:
                continue
            owns = item.explicit is not None or found.name == "mod.rs"
            shown = self._shown(found)
            loaded = self._load(found, shown, read_source(found), owns)
            target = f"{WORKSPACE}/{loaded.target}"
            attribute = f'#[path = "{_escape(target)}"] '.encode()
            if item.explicit is not None and item.attribute is not None:
                edits.append((item.attribute.start, item.attribute.end, attribute.rstrip()))
            else:
                edits.append((item.start, item.start, attribute))
        for start, end, new in sorted(edits, reverse=True):
            data = data[:start] + new + data[end:]
        return data.decode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class _FileModule:
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


def _file_modules(data: bytes) -> Iterator[_FileModule]:
    import tree_sitter_rust
    from tree_sitter import Language, Node, Parser

    tree = Parser(Language(tree_sitter_rust.language())).parse(data)

    def visit(node: Node, nest: tuple[str, ...]) -> Iterator[_FileModule]:
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

    def module(node: Node, nest: tuple[str, ...], attributes: list[Node]) -> Iterator[_FileModule]:
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
        yield _FileModule(name, node.start_byte, nest, explicit, span)

    yield from visit(tree.root_node, ())


def _absolute_include(match: re.Match[str], folder: Path) -> str:
    target = folder / match.group(2)
    if os.path.isabs(match.group(2)) or "\\" in match.group(2) or not target.is_file():
        return match.group(0)
    return f'{match.group(1)}"{_escape(str(target.resolve()))}"'


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')


def _word_end(data: bytes, start: int, stop: int) -> int:
    end = start
    while end < stop and (data[end : end + 1].isalnum() or data[end] == 0x5F or data[end] >= 0x80):
        end += 1
    return max(end, min(start + 1, stop))


def _in_item(source: SourceText, item: Span, line: int, column: int) -> bool:
    """Whether a 1-based place is in the function itself, on a line it shares with its annotation."""
    return source.line_col(item.start) <= (line - 1, column - 1) and column > 0


def require_text(text: str, name: str) -> None:
    """Raises `Failure` for a file that holds no code at all."""
    if not text.strip():
        raise Failure(f"`{name}` is empty: there is nothing to compile", exit_code=1)
