"""`ferrodiff gradcheck FILE DERIVATIVE`: compares one derivative with central differences."""

from __future__ import annotations

import argparse
import json
import sys

from ferrodiff.server.commands.compiling import (
    add_compile_arguments,
    add_run_arguments,
    build_options,
    progress_display,
    read_inputs,
    read_limits,
    unsaved_text,
)
from ferrodiff.server.errors import EXIT_PROBLEMS
from ferrodiff.server.paths import require_file


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("file", metavar="FILE", help="a Rust file; needs no `main`")
    parser.add_argument("derivative", metavar="DERIVATIVE", help="the name given in the annotation")
    parser.add_argument("--json", action="store_true", help="the verdict as one JSON object")
    parser.add_argument("--curve", action="store_true", help="print the error for every step")
    add_run_arguments(parser)
    add_compile_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Exit code 1 when the check fails or the program does not end normally."""
    from ferrodiff.server.compile.drive import prepare, run_derivative
    from ferrodiff.server.compile.gradient import as_json, judge, uses_single

    require_file(options.file)
    prepared = prepare(
        options.file,
        options.derivative,
        read_inputs(options.arg),
        build_options(options),
        text=unsaved_text(options),
        check=True,
    )
    with progress_display() as progress:
        report = run_derivative(prepared, read_limits(options), progress=progress)
    if not report.result.ok:
        if options.json:
            print(json.dumps({"passed": False, "message": report.result.sentence}, indent=2))
        else:
            print(f"error: {report.result.sentence}", file=sys.stderr)
        return EXIT_PROBLEMS
    function = prepared.found.function
    verdict = judge(report.printed, single=uses_single(function, prepared.found.file.source.text))
    if options.json:
        print(json.dumps(as_json(verdict), indent=2))
    else:
        print(f"{options.derivative}: {verdict.describe()}")
        if options.curve:
            for step, error in verdict.curve:
                print(f"  step {step:.0e}  relative error {error:.2e}")
    return 0 if verdict.passed else EXIT_PROBLEMS
