"""An editor's unsaved text as a file that compilers can read."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Overlay:
    """`path` holds the text. `shown` is what the user calls it; messages that name `path` mean it."""

    path: Path
    shown: str

    def translated(self, text: str) -> str:
        return text.replace(str(self.path), self.shown) if str(self.path) != self.shown else text


@contextlib.contextmanager
def overlaid(original: Path | None, text: str) -> Iterator[Overlay]:
    """A path whose content is `text`: the file itself if it is saved, else a temporary one.

    The temporary folder has links to everything beside the file, so that its modules and included
    files are found.
    """
    if original is not None and _holds(original, text):
        yield Overlay(original, str(original))
        return
    name = original.name if original is not None and original.suffix == ".rs" else "untitled.rs"
    with tempfile.TemporaryDirectory(prefix="ferrodiff-") as folder:
        if original is not None:
            _link_siblings(original, Path(folder))
        path = Path(folder) / name
        path.write_bytes(text.encode("utf-8", "replace"))
        yield Overlay(path, str(original) if original is not None else name)


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode("utf-8", "surrogatepass")
    except (OSError, ValueError):
        return False


def _link_siblings(original: Path, folder: Path) -> None:
    with contextlib.suppress(OSError):
        for entry in os.scandir(original.parent):
            if entry.name != original.name and entry.name != "target" and not entry.name.startswith("."):
                with contextlib.suppress(OSError):
                    os.symlink(entry.path, folder / entry.name)


def edition_of(path: Path | None) -> str | None:
    """The edition that the nearest Cargo.toml above a file declares."""
    for folder in path.parents if path is not None else ():
        manifest = folder / "Cargo.toml"
        if manifest.is_file():
            import tomllib

            try:
                package = tomllib.loads(manifest.read_text("utf-8")).get("package", {})
            except (OSError, ValueError):
                return None
            edition = package.get("edition") if isinstance(package, dict) else None
            return edition if isinstance(edition, str) else None
    return None
