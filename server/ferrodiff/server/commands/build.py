"""`ferrodiff build FILE`: an output file in which every annotated derivative exists."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ferrodiff.server.commands.compiling import (
    add_compile_arguments,
    build_options,
    progress_display,
    show_warnings,
    unsaved_text,
)
from ferrodiff.server.compile.options import EMITS
from ferrodiff.server.paths import STANDARD_INPUT, require_file


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("file", metavar="FILE", help="the program's root file")
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write (default: named after FILE)")
    parser.add_argument("--emit", choices=tuple(EMITS), default="exe", help="what to build (default: exe)")
    parser.add_argument(
        "--timings", action="store_true", help="print the seconds of each step to standard error"
    )
    add_compile_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Builds; problems are raised."""
    from ferrodiff.server.compile.pipeline import build

    require_file(options.file)
    output = Path(options.output) if options.output else default_output(options.file, options.emit)
    with progress_display() as progress:
        settings = build_options(options, options.emit)
        text = unsaved_text(options)
        built = build(options.file, output, settings, text=text, progress=progress)
    show_warnings(built.warnings)
    if options.timings:
        total = sum(built.seconds.values())
        for name, seconds in {**built.seconds, "total": total}.items():
            print(f"{name:<14} {seconds * 1000:8.1f} ms", file=sys.stderr)
    return 0


def default_output(file: str, emit: str) -> Path:
    """rustc's habit: in the current folder, named after the source file."""
    stem = "stdin" if file == STANDARD_INPUT else Path(file).stem
    prefix = "lib" if emit in ("staticlib", "cdylib") else ""
    return Path(f"{prefix}{stem}{EMITS[emit]}")
