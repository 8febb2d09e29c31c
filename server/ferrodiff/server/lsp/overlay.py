"""A file on disk that stands for an editor's text."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def standing_for(original: Path | None, text: str) -> Iterator[Path]:
    """The file itself; for a text that was never saved, a temporary file with it.

    The commands read unsaved text from standard input, but need a path for messages and for the
    modules beside it.
    """
    if original is not None and original.is_file():
        yield original
        return
    with tempfile.TemporaryDirectory(prefix="ferrodiff-") as folder:
        path = Path(folder) / (original.name if original is not None and original.name else "untitled.rs")
        path.write_bytes(text.encode("utf-8", "replace"))
        yield path
