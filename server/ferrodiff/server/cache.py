"""Compiled programs kept by content.

An entry is a folder that appears by one rename, so concurrent writers cannot mix; its manifest holds
every file's digest, so that a damaged entry is noticed, removed and made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ferrodiff.server.paths import cache_folder

MANIFEST = "manifest.json"
MAXIMUM_ENTRIES = 200
MAXIMUM_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Entry:
    """A complete cache entry: its folder and what the writer noted."""

    folder: Path
    notes: dict[str, Any]


def key_of(parts: Mapping[str, str]) -> str:
    """A key from named parts; any change of a part changes it."""
    state = hashlib.sha256()
    for name in sorted(parts):
        for text in (name, parts[name]):
            data = text.encode("utf-8", "surrogatepass")
            state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()


class Cache:
    """A folder of entries; `root` defaults to the user's cache folder."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root if root is not None else cache_folder() / "builds"

    def find(self, key: str) -> Entry | None:
        """The entry, or None when there is none or it is damaged."""
        folder = self.root / key
        try:
            manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
            for name, digest in manifest["files"].items():
                if _digest(folder / name) != digest:
                    raise ValueError(name)
            notes = dict(manifest["notes"])
        except FileNotFoundError:
            if folder.exists():
                self._discard(folder)
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._discard(folder)
            return None
        with _quietly():
            os.utime(folder)
        return Entry(folder, notes)

    def store(self, key: str, files: Mapping[str, Path], notes: Mapping[str, Any]) -> Entry | None:
        """Copies files into a new entry. None when the folder cannot be written."""
        draft: Path | None = None
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=self.root))
            digests = {}
            for name, source in files.items():
                shutil.copy2(source, draft / name)
                digests[name] = _digest(draft / name)
            manifest = json.dumps({"files": digests, "notes": dict(notes)})
            (draft / MANIFEST).write_text(manifest, "utf-8")
            self._publish(draft, self.root / key)
        except OSError:
            return None
        finally:
            if draft is not None:
                shutil.rmtree(draft, ignore_errors=True)
        self._prune()
        return Entry(self.root / key, dict(notes))

    def _publish(self, draft: Path, target: Path) -> None:
        """Renames the draft; an entry that another process has put there meanwhile is as good."""
        try:
            draft.rename(target)
        except OSError:
            if not (target / MANIFEST).is_file():
                raise

    def _discard(self, folder: Path) -> None:
        """Takes an entry away by one rename, then deletes it."""
        with _quietly():
            aside = Path(tempfile.mkdtemp(prefix=".old-", dir=self.root))
            folder.rename(aside / "entry")
            shutil.rmtree(aside, ignore_errors=True)

    def _prune(self) -> None:
        """Removes the entries longest unused beyond the limits."""
        with _quietly():
            entries = [
                (folder.stat().st_mtime, folder, sum(file.stat().st_size for file in folder.iterdir()))
                for folder in self.root.iterdir()
                if not folder.name.startswith(".")
            ]
            total = 0
            for number, (_, folder, size) in enumerate(sorted(entries, reverse=True)):
                total += size
                if number >= MAXIMUM_ENTRIES or total > MAXIMUM_BYTES:
                    self._discard(folder)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


@contextmanager
def _quietly() -> Iterator[None]:
    """The cache is a convenience: a folder that vanishes or cannot be written is no error."""
    try:
        yield
    except OSError:
        return
