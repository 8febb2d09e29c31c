"""`ferrodiff ir FILE DERIVATIVE`: LLVM IR at a stage, or the report of a reverse derivative's tape."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

from ferrodiff.server.commands.compiling import (
    add_compile_arguments,
    build_options,
    progress_display,
    unsaved_text,
)
from ferrodiff.server.compile import tape
from ferrodiff.server.compile.crate import Crate
from ferrodiff.server.compile.listing import readable
from ferrodiff.server.compile.names import find_derivative
from ferrodiff.server.compile.sources import nearest_first
from ferrodiff.server.compile.symbols import all_defined, attribute_groups, defined, definition, mentioned
from ferrodiff.server.errors import EXIT_PROBLEMS, Failure
from ferrodiff.server.paths import require_file

STAGES = ("primal", "derivative", "optimized")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("file", metavar="FILE", help="the program's root file")
    parser.add_argument("derivative", metavar="DERIVATIVE", help="the name given in the annotation")
    parser.add_argument("--stage", choices=STAGES, default="optimized", help="default: optimized")
    parser.add_argument("--asm", action="store_true", help="the optimised derivative in assembly language")
    parser.add_argument("--raw", action="store_true", help="with metadata, without source lines")
    parser.add_argument("--module", action="store_true", help="the whole module, which llc and opt can read")
    parser.add_argument("--report", action="store_true", help="what the reverse sweep keeps, and why")
    parser.add_argument("--json", action="store_true", help="with --report: as JSON")
    add_compile_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the IR of the functions that make up the derivative."""
    from ferrodiff.server.compile.pipeline import load, stages

    require_file(options.file)
    if options.json and not options.report:
        raise Failure("`--json` is a form of the report", help="add `--report`")
    settings = dataclasses.replace(build_options(options, "llvm-ir"), keep_unused=True)
    crate = load(options.file, settings, unsaved_text(options), whole=True)
    found = find_derivative(
        nearest_first(crate.files, options.file), options.derivative, (*crate.manifest.cfgs, *settings.cfgs)
    )
    with progress_display() as progress:
        native = stages(
            crate,
            options.file,
            settings,
            progress=progress,
            only_primal=options.stage == "primal" and not options.report and not options.asm,
            wanted=found.annotation.name,
        )
    if options.report:
        return _report(native.derivatives, found.name, crate, options.json)
    if options.asm:
        print(native.assembly())
        return 0
    text = native.stages[options.stage]
    if options.module:
        print(text)
        return 0
    name = found.function.bare_name if options.stage == "primal" else found.name
    symbols = defined(text, name)
    if options.stage != "primal":
        symbols += [item.symbol for item in native.derivatives if _is(item, found.name)]
    functions = _functions(text, name, symbols, all_defined(text) - all_defined(native.stages["primal"]))
    if options.raw:
        body = "\n\n".join(functions)
        print(f"{body}\n\n{attribute_groups(text, body)}".rstrip())
    else:
        lengths = {file.name: len(file.source.line_starts) for file in crate.files}
        print("\n\n".join(readable(function, text, lengths) for function in functions))
    return 0


def _functions(ir: str, name: str, symbols: list[str], generated: set[str]) -> list[str]:
    """The definitions of `symbols`, and of what they use of the functions that differentiation has generated."""
    waiting, seen = list(dict.fromkeys(symbols)), set(symbols)
    texts = []
    while waiting:
        text = definition(ir, waiting.pop(0))
        if text is not None:
            texts.append(text)
            more = [symbol for symbol in mentioned(text) if symbol in generated and symbol not in seen]
            waiting += more
            seen.update(more)
    if not texts:
        raise Failure(
            f"`{name}` is not in the compiled program",
            help="a generic function exists only where it is used; call the derivative from `main`",
            exit_code=EXIT_PROBLEMS,
        )
    return texts


def _is(item: Any, derivative: str) -> bool:
    return bool(item.request.derivative == derivative)


def _report(derivatives: list[Any], derivative: str, crate: Crate, as_json: bool) -> int:
    reports = [report for item in derivatives if _is(item, derivative) for report in item.kept]
    kept = tape.kept_values(reports, crate)
    if as_json:
        print(json.dumps(tape.as_json(derivative, kept), indent=2, ensure_ascii=False))
    else:
        print(tape.as_text(derivative, kept))
    return 0
