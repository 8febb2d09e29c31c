"""A program's source files, rewritten to plain Rust in a folder of their own.

Every annotated file of the module tree is rewritten. The rewritten files refer to the others, and
to what `include!` and its kin read, by absolute paths, so that nothing needs to be copied. Line
numbers stay those of the user's files; `SourceMap` finds the user's text for a line that rustc or
debug information names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.compile.manifest import Manifest, manifest_of
from ferrodiff.server.compile.names import Found, find_derivative
from ferrodiff.server.compile.sources import (
    SourceFile,
    argument_file,
    nearest_first,
    read_program,
    read_sources,
    word_at,
)
from ferrodiff.server.errors import Failure, Reported
from ferrodiff.server.problems import message_of, problems, severity
from ferrodiff.server.render import Message, Place, render

if TYPE_CHECKING:
    from ferrodiff.analysis.rewrite import Input, Note

WORKSPACE = "/ferrodiff-workspace"
"""Stands for the folder the rewritten files go to until `Crate.write` knows it, so that the text, and with it
the cache's key, does not depend on the folder."""

_INCLUDE = re.compile(r'\b(include(?:_str|_bytes)?!\s*[(\[{]\s*)"((?:[^"\\\n]|\\.)+)"')


@dataclass(slots=True)
class Crate:
    """A root file and the file modules below it."""

    files: list[SourceFile]
    """The root comes first."""
    manifest: Manifest = field(default_factory=Manifest)
    found: Found | None = None
    """For a driven program: the derivative."""
    inputs: tuple[Input, ...] = ()
    """For a driven program: what the derivative is called with."""
    arguments: list[SourceFile] = field(default_factory=list)
    """The inputs from the command line."""

    @property
    def root(self) -> SourceFile:
        return self.files[0]

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
        for file in [*self.files, *self.arguments]:
            target = folder / file.target
            target.parent.mkdir(parents=True, exist_ok=True)
            text = file.rewritten.replace(f'"{WORKSPACE}/', f'"{_escape(str(folder))}/')
            target.write_bytes(text.encode("utf-8", "surrogatepass"))
        return folder / self.root.target

    def find(self, name: str) -> SourceFile | None:
        """The file that rustc or debug information calls `name`."""
        for file in [*self.files, *self.arguments]:
            if name in (file.name, str(file.path), file.target):
                return file
        matches = [file for file in [*self.files, *self.arguments] if name.endswith("/" + file.target)]
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
        return Place(file.name, file.source, word_at(file.source.data, start, span.end))


@dataclass(frozen=True, slots=True)
class Drive:
    """Asks for a `main` that calls one derivative; `inputs` are Rust expressions by parameter.

    With `check` it compares the derivative with central differences instead of printing it.
    """

    derivative: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    check: bool = False


def load_crate(
    path: str,
    *,
    shadow_checks: bool = True,
    text: str | None = None,
    drive: Drive | None = None,
    cfgs: Sequence[str] = (),
    whole: bool = False,
) -> Crate:
    """Reads and rewrites a program.

    `path` is the root file as the user named it; `text` replaces its contents (an unsaved buffer).
    With `whole`, and with `drive`, it may be a module of a package, whose root is found then (see `read_program`).
    With `drive` the program calls one derivative instead of its own `main`, and errors in other
    annotations do not matter; of several of that name, `cfgs` (rustc's `--cfg`) decide.
    Raises `Failure` for unreadable files and `Reported` when annotations have errors.
    """
    read = read_program if whole or drive is not None else read_sources
    crate = Crate(read(path, text), manifest_of(path))
    if drive is not None:
        crate.found = find_derivative(
            nearest_first(crate.files, path), drive.derivative, (*crate.manifest.cfgs, *cfgs)
        )
    _refuse_errors(crate)
    refused = _Rewriting(crate, shadow_checks, drive).run()
    if drive is None:
        _refuse_rewriting(refused)
    return crate


def _refuse_errors(crate: Crate) -> None:
    blocks = [
        render(message_of(file.name, file.source, item))
        for file in crate.files
        for item in problems(file.analysis)
        if severity(item) == "error" and (crate.found is None or _concerns(file, item.span, crate.found))
    ]
    if blocks:
        raise Reported("\n\n".join(blocks))


def _concerns(file: SourceFile, span: Span, found: Found) -> bool:
    """Whether a place is in the function, or the annotation, of the derivative that is driven."""
    if file is not found.file:
        return False
    if found.macro is not None:
        return file.source.line_of(span.start) + 1 == found.line
    return found.annotation.span.covers(span) or found.function.item_text_span.covers(span)


