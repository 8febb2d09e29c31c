"""The final link: rustc's recorded linker command line, with bitcode replaced by native objects."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from ferrodiff.server.errors import Failure

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
