"""`ferrodiff derive FILE.ll`: derivatives of functions in LLVM IR that some other compiler wrote.

Two ways to ask: `--function f --mode reverse --activities Active,Duplicated,Const` adds one derivative under
a name of your choice; and every call of `__enzyme_autodiff` or `__enzyme_fwddiff` in the file is replaced.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from ferrodiff.server.commands.compiling import CPU_HELP
from ferrodiff.server.compile.refusal import FilesOnDisk, refuse
from ferrodiff.server.errors import Failure
from ferrodiff.server.paths import STANDARD_INPUT, require_file

EMITS = {"llvm-ir": ".ll", "asm": ".s", "obj": ".o"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("file", metavar="FILE", help="LLVM IR (.ll) or bitcode (.bc); `-` is standard input")
    parser.add_argument("-f", "--function", help="the function to differentiate")
    parser.add_argument("--name", help="the derivative's name (default: d and the function's name)")
    parser.add_argument("--mode", choices=("forward", "reverse"), default="forward", help="default: forward")
    parser.add_argument(
        "--activities",
        default="",
        metavar="A,B,...",
        help="one per parameter: Const, Dual (forward), Duplicated, Active (reverse)",
    )
    parser.add_argument("--result", help="the result's activity (default: the one that returns most)")
    parser.add_argument("--width", type=int, default=1, metavar="N", help="lanes of the batch (default: 1)")
    parser.add_argument("--emit", choices=tuple(EMITS), default="llvm-ir", help="default: llvm-ir")
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write (default: standard output)")
    parser.add_argument("-O", dest="opt_level", type=int, choices=(0, 1, 2, 3), default=3, help="default: 3")
    parser.add_argument("--cpu", default="generic", metavar="CPU", help=CPU_HELP)


def run(options: argparse.Namespace) -> int:
    """Differentiates and writes; problems are raised."""
    from ferrodiff.adcore.errors import AdcoreError, CannotDifferentiate
    from ferrodiff.server.compile.native import check_cpu

    require_file(options.file, "one file of LLVM IR")
    check_cpu(options.cpu)
    if options.emit == "obj" and not options.output:
        raise Failure("an object file needs a place to go", help="name one with `-o OUT`")
    try:
        text = _requested(_read(options.file), options)
        module = _differentiated(text, options)
    except CannotDifferentiate as error:
        refuse([error], FilesOnDisk())
    except AdcoreError as error:
        raise Failure(
            f"`{options.file}` is no LLVM IR that can be read{_reason(str(error))}", details=str(error)
        ) from error
    _write(module, options)
    return 0


def _reason(text: str) -> str:
    """LLVM's own words about text or bitcode, with the line."""
    found = re.search(r"<string>:(\d+):\d+: error: (.*)", text)
    if found:
        return f": line {found.group(1)}: {found.group(2)}"
    last = text.strip().splitlines()[-1:]
    return f": {last[0].removeprefix('error: ')}" if last else ""


def _read(name: str) -> str:
    from ferrodiff.adcore.backend.passes import canonical

    try:
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except OSError as error:
        raise Failure(f"cannot read `{name}`: {(error.strerror or str(error)).lower()}") from error
    if data[:4] in (b"BC\xc0\xde", b"\xde\xc0\x17\x0b"):
        return canonical(data)
    if b"\0" in data:  # LLVM reads text up to the first NUL and would find an empty module
        raise Failure(f"`{name}` is no LLVM IR: it holds NUL bytes")
    return canonical(data.decode("utf-8", "replace"))


def _requested(text: str, options: argparse.Namespace) -> str:
    """The module with the entry that the options ask for, and with foreign calls replaced."""
    from ferrodiff.adcore.backend.passes import canonical
    from ferrodiff.adcore.entry import Wanted, default_result, with_entry
    from ferrodiff.adcore.foreign import replace_foreign_calls
    from ferrodiff.adcore.ir.module import Module

    text, replaced = replace_foreign_calls(text)
    if options.function is None and not replaced:
        raise Failure(
            "nothing to differentiate",
            help="name a function with `--function`; the file has no `__enzyme_autodiff` calls",
        )
    if options.function is not None:
        name = options.name or f"d{options.function}"
        result = options.result
        if result is None:
            result = default_result(Module.parse(text), options.function, options.mode)
        activities = tuple(a.strip() for a in options.activities.split(",") if a.strip())
        wanted = Wanted(options.function, name, options.mode, activities, result, options.width)
        text, entry = with_entry(text, wanted)
        parameters = ", ".join(str(t) for t in entry.parameters)
        print(f"{name}: {entry.returned} ({parameters})", file=sys.stderr)
    return canonical(text)


def _differentiated(text: str, options: argparse.Namespace) -> object:
    """The optimised module with every derivative in it."""
    from ferrodiff.adcore.backend import passes
    from ferrodiff.adcore.backend.inlining import inline_for_reverse
    from ferrodiff.adcore.differentiate import differentiate_module

    done = differentiate_module(inline_for_reverse(passes.text_before_ad(text)))
    if done.errors:
        refuse(done.errors, FilesOnDisk())
    module = passes.parse(done.text)
    passes.after_ad(module, cpu=options.cpu, opt_level=options.opt_level)
    return module


def _write(module: object, options: argparse.Namespace) -> None:
    from ferrodiff.adcore.backend import objects
    from ferrodiff.server.compile.pipeline import deliver, workspace

    if options.emit == "obj":
        data = objects.emit_object(module, cpu=options.cpu, opt_level=options.opt_level)
    elif options.emit == "asm":
        data = objects.emit_assembly(module, cpu=options.cpu, opt_level=options.opt_level).encode()
    else:
        data = objects.emit_ir(module).encode()
    if not options.output:
        print(data.decode())
        return
    with workspace() as folder:
        (folder / "output").write_bytes(data)
        deliver(folder / "output", Path(options.output))
