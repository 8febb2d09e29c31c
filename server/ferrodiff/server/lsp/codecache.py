"""Keeps the code objects that `attrs` and `cattrs` generate for the protocol's types.

Importing the six hundred protocol classes spends most of its time compiling generated methods, the same
ones on every start. They are kept by source text in the user's cache folder, as Python keeps its own
byte code, which takes a third off the time to the first reply. Without a usable folder nothing changes.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import marshal
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

from ferrodiff.server.paths import cache_folder

_MODULES = ("attr._make", "cattrs.gen")
_LARGEST = 32 << 20


class CodeCache:
    """Source text to code object; `compile` stands in for the built-in where the generators call it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path if path is not None else _default_path()
        self._codes: dict[tuple[str, str], CodeType] = {}
        self._grown = False
        self._loaded = False

    def load(self) -> None:
        """Reads the file if it is ours; anything wrong with it means starting empty."""
        self._loaded = True
        try:
            status = self.path.stat()
            if status.st_size > _LARGEST or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
                return
            codes = marshal.loads(self.path.read_bytes())
            if isinstance(codes, dict):
                self._codes = codes
        except (OSError, ValueError, EOFError, TypeError):
            return

    def compile(self, source: Any, filename: Any, mode: str, *rest: Any, **options: Any) -> Any:
        if mode != "exec" or rest or options or not isinstance(source, str):
            return builtins.compile(source, filename, mode, *rest, **options)
        key = (source, str(filename))
        code = self._codes.get(key)
        if code is None:
            code = builtins.compile(source, filename, mode)
            if self._loaded:
                self._codes[key] = code
                self._grown = True
        return code

    def finish(self) -> None:
        """Writes what is new and forgets everything, so that the memory is given back."""
        if self._grown:
            with contextlib.suppress(OSError, ValueError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                descriptor, draft = tempfile.mkstemp(prefix=".code-", dir=self.path.parent)
                with os.fdopen(descriptor, "wb") as file:
                    marshal.dump(self._codes, file)
                os.replace(draft, self.path)
        self._codes = {}
        self._grown = self._loaded = False


@contextlib.contextmanager
def generated_code(cache: CodeCache) -> Iterator[None]:
    """While this is open the generators compile through the cache."""
    cache.load()
    modules = [importlib.import_module(name) for name in _MODULES]
    for module in modules:
        module.__dict__["compile"] = cache.compile
    try:
        yield
    finally:
        for module in modules:
            module.__dict__.pop("compile", None)
        cache.finish()


def _default_path() -> Path:
    return cache_folder() / f"protocol-{sys.implementation.cache_tag}-{MAGIC_NUMBER.hex()}.bin"
