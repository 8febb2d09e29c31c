"""`ferrodiff run FILE DERIVATIVE`: calls one derivative and prints what comes out."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from ferrodiff.server.compile.drive import Prepared, Report

PRINTED = ("input", "primal", "tangent", "gradient")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("file", metavar="FILE", help="a Rust file; needs no `main`")
    parser.add_argument("derivative", metavar="DERIVATIVE", help="the name given in the annotation")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")
    parser.add_argument("--fresh", action="store_true", help="compile even when the program is cached")
    add_run_arguments(parser)
    add_compile_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Exit code 1 when the program did not end normally."""
    from ferrodiff.server.compile.drive import prepare, run_derivative

    require_file(options.file)
    prepared = prepare(
        options.file,
        options.derivative,
        read_inputs(options.arg),
        build_options(options),
        text=unsaved_text(options),
    )
    with progress_display() as progress:
        report = run_derivative(prepared, read_limits(options), progress=progress, fresh=options.fresh)
    if options.json:
        print(json.dumps(as_json(prepared, report), indent=2, ensure_ascii=False))
    else:
        _print_table(prepared, report)
    sys.stdout.flush()
    if not report.result.ok and not options.json:
        _print_failure(report)
    return 0 if report.result.ok else EXIT_PROBLEMS


def as_json(prepared: Prepared, report: Report) -> dict[str, object]:
    """The run as plain data. `data` of a value are its numbers as nested lists, or null."""
    annotation, function = prepared.found.annotation, prepared.found.function
    return {
        "derivative": annotation.name,
        "function": function.bare_name,
        "mode": annotation.mode.value,
        "width": annotation.width,
        "file": prepared.found.file.name,
        "line": prepared.found.line,
        "inputs": [
            {"name": item.name, "expression": item.expression, "origin": item.origin}
            for item in prepared.crate.inputs
        ],
        "outcome": report.result.outcome.value,
        "message": report.result.sentence,
        "values": [
            {"name": item.name, "role": item.role, "lane": item.lane, "text": item.text, "data": item.data}
            for item in report.values
        ],
        "printed": report.printed,
        "stderr": report.result.stderr,
        "cached": report.cached,
        "cpu": report.cpu,
        "seconds": round(report.result.seconds, 6),
        "steps": {name: round(seconds, 6) for name, seconds in report.seconds.items()},
    }


def _print_table(prepared: Prepared, report: Report) -> None:
    annotation, function = prepared.found.annotation, prepared.found.function
    width = f", width {annotation.width}" if annotation.width != 1 else ""
    print(f"{annotation.name}: {annotation.mode.value} derivative of `{function.bare_name}`{width}")
    origins = {item.name: item.origin for item in prepared.crate.inputs}
    rows = []
    for value in sorted(report.values, key=lambda item: PRINTED.index(item.role)):
        lane = (
            f"[{value.lane}]"
            if annotation.width > 1 and value.name == "return" and value.role == "tangent"
            else ""
        )
        origin = "  (sample value)" if value.role == "input" and origins.get(value.name) == "sample" else ""
        rows.append((value.role, value.name + lane, value.text + origin))
    role_width = max((len(row[0]) for row in rows), default=0)
    name_width = max((len(row[1]) for row in rows), default=0)
    for role, name, text in rows:
        print(f"  {role:<{role_width}}  {name:<{name_width}}  {text}")
    if report.printed:
        print("printed by the program:")
        print(report.printed.rstrip("\n"))


def _print_failure(report: Report) -> None:
    print(f"error: {report.result.sentence}", file=sys.stderr)
    rest = _rest(report.result.stderr.strip().splitlines())
    if rest:
        print("\n".join(rest), file=sys.stderr)


def _rest(lines: list[str]) -> list[str]:
    """What the program wrote, without the lines of a panic that the sentence about it has already."""
    lines = [line for line in lines if not line.startswith("note: run with `RUST_BACKTRACE")]
    for number, line in enumerate(lines):
        if line.startswith("thread '") and " panicked at " in line:
            return lines[:number] + lines[number + 2 :]
    return lines
