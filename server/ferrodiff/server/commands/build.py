"""`ferrodiff build FILE`: an output file in which every annotated derivative exists."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ferrodiff.server.commands.compiling import (
    add_compile_arguments,
    build_options,
    progress_display,
    show_warnings,
    unsaved_text,
)
from ferrodiff.server.compile.options import EMITS
from ferrodiff.server.errors import Failure
from ferrodiff.server.paths import STANDARD_INPUT, require_file

if TYPE_CHECKING:
    from ferrodiff.server.compile.pipeline import Built

STANDARD_OUTPUT = "-"
TEXTS = ("llvm-ir", "asm")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("file", metavar="FILE", help="the program's root file")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="the file to write (default: named after FILE); `-` for text"
    )
    parser.add_argument("--emit", choices=tuple(EMITS), default="exe", help="what to build (default: exe)")
    parser.add_argument(
        "--timings",
        action="store_true",
        help="print the time of each step, and the processor, to standard error",
    )
    add_compile_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Builds; problems are raised."""
    from ferrodiff.server.compile.pipeline import workspace

    require_file(options.file)
    if options.output == STANDARD_OUTPUT:
        if options.emit not in TEXTS:
            raise Failure(f"`--emit {options.emit}` is binary and is not written to standard output")
        with workspace() as folder:
            built = _build(options, folder / "output")
            sys.stdout.write(built.output.read_text("utf-8"))
    else:
        built = _build(options, Path(options.output or default_output(options.file, options.emit)))
    show_warnings(built.warnings)
    if options.timings:
        total = sum(built.seconds.values())
        for name, seconds in {**built.seconds, "total": total}.items():
            print(f"{name:<14} {seconds * 1000:8.1f} ms", file=sys.stderr)
        print(f"{'cpu':<14} {built.cpu}", file=sys.stderr)
    return 0


def _build(options: argparse.Namespace, output: Path) -> Built:
    from ferrodiff.server.compile.pipeline import build

    text = unsaved_text(options)
    with progress_display() as progress:
        settings = build_options(options, options.emit)
        return build(options.file, output, settings, text=text, progress=progress)


def default_output(file: str, emit: str) -> Path:
    """rustc's habit: in the current folder, named after the source file."""
    stem = "stdin" if file == STANDARD_INPUT else Path(file).stem
    prefix = "lib" if emit in ("staticlib", "cdylib") else ""
    return Path(f"{prefix}{stem}{EMITS[emit]}")
