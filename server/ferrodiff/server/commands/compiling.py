"""Arguments and progress shared by the commands that compile."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ferrodiff.server.compile.options import EDITIONS, BuildOptions
from ferrodiff.server.errors import Failure
from ferrodiff.server.paths import decode_source

if TYPE_CHECKING:
    from ferrodiff.server.compile.pipeline import Progress
    from ferrodiff.server.worker import Limits

CPU_HELP = (
    "the processor to make code for: generic (default) runs everywhere; native is this machine's, with wider "
    "vectors and fused multiply-adds, often much faster in batches; or a processor's name"
)

STEPS = {
    "rustc": "compiling with rustc",
    "load": "reading bitcode",
    "prepare": "optimising before differentiation",
    "differentiate": "differentiating",
    "optimise": "optimising",
    "emit": "emitting machine code",
    "link": "linking",
    "run": "running",
}


def add_compile_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that every compiling command takes."""
    group = parser.add_argument_group("compiling")
    group.add_argument(
        "--edition", choices=EDITIONS, help="default: Cargo.toml's, else 2021 (or what rustc asks for)"
    )
    group.add_argument("-O", dest="opt_level", type=int, choices=(0, 1, 2, 3), default=3, help="default: 3")
    group.add_argument("--cpu", default="generic", metavar="CPU", help=CPU_HELP)
    group.add_argument(
        "--toolchain", metavar="NAME", help="a rustup toolchain, a toolchain folder or a rustc"
    )
    group.add_argument("--linker", metavar="CC", help="the C compiler to link with (default: cc)")
    group.add_argument(
        "--no-shadow-checks", action="store_true", help="do not check the lengths of shadow slices"
    )
    group.add_argument(
        "--panic",
        choices=("auto", "abort", "unwind"),
        default="auto",
        help="auto (default) aborts unless the program catches panics or uses threads",
    )
    group.add_argument(
        "--unsaved", action="store_true", help="read FILE's contents from standard input (an unsaved buffer)"
    )
    group.add_argument("--cfg", action="append", default=[], metavar="SPEC", help="as rustc's --cfg")


def build_options(options: argparse.Namespace, emit: str = "exe") -> BuildOptions:
    """The parsed options as the pipeline takes them."""
    return BuildOptions(
        emit=emit,
        edition=options.edition,
        opt_level=options.opt_level,
        cpu=options.cpu,
        toolchain=options.toolchain,
        linker=options.linker,
        shadow_checks=not options.no_shadow_checks,
        panic=options.panic,
        cfgs=tuple(options.cfg),
    )


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of commands that run a derivative."""
    group = parser.add_argument_group("running")
    group.add_argument(
        "--arg", action="append", default=[], metavar="NAME=EXPR", help="an input as a Rust expression"
    )
    group.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="default: 10")
    group.add_argument("--memory", type=int, default=2048, metavar="MIB", help="default: 2048")


def read_inputs(words: list[str]) -> dict[str, str]:
    """`name=expression` words as a mapping; raises `Failure` for anything else."""
    inputs = {}
    for word in words:
        name, equals, expression = word.partition("=")
        if not equals or not name.strip() or not expression.strip():
            raise Failure(
                f"`--arg {word}` is not of the form NAME=EXPRESSION", help="for example `--arg 'x=[1.0]'`"
            )
        inputs[name.strip()] = expression.strip()
    return inputs


def read_limits(options: argparse.Namespace) -> Limits:
    """The limits of a run; raises `Failure` for values that are none."""
    from ferrodiff.server.worker import MEBIBYTE, Limits

    if not options.timeout > 0 or options.timeout > 86400:
        raise Failure(f"`--timeout {options.timeout:g}` is not a number of seconds from 0 to 86400")
    if options.memory < 16:
        raise Failure(f"`--memory {options.memory}` is too little: a program needs at least 16 MiB")
    return Limits(seconds=options.timeout, memory=options.memory * MEBIBYTE)


def unsaved_text(options: argparse.Namespace) -> str | None:
    """The unsaved contents of the file, when they were announced."""
    if not options.unsaved:
        return None
    return decode_source(sys.stdin.buffer.read(), options.file)


@contextmanager
def progress_display() -> Iterator[Progress]:
    """A spinner with the current step on a terminal's standard error, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("starting") as status:
        yield lambda step: status.update(STEPS.get(step, step))


def show_warnings(text: str) -> None:
    """rustc's warnings, on standard error."""
    if text:
        print(text, file=sys.stderr)
