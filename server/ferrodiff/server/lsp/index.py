"""The workspace's annotations: which derivatives exist, and where.

Open files count as the editor has them, closed ones as the disk has them. Only files that mention
``autodiff`` are analysed and kept.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ferrodiff.analysis.document import FileAnalysis, analyse
from ferrodiff.analysis.model import Annotation, Function
from ferrodiff.analysis.text import SourceText
from ferrodiff.server.lsp.convert import same_uri, uri_of
from ferrodiff.server.paths import SKIPPED_FOLDERS

logger = logging.getLogger(__name__)

_LARGEST_FILE = 4 << 20
_MARK = b"autodiff"


@dataclass(frozen=True, slots=True)
class Derivative:
    """One annotation with a name, and the file it stands in."""

    uri: str
    source: SourceText
    function: Function
    annotation: Annotation

    @property
    def name(self) -> str:
        return self.annotation.name or ""


class WorkspaceIndex:
    """Analyses of the closed files below the workspace's folders."""

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.complete = False
        self._files: dict[Path, FileAnalysis] = {}

    def __len__(self) -> int:
        return len(self._files)

    def files(self) -> Iterator[tuple[str, FileAnalysis]]:
        for path, analysis in list(self._files.items()):
            yield uri_of(path), analysis

    def read(self, path: Path) -> bool:
        """Takes a file as the disk has it; whether it has annotations."""
        try:
            if path.stat().st_size > _LARGEST_FILE:
                return False
            data = path.read_bytes()
        except (OSError, ValueError):
            self.forget(path)
            return False
        if _MARK not in data or b"\0" in data:
            self.forget(path)
            return False
        analysis = analyse(data.decode("utf-8", "replace"))
        if not any(placed.chunk.found.functions for placed in analysis.chunks) and not analysis.diagnostics:
            self.forget(path)
            return False
        self._files[path] = analysis
        return True

    def forget(self, path: Path) -> None:
        self._files.pop(path, None)

    def forget_below(self, folder: Path) -> None:
        for path in [path for path in self._files if path.is_relative_to(folder)]:
            del self._files[path]

    def derivatives(self, opened: Iterable[tuple[str, FileAnalysis]]) -> list[Derivative]:
        """Every derivative of the workspace; `opened` files take the place of what the disk has."""
        found: list[Derivative] = []
        seen: set[str] = set()
        for uri, analysis in [*opened, *self.files()]:
            if same_uri(uri) not in seen:
                seen.add(same_uri(uri))
                found += derivatives_of(uri, analysis)
        return found


def derivatives_of(uri: str, analysis: FileAnalysis) -> list[Derivative]:
    """The named derivatives of one file, in order."""
    return [
        Derivative(uri, analysis.source, function, annotation)
        for function in analysis.functions
        for annotation in function.annotations
        if annotation.name
    ]


def rust_files(folders: Iterable[Path], limit: int) -> list[Path]:
    """Rust files below folders, without build output and hidden folders, at most `limit`."""
    found: list[Path] = []
    visited: set[str] = set()
    for folder in folders:
        for directory, names, files in os.walk(folder):
            real = os.path.realpath(directory)
            if real in visited:
                names[:] = []
                continue
            visited.add(real)
            names[:] = sorted(n for n in names if not n.startswith(".") and n not in SKIPPED_FOLDERS)
            for name in sorted(files):
                if name.endswith(".rs"):
                    found.append(Path(directory) / name)
                    if len(found) >= limit:
                        return found
    return found


def mentioning_files(
    folders: Iterable[Path], names: Iterable[str], limit: int
) -> Iterator[tuple[Path, SourceText]]:
    """Closed files that may mention one of `names`."""
    wanted = [name.encode("utf-8", "replace") for name in names]
    for path in rust_files(folders, limit):
        try:
            if path.stat().st_size > _LARGEST_FILE:
                continue
            data = path.read_bytes()
        except OSError:
            continue
        if any(name in data for name in wanted):
            yield path, SourceText(data.decode("utf-8", "replace"))