def _refuse_rewriting(refused: list[tuple[str, SourceText, Note]]) -> None:
    """Derivatives that cannot be written in Rust are errors at their annotation."""
    blocks = []
    for name, source, note in refused:
        start = source.offset(note.line - 1, note.column - 1, "utf-8")
        place = Place(name, source, Span(start, source.line_span(note.line - 1).end))
        blocks.append(render(Message("error", note.message, place)))
    if blocks:
        raise Reported("\n\n".join(blocks))


class _Rewriting:
    """Writes every file's text anew, each referring to the others by their new places."""

    def __init__(self, crate: Crate, shadow_checks: bool, drive: Drive | None) -> None:
        self.crate = crate
        self.shadow_checks = shadow_checks
        self.drive = drive
        self.refused: list[tuple[str, SourceText, Note]] = []
        self.shared: set[int] = set()
        """For how many parameters the root's helper module has to be there: macros of any file refer to it."""

    def run(self) -> list[tuple[str, SourceText, Note]]:
        """Returns the annotations for which there is no derivative. The root comes last: see `shared`."""
        for file in reversed(self.crate.files):
            text = self._rewrite(file)
            file.rewritten = self._link_modules(file, _absolute_includes(text, file.path.parent))
        return self.refused

    def _rewrite(self, file: SourceFile) -> str:
        found, text = self.crate.found, file.source.text
        is_root = file is self.crate.root
        if self.drive is not None and found is not None and (is_root or file is found.file):
            return self._driven(file, self.drive, found)
        if "autodiff" not in text and not (is_root and self.shared):
            return text
        from ferrodiff.analysis.rewrite import rewrite

        shared = self.shared if is_root else ()
        result = rewrite(text, shadow_checks=self.shadow_checks, path=file.name, shared=shared)
        self.refused += [(file.name, file.source, note) for note in result.refused]
        self.shared |= result.shared
        return result.text

    def _driven(self, file: SourceFile, drive: Drive, found: Found) -> str:
        from ferrodiff.analysis.rewrite import NoDriver, driver, gradient_check, starter

        text = file.source.text
        is_root = file is self.crate.root
        if file is not found.file:
            return starter(text, shadow_checks=self.shadow_checks, path=file.name, shared=self.shared)
        try:
            make = gradient_check if drive.check else driver
            result = make(
                text,
                found.name,
                drive.inputs,
                line=found.line,
                starts=is_root,
                shadow_checks=self.shadow_checks,
                path=file.name,
                shared=self.shared if is_root else (),
                outside=self._argument,
            )
        except NoDriver as problem:
            raise Failure(str(problem), help=problem.help, exit_code=1) from problem
        self.crate.inputs = result.inputs
        self.shared |= result.shared
        return result.text

    def _argument(self, name: str, expression: str) -> str:
        file = argument_file(name, expression)
        self.crate.arguments.append(file)
        return f'::core::include!("{WORKSPACE}/{file.target}")'

    def _link_modules(self, file: SourceFile, text: str) -> str:
        """Gives every `mod x;` a `#[path]` to its rewritten file."""
        data = text.encode("utf-8", "surrogatepass")
        targets = {other.path: other.target for other in self.crate.files if other is not self.crate.root}
        edits: list[tuple[int, int, bytes]] = []
        for item, path in file.file_modules(data):
            if path not in targets:
                continue
            attribute = f'#[path = "{_escape(f"{WORKSPACE}/{targets[path]}")}"] '.encode()
            if item.explicit is not None and item.attribute is not None:
                edits.append((item.attribute.start, item.attribute.end, attribute.rstrip()))
            else:
                edits.append((item.start, item.start, attribute))
        for start, end, new in sorted(edits, reverse=True):
            data = data[:start] + new + data[end:]
        return data.decode("utf-8", "surrogatepass")


def _absolute_includes(text: str, folder: Path) -> str:
    return _INCLUDE.sub(lambda match: _absolute_include(match, folder), text)


def _absolute_include(match: re.Match[str], folder: Path) -> str:
    target = folder / match.group(2)
    if os.path.isabs(match.group(2)) or "\\" in match.group(2) or not target.is_file():
        return match.group(0)
    return f'{match.group(1)}"{_escape(str(target.resolve()))}"'


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')


def _in_item(source: SourceText, item: Span, line: int, column: int) -> bool:
    """Whether a 1-based place is in the function itself, on a line it shares with its annotation."""
    return source.line_col(item.start) <= (line - 1, column - 1) and column > 0


def require_text(text: str, name: str) -> None:
    """Raises `Failure` for a file that holds no code at all."""
    if not text.strip():
        raise Failure(f"`{name}` is empty: there is nothing to compile", exit_code=1)
