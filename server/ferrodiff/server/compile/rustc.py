"""Drives rustc: annotated crate in, LLVM bitcode and the linker's command line out.

rustc is given a linker that only records what it is asked to do and keeps the bitcode objects. Cost:
one shell start. Standard library and other native archives are left to the real linker.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ferrodiff.analysis.text import SourceText, Span
from ferrodiff.server.compile.crate import Crate
from ferrodiff.server.compile.options import DEFAULT_EDITION, BuildOptions
from ferrodiff.server.compile.sources import ARGUMENTS
from ferrodiff.server.errors import Failure, Reported
from ferrodiff.server.render import Message, Place, render
from ferrodiff.server.toolchain import Toolchain

BITCODE = b"BC\xc0\xde"
BITCODE_WRAPPER = b"\xde\xc0\x17\x0b"

_RECORDER = """#!/bin/sh
printf '%s\\0' "$@" > "$FERRODIFF_LINK/arguments"
for argument in "$@"; do
  case $argument in
    @*) cp -- "${argument#@}" "$FERRODIFF_LINK/" ;;
    *--version-script=*|*--dynamic-list=*) cp -- "${argument##*=}" "$FERRODIFF_LINK/" ;;
    *.o|*/rustc??????/*) if test -f "$argument"; then cp -- "$argument" "$FERRODIFF_LINK/"; fi ;;
  esac
done
"""

_CATCHES = re.compile(r"\b(catch_unwind|resume_unwind|should_panic|UnwindSafe)\b|\bthread::|#\[test\]")
_NEEDS_2024 = re.compile(
    r"only allowed in Rust 2024|edition2024|requires? (?:the )?2024 edition|Rust 2024 or later"
)

_UNREACHABLE = re.compile(r"the trait bound `(.*): (?:\w+::)*Floats` is not satisfied")

_MISSING_CRATE = re.compile(
    r"(?:cannot find (?:module or )?crate|unresolved import|can't find crate for|failed to resolve: .*crate) "
    r"`(?:::)?(\w+)"
)

CRATE_TYPES = {"exe": "bin", "staticlib": "staticlib", "cdylib": "cdylib"}


@dataclass(frozen=True, slots=True)
class Compiled:
    """What rustc produced: bitcode files, and for linked output the linker's recorded arguments."""

    bitcode: list[Path]
    link_arguments: list[str]
    link_folder: Path
    warnings: str
    output: Path


def compile_crate(
    crate: Crate,
    options: BuildOptions,
    toolchain: Toolchain,
    work: Path,
    *,
    meanwhile: Callable[[], None] = lambda: None,
) -> Compiled:
    """Runs rustc on the crate's rewritten files in `work/source`; `meanwhile` is called while it runs.

    Raises `Reported` with rustc's own errors, placed in the user's files.
    """
    edition = crate.manifest.edition
    chosen = options.edition or edition or DEFAULT_EDITION
    try:
        return _compile(crate, options, toolchain, work, chosen, meanwhile)
    except _NeedsNewerEdition as retry:
        if options.edition or edition:
            raise Reported(retry.text) from None
    return _compile(crate, options, toolchain, work, "2024", meanwhile)


class _NeedsNewerEdition(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def _compile(
    crate: Crate,
    options: BuildOptions,
    toolchain: Toolchain,
    work: Path,
    edition: str,
    meanwhile: Callable[[], None],
) -> Compiled:
    folder = work / "link"
    folder.mkdir(parents=True, exist_ok=True)
    recorder = work / "recorder.sh"
    recorder.write_text(_RECORDER, "utf-8")
    recorder.chmod(0o700)
    name = f"lib{crate_name(crate, options)}.a" if options.emit == "staticlib" else "program"
    output = work / "out" / name
    output.parent.mkdir(exist_ok=True)
    command = [*_command(crate, options, toolchain, work, edition, output), f"-Clinker={recorder}"]
    environment = {**os.environ, **crate.manifest.environment()}
    environment |= {"FERRODIFF_LINK": str(folder), "TMPDIR": str(output.parent)}
    environment.pop("RUSTC_WORKSPACE_WRAPPER", None)
    code, stderr = _run(command, environment, meanwhile)
    errors, warnings = _diagnostics(stderr, crate)
    if code != 0:
        _raise_errors("\n\n".join(errors) or stderr.strip(), code, edition)
    if options.emit not in CRATE_TYPES:
        return Compiled([output], [], folder, "\n\n".join(warnings), output)
    if options.emit == "staticlib":
        return Compiled([], [], folder, "\n\n".join(warnings), output)
    recorded = (folder / "arguments").read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
    objects = [path for path in sorted(folder.iterdir()) if path.suffix == ".o" and is_bitcode(path)]
    return Compiled(objects, recorded, folder, "\n\n".join(warnings), output)


def _command(
    crate: Crate, options: BuildOptions, toolchain: Toolchain, work: Path, edition: str, output: Path
) -> list[str]:
    crate_type = CRATE_TYPES.get(options.emit) or ("bin" if crate.has_main else "lib")
    command = [toolchain.rustc, str(work / "source" / crate.root.target)]
    command += ["--crate-name", crate_name(crate, options), "--crate-type", crate_type, "--edition", edition]
    command += _code_flags(crate, options)
    command += _emit_flags(options.emit, crate_type, output)
    if options.keep_unused:
        command.append("-Clink-dead-code")
    command += ["--remap-path-prefix", f"{work / 'source'}={_shown_folder(crate)}"]
    command += ["--error-format=json"]
    for cfg in (*crate.manifest.cfgs, *options.cfgs):
        command += ["--cfg", cfg]
    return command


def _run(command: list[str], environment: dict[str, str], meanwhile: Callable[[], None]) -> tuple[int, str]:
    """Exit code and standard error of rustc; ends it when the caller is interrupted."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        errors="replace",
    )
    try:
        meanwhile()
        _, stderr = process.communicate()
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process.returncode, stderr


def _raise_errors(text: str, code: int, edition: str) -> NoReturn:
    if not text:
        raise Failure(f"rustc ended with code {code} and no message", exit_code=1)
    if _NEEDS_2024.search(text) and edition != "2024":
        raise _NeedsNewerEdition(text)
    raise Reported(text)


def crate_name(crate: Crate, options: BuildOptions) -> str:
    """The crate's name: as asked, else the root file's, made an identifier."""
    stem = options.crate_name or Path(crate.root.path).stem
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"_{name}" if not name or name[0].isdigit() else name


def is_bitcode(path: Path) -> bool:
    """Whether a file holds LLVM bitcode, raw or wrapped."""
    with path.open("rb") as file:
        return file.read(4) in (BITCODE, BITCODE_WRAPPER)


def panic_strategy(crate: Crate, options: BuildOptions) -> str:
    """`abort` lets the core see code without clean-up paths; a program that catches panics keeps them."""
    if options.panic != "auto":
        return options.panic
    catches = any(_CATCHES.search(file.source.text) for file in crate.files)
    return "unwind" if catches else "abort"


def _code_flags(crate: Crate, options: BuildOptions) -> list[str]:
    """Flags that decide about the generated code.

    Below level 2 rustc calls the standard library's own instances of generic functions (`Vec`'s, for one),
    which come without a body to differentiate. So rustc is always asked for level 2 at least, and `-O 0` and
    `-O 1` keep what else they mean: checks in the program, and less work for LLVM.
    """
    flags = [f"-Copt-level={max(options.opt_level, 2)}", "-Cno-prepopulate-passes", "-Ccodegen-units=1"]
    flags += ["-Cdebuginfo=line-tables-only", f"-Cpanic={panic_strategy(crate, options)}"]
    if options.opt_level == 0:
        flags += ["-Cdebug-assertions=on", "-Coverflow-checks=on"]
    if options.cpu != "generic":
        flags.append(f"-Ctarget-cpu={options.cpu}")
    return flags


def _emit_flags(emit: str, crate_type: str, output: Path) -> list[str]:
    if emit in ("exe", "cdylib", "staticlib"):
        return ["-Clinker-plugin-lto", "-o", str(output)]
    flags = ["--emit=llvm-bc", "-o", str(output)]
    return flags if crate_type == "bin" else [*flags, "-Clink-dead-code"]


def _shown_folder(crate: Crate) -> str:
    return os.path.dirname(crate.root.name)


def _diagnostics(stderr: str, crate: Crate) -> tuple[list[str], list[str]]:
    """rustc's JSON lines as rendered errors and warnings, about the user's text."""
    errors: list[str] = []
    warnings: list[str] = []
    for line in stderr.splitlines():
        if not line.startswith("{"):
            if line.strip():
                errors.append(line)
            continue
        try:
            item = json.loads(line)
        except ValueError:
            errors.append(line)
            continue
        if item.get("$message_type") != "diagnostic" and "rendered" not in item:
            continue
        text = _render(item, crate)
        if text and text not in errors and text not in warnings:
            (errors if item["level"].startswith("error") or "panic" in item["level"] else warnings).append(
                text
            )
    return errors, warnings


def _render(item: dict[str, Any], crate: Crate) -> str | None:
    """One diagnostic: rustc's rendering where it shows the user's text, else our own of the same facts."""
    if item["message"].startswith(("aborting due to", "For more information about")) and not item["spans"]:
        return None
    if re.match(r"\d+ warnings? emitted|Some errors have detailed", item["message"]):
        return None
    spans = list(item["spans"]) + [span for child in item["children"] for span in child["spans"]]
    strange = [span for span in spans if not _is_users(span, crate)]
    if not strange and not any(ARGUMENTS in span["file_name"] for span in spans):
        return _with_help(str(item["rendered"]).rstrip("\n"), _advice(item["message"], crate))
    if item["level"] == "warning" and any(span["is_primary"] for span in strange):
        return None
    return _rerender(item, crate)


def _advice(message: str, crate: Crate) -> str | None:
    """What rustc cannot know about a message."""
    named = _MISSING_CRATE.match(message)
    if named and named.group(1) in crate.manifest.dependencies:
        return (
            f"`{named.group(1)}` is a dependency in Cargo.toml; Ferrodiff compiles one crate and builds no "
            'dependencies, so its files have to become modules: `#[path = ".."] mod`'
        )
    if message.startswith("cannot find attribute `autodiff"):
        return (
            "Ferrodiff reads annotations in the text of files and their macros, not in what other macros "
            "make; write the annotated function out"
        )
    return None


def _with_help(rendered: str, advice: str | None) -> str:
    """rustc's rendering with one more line of help, in line with its own."""
    if advice is None:
        return rendered
    gutters = re.findall(r"^( *)(?:\||=)", rendered, re.MULTILINE)
    gutter = gutters[-1] if gutters else "  "
    bar = "" if re.search(r"^ *= ", rendered, re.MULTILINE) else f"\n{gutter}|"
    return f"{rendered}{bar}\n{gutter}= help: {advice}"


def _is_users(span: dict[str, Any], crate: Crate) -> bool:
    """Whether the lines of a span read as in the user's file."""
    file = crate.find(span["file_name"])
    if file is None:
        return not span["file_name"].startswith("/tmp") or Path(span["file_name"]).is_file()
    for number, text in enumerate(span["text"], start=span["line_start"]):
        if number > len(file.source.line_starts):
            return False
        mine = file.source.slice(file.source.line_span(number - 1))
        if mine.rstrip("\r") != text["text"].rstrip("\r"):
            return False
    return True


def _rerender(item: dict[str, Any], crate: Crate) -> str:
    if unreachable := _UNREACHABLE.match(item["message"]):
        return render(
            Message(
                "error",
                f"the floats in a `{unreachable.group(1)}` cannot be changed one by one to check a derivative",
                None,
                helps=["`ferrodiff run` works with it; compare by hand what it prints for two inputs"],
            )
        )
    primary = next((span for span in item["spans"] if span["is_primary"]), None)
    place = _span_place(primary, crate) if primary else None
    related = []
    for span in item["spans"]:
        other = _span_place(span, crate) if not span["is_primary"] and span.get("label") else None
        if other is not None:
            related.append((span["label"], other))
    notes = [
        child["message"] for child in item["children"] if child["level"] == "note" and not child["spans"]
    ]
    helps = [child["message"] for child in item["children"] if child["level"] == "help"]
    code = (item.get("code") or {}).get("code")
    label = (primary or {}).get("label") or ""
    if place is not None and label:
        place = Place(place.name, place.source, place.span, label)
    if place is None:
        notes.append("the error is in code generated for an annotation; `ferrodiff expand --source` shows it")
    return render(Message(item["level"], item["message"], place, code, related, notes, helps))


def _span_place(span: dict[str, Any], crate: Crate) -> Place | None:
    if _is_users(span, crate):
        file = crate.find(span["file_name"])
        if file is not None:
            source: SourceText = file.source
            start = _offset(source, span["line_start"], span["column_start"])
            end = _offset(source, span["line_end"], span["column_end"])
            return Place(file.name, source, Span(start, max(start, end)))
    return crate.place(span["file_name"], span["line_start"], span["column_start"])


def _offset(source: SourceText, line: int, column: int) -> int:
    return source.offset(line - 1, column - 1, "utf-32")
