"""Files and folders: reading Rust sources, finding them, and where caches live."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ferrodiff.server.errors import Failure

SKIPPED_FOLDERS = frozenset({"target", "node_modules", "__pycache__"})
STANDARD_INPUT = "-"


def cache_folder() -> Path:
    """Ferrodiff's cache folder: `FERRODIFF_CACHE_DIR`, else `XDG_CACHE_HOME`, else `~/.cache`."""
    chosen = os.environ.get("FERRODIFF_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and os.path.isabs(base) else Path.home() / ".cache"
    return root / "ferrodiff"


def read_source(path: str | os.PathLike[str]) -> str:
    """The text of a Rust file; `-` reads standard input.

    A byte order mark is dropped, line endings stay as they are.
    Raises `Failure` when the file cannot be read or is not UTF-8 text.
    """
    name = os.fspath(path)
    try:
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except OSError as error:
        raise Failure(f"cannot read `{name}`: {_reason(error)}") from error
    except ValueError as error:
        raise Failure(f"cannot read `{name!r}`: {error}") from error
    return decode_source(data, name)


def decode_source(data: bytes, name: str) -> str:
    """UTF-8 bytes to text, or a `Failure` saying where the file stops being text."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Failure(f"`{name}` is UTF-16 text", help="save it as UTF-8, the only encoding Rust reads")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Failure(
            f"`{name}` is not UTF-8 text: invalid byte 0x{data[error.start]:02x} on line {line}",
            help="Rust source is UTF-8; is this a binary file?",
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Failure(
            f"`{name}` is not Rust source: a NUL byte on line {line}", help="is this a binary file?"
        )
    return text.removeprefix("\ufeff")


def rust_files(argument: str) -> list[str]:
    """The Rust files an argument stands for: itself, or every `*.rs` below a folder, sorted.

    Raises `Failure` when nothing is there.
    """
    if argument == STANDARD_INPUT or not os.path.isdir(argument):
        require_file(argument)
        return [argument]
    found = sorted(_walk(argument))
    if not found:
        raise Failure(f"no Rust source files (*.rs) under `{argument}`")
    return found


def _walk(folder: str) -> Iterator[str]:
    for directory, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS]
        for name in files:
            if name.endswith(".rs"):
                yield os.path.normpath(os.path.join(directory, name))


def require_file(argument: str, wanted: str = "one Rust file, the root of a program") -> None:
    """Raises `Failure` unless the argument is a readable file rather than a folder or nothing."""
    if os.path.isdir(argument):
        raise Failure(f"`{argument}` is a folder", help=f"name {wanted}{_root_of_package(argument)}")
    if argument.endswith(".toml"):
        root = _root_of_package(os.path.dirname(argument))
        raise Failure(f"`{argument}` is no Rust file", help=f"name {wanted}{root}")
    if argument == STANDARD_INPUT:
        return
    try:
        os.stat(argument)
    except OSError as error:
        raise Failure(f"cannot read `{argument}`: {_reason(error)}") from error
    except ValueError as error:
        raise Failure(f"cannot read `{argument!r}`: {error}") from error


def _root_of_package(folder: str) -> str:
    """A proposal for the root file where a folder is a package."""
    for name in ("src/main.rs", "src/lib.rs"):
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(path):
            return f": `{path}`"
    return ""


def shown_name(path: str) -> str:
    """How a file is called in messages."""
    return "<stdin>" if path == STANDARD_INPUT else path


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]
