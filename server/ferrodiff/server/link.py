"""The final link: rustc's recorded linker command line, with bitcode replaced by native objects."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from ferrodiff.server.errors import Failure

_ARCHIVE_MAGIC = b"!<arch>\n"
_HEADER = 60
_UNUSED = ("-Wl,-plugin-opt=", "-Wl,--plugin", "-Wl,-plugin,", "-flto")


def link_arguments(
    recorded: Sequence[str], folder: Path, bitcode: Sequence[Path], objects: Sequence[Path], output: Path
) -> list[str]:
    """The real linker's arguments.

    `recorded` are rustc's, `folder` holds copies of its temporary files, `bitcode` are those copies
    that `objects` replace (all of them at the place of the first), `output` is the file to write.
    """
    replaced = {path.name for path in bitcode}
    kept = {path.name for path in folder.iterdir()}
    result: list[str] = []
    placed = False
    words = iter(_expanded(recorded, folder))
    for word in words:
        name = Path(word).name
        if word == "-o":
            next(words, None)
            result += ["-o", str(output)]
        elif name in replaced:
            if not placed:
                result += [str(path) for path in objects]
                placed = True
        elif word.startswith(_UNUSED):
            continue
        elif "=" in word and word.startswith("-Wl,--") and Path(word.rsplit("=", 1)[1]).name in kept:
            option, path = word.rsplit("=", 1)
            result.append(f"{option}={folder / Path(path).name}")
        elif not word.startswith("-") and name in kept:
            result.append(str(folder / name))
        else:
            result.append(word)
    return result if placed else [*map(str, objects), *result]


def link(linker: str, arguments: Sequence[str]) -> None:
    """Runs the linker; raises `Failure` with its own words when it fails."""
    done = subprocess.run(
        [linker, *arguments], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        first = next(
            (line for line in lines if "error" in line or "undefined" in line), lines[0] if lines else ""
        )
        raise Failure(
            f"linking with `{linker}` failed: {first.strip() or f'exit code {done.returncode}'}",
            details=f"{done.stderr}\n{linker} {' '.join(arguments)}",
            exit_code=1,
        )


def archive_members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of a System V archive's object files."""
    data = archive.read_bytes()
    if not data.startswith(_ARCHIVE_MAGIC):
        raise Failure(f"`{archive}` is not an archive", exit_code=1)
    position, names = len(_ARCHIVE_MAGIC), b""
    while position + _HEADER <= len(data):
        header = data[position : position + _HEADER]
        size = int(header[48:58].decode("ascii").strip() or "0")
        body = data[position + _HEADER : position + _HEADER + size]
        position += _HEADER + size + (size & 1)
        raw = header[:16].decode("latin-1").rstrip()
        if raw == "//":
            names = body
        elif raw not in ("/", "/SYM64/"):
            yield _member_name(raw, names), body


def replace_members(archive: Path, removed: Sequence[str], added: Sequence[Path]) -> None:
    """Takes members out of an archive and puts object files in, index included."""
    tool = shutil.which("ar") or shutil.which("llvm-ar")
    if tool is None:
        raise Failure(
            "static libraries need the archiver `ar`, which was not found",
            help="install binutils, for example with `apt install binutils`",
        )
    for command in ([tool, "d", str(archive), *removed], [tool, "rs", str(archive), *map(str, added)]):
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise Failure(f"`{tool}` failed on the static library", details=done.stderr, exit_code=1)


def _member_name(raw: str, names: bytes) -> str:
    if raw.startswith("/") and raw[1:].isdigit():
        start = int(raw[1:])
        return names[start : names.index(b"/\n", start)].decode("utf-8", "replace")
    return raw.rstrip("/")


def _expanded(recorded: Sequence[str], folder: Path) -> Iterator[str]:
    """The arguments with response files (which the recorder kept) spelled out."""
    for word in recorded:
        copy = folder / Path(word[1:]).name if word.startswith("@") else None
        if copy is None or not copy.is_file():
            yield word
            continue
        for line in copy.read_text("utf-8", "surrogateescape").splitlines():
            if line.strip():
                yield line.strip().strip('"').replace("\\\\", "\\")
