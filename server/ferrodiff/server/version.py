"""The version of Ferrodiff, and a fingerprint of its code for the cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache


def version() -> str:
    """The installed distribution's version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("ferrodiff")
    except PackageNotFoundError:
        return "unknown"


@cache
def fingerprint() -> str:
    """A hash that changes with any source file of the parts that produce code.

    File sizes and modification times stand for contents: reading them all would cost more than
    a cached answer may take.
    """
    state = hashlib.sha256()
    for part in ("server", "analysis", "adcore"):
        for root in _roots(part):
            for line in sorted(_states(root)):
                state.update(line.encode("utf-8", "surrogateescape"))
    return state.hexdigest()


def _roots(part: str) -> list[str]:
    """The folders of a part, found without importing it."""
    import ferrodiff

    return [found for place in ferrodiff.__path__ if os.path.isdir(found := os.path.join(place, part))]


def _states(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _states(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path}:{status.st_size}:{status.st_mtime_ns};"
