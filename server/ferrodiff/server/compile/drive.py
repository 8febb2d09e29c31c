"""Running one derivative: a generated program, compiled once, run under limits, its output read back.

`prepare`, `cached` and `execute` load no LLVM, so the language server may call them; `compile_program` does.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ferrodiff.analysis.model import Activity
from ferrodiff.server import worker
from ferrodiff.server.cache import Cache, Entry, key_of
from ferrodiff.server.compile.crate import Crate, Drive, load_crate
from ferrodiff.server.compile.gradient import COMPARED
from ferrodiff.server.compile.names import Found
from ferrodiff.server.compile.options import BuildOptions
from ferrodiff.server.compile.pipeline import Built, Progress, build_crate, silent, workspace
from ferrodiff.server.toolchain import Toolchain, find_toolchain
from ferrodiff.server.version import fingerprint
from ferrodiff.server.worker import Limits

PROGRAM = "program"
_PLAIN = re.compile(r"[\d\s.,eE+\-\[\]()]+")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A generated program, ready to be compiled, and the key of its compiled form."""

    path: str
    crate: Crate
    found: Found
    options: BuildOptions
    toolchain: Toolchain
    key: str


@dataclass(frozen=True, slots=True)
class Value:
    """One output. `role` is `input`, `primal`, `tangent` or `gradient`; `text` is Rust's `{:?}`.

    `data` are the same numbers as nested lists, None where the text is more than numbers.
    """

    name: str
    role: str
    lane: int
    text: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Report:
    """A finished run: what came out of the derivative, and what the program printed itself."""

    result: worker.Result
    values: tuple[Value, ...]
    printed: str
    cached: bool = False
    cpu: str = ""
    """The processor that it was compiled for."""
    seconds: dict[str, float] = field(default_factory=dict)


def prepare(
    path: str,
    derivative: str,
    inputs: Mapping[str, str] | None = None,
    options: BuildOptions | None = None,
    *,
    text: str | None = None,
    check: bool = False,
) -> Prepared:
    """Reads the file, generates the program and finds the compiler.

    With `check` the program compares the derivative with central differences (see `compile.gradient`).

    Raises `Failure` for unknown derivatives and inputs, `Reported` for errors in the annotation.
    """
    chosen = options or BuildOptions()
    crate = load_crate(
        path,
        shadow_checks=chosen.shadow_checks,
        text=text,
        drive=Drive(derivative, inputs or {}, check),
        cfgs=chosen.cfgs,
    )
    assert crate.found is not None
    toolchain = find_toolchain(chosen.toolchain)
    return Prepared(path, crate, crate.found, chosen, toolchain, _key(crate, chosen, toolchain))


def cached(prepared: Prepared, cache: Cache | None = None) -> Entry | None:
    """The compiled program, when there is one."""
    return (cache or Cache()).find(prepared.key)


def compile_program(
    prepared: Prepared, program: Path, *, progress: Progress = silent, cache: Cache | None = None
) -> Built:
    """Compiles to `program` and remembers it."""
    built = build_crate(prepared.crate, prepared.path, program, prepared.options, progress=progress)
    notes = {"derivative": prepared.found.annotation.name, "cpu": built.cpu}
    (cache or Cache()).store(prepared.key, {PROGRAM: program}, notes)
    return built


def run_derivative(
    prepared: Prepared, limits: Limits | None = None, *, progress: Progress = silent, fresh: bool = False
) -> Report:
    """Compiles unless the program is cached, then runs it."""
    entry = None if fresh else cached(prepared)
    if entry is not None:
        report = _complete(prepared, execute(entry.folder / PROGRAM, limits))
        if report.result.outcome is not worker.Outcome.NOT_STARTED:
            return replace(report, cached=True, cpu=str(entry.notes.get("cpu", "")))
    with workspace() as folder:
        built = compile_program(prepared, folder / PROGRAM, progress=progress)
        progress("run")
        report = _complete(prepared, execute(folder / PROGRAM, limits))
    return replace(report, cpu=built.cpu, seconds=built.seconds)


def execute(program: Path, limits: Limits | None = None) -> Report:
    """Runs a compiled program in a child process."""
    result = worker.run([str(program)], limits, run_environment())
    values, printed = read_output(result.stdout)
    return Report(result, values, printed)


def _complete(prepared: Prepared, report: Report) -> Report:
    """A program that ends well but early, by `std::process::exit`, did not end well."""
    function, annotation = prepared.found.function, prepared.found.annotation
    answers = function.has_return or any(
        item.activity not in (None, Activity.CONST) for item in annotation.arguments
    )
    done = any(value.role != "input" for value in report.values) or COMPARED in report.printed
    if not report.result.ok or done or not answers:
        return report
    return replace(report, result=replace(report.result, outcome=worker.Outcome.EXIT))


def run_environment() -> dict[str, str]:
    """The child's environment: the caller's, without backtraces in panic messages."""
    return dict(os.environ, RUST_BACKTRACE="0")


def read_output(text: str) -> tuple[tuple[Value, ...], str]:
    """The driver's lines of JSON as values, and everything else as what the program printed itself."""
    values: list[Value] = []
    printed: list[str] = []
    for line in text.splitlines(keepends=True):
        value = _value(line)
        if value is None:
            printed.append(line)
        else:
            values.append(value)
    return tuple(values), "".join(printed)


def numbers(text: str) -> Any:
    """A `{:?}` text of nothing but numbers, arrays and tuples as nested lists; None for anything else."""
    if not _PLAIN.fullmatch(text):
        return None
    try:
        return json.loads(re.sub(r",\s*([\])])", r"\1", text).replace("(", "[").replace(")", "]"))
    except ValueError:
        return None


def _value(line: str) -> Value | None:
    if not line.startswith('{"name": '):
        return None
    try:
        item = json.loads(line)
        text = str(item["value"])
        return Value(str(item["name"]), str(item["role"]), int(item["lane"]), text, numbers(text))
    except (ValueError, KeyError, TypeError):
        return None


def _key(crate: Crate, options: BuildOptions, toolchain: Toolchain) -> str:
    parts = {f"file {file.target}": file.rewritten for file in [*crate.files, *crate.arguments]}
    parts |= {
        "name": crate.root.name,
        "options": options.key(),
        "manifest": repr(crate.manifest),
        "toolchain": toolchain.identity,
        "fingerprint": fingerprint(),
        "machine": _machine() if options.cpu == "native" else "",
    }
    return key_of(parts)


def _machine() -> str:
    """What tells this machine's processor from another's that shares the cache folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").partition("\n\n")[0].splitlines()
    except OSError:
        return f"{platform.node()} {platform.processor()}"
    return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU")))
