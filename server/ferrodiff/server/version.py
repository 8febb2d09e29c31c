"""The version of Ferrodiff, and a fingerprint of its code for the cache."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


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
    import ferrodiff.adcore
    import ferrodiff.analysis

    state = hashlib.sha256()
    roots = [Path(__file__).parent]
    roots += [
        Path(module.__file__).parent for module in (ferrodiff.adcore, ferrodiff.analysis) if module.__file__
    ]
    for root in roots:
        for file in sorted(root.rglob("*.py")):
            status = file.stat()
            state.update(f"{file.relative_to(root)}:{status.st_size}:{status.st_mtime_ns};".encode())
    return state.hexdigest()
