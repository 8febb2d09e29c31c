"""Keeps the code of the methods that `dataclasses` writes.

A third of the time to the first reply would go into compiling them, the same ones on every start. They are
kept by their text in the user's cache folder, as Python keeps its own byte code. Without a usable folder
nothing changes but the time.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import marshal
import os
import sys
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

from ferrodiff.server.paths import cache_folder

_LARGEST = 8 << 20


class CodeCache:
    """Source text to code object; `execute` stands in for the built-in `exec` where `dataclasses` calls it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path if path is not None else _default_path()
        self._codes: dict[str, CodeType] = {}
        self._grown = False

    def load(self) -> None:
        """Reads the file if it is ours; anything wrong with it means starting empty."""
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                if status.st_size > _LARGEST or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
                    return
                codes = marshal.loads(file.read())
        except (OSError, ValueError, EOFError, TypeError):
            return
        if isinstance(codes, dict) and all(isinstance(code, CodeType) for code in codes.values()):
            self._codes = codes

    def execute(self, source: Any, *spaces: Any) -> None:
        """`exec`."""
        if not isinstance(source, str):
            builtins.exec(source, *spaces)
            return
        code = self._codes.get(source)
        if code is None:
            code = self._codes[source] = compile(source, "<string>", "exec", dont_inherit=True)
            self._grown = True
        builtins.exec(code, *spaces)

    def finish(self) -> None:
        """Writes what is new and forgets everything, so that the memory is given back."""
        if self._grown:
            draft = self.path.with_name(f".{self.path.name}-{os.getpid()}")
            with contextlib.suppress(OSError, ValueError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                draft.write_bytes(marshal.dumps(self._codes))
                os.replace(draft, self.path)
        self._codes, self._grown = {}, False


@contextlib.contextmanager
def written_code(cache: CodeCache) -> Iterator[None]:
    """While this is open `dataclasses` compiles through the cache."""
    cache.load()
    dataclasses.__dict__["exec"] = cache.execute
    try:
        yield
    finally:
        dataclasses.__dict__.pop("exec", None)


def _default_path() -> Path:
    return cache_folder() / f"dataclasses-{sys.implementation.cache_tag}-{MAGIC_NUMBER.hex()}.bin"
