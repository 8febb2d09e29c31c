"""From a Rust file to an output file: the steps of `ferrodiff build`, `run` and `ir`.

read and rewrite -> rustc -> link bitcode -> optimise -> differentiate -> optimise -> emit -> link
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ferrodiff.server import archive, link
from ferrodiff.server.compile.crate import Crate, load_crate, require_text
from ferrodiff.server.compile.options import BuildOptions
from ferrodiff.server.compile.rustc import Compiled, compile_crate, crate_name
from ferrodiff.server.errors import Failure
from ferrodiff.server.toolchain import Toolchain, check_llvm, find_linker, find_toolchain

if TYPE_CHECKING:
    from ferrodiff.server.compile.native import Native

Progress = Callable[[str], None]
"""Told the name of each step as it begins."""


@dataclass(slots=True)
class Built:
    """A finished build: the output file, rustc's warnings, the processor it is for, and seconds by step."""

    output: Path
    warnings: str
    cpu: str
    seconds: dict[str, float] = field(default_factory=dict)


def silent(step: str) -> None:
    """No progress display."""


def build(
    path: str,
    output: Path,
    options: BuildOptions,
    *,
    text: str | None = None,
    progress: Progress = silent,
) -> Built:
    """Compiles the program rooted at `path` to `output`.

    `text` replaces the root file's contents. Raises `Failure` and `Reported`.
    """
    crate = load(path, options, text)
    return build_crate(crate, path, output, options, progress=progress)


def load(path: str, options: BuildOptions, text: str | None = None, *, whole: bool = False) -> Crate:
    """Reads and rewrites; refuses what could not become the output asked for.

    With `whole` the file may be a module, and the program that it belongs to is read.
    """
    crate = load_crate(path, shadow_checks=options.shadow_checks, text=text, whole=whole)
    require_text(crate.root.source.text, crate.root.name)
    if options.emit == "exe" and not crate.has_main:
        raise Failure(
            f"`{crate.root.name}` has no `fn main`, so it cannot become an executable",
            help="`--emit obj|staticlib|cdylib` builds a library; `ferrodiff run` needs no `main`",
            exit_code=1,
        )
    return crate


def build_crate(
    crate: Crate, path: str, output: Path, options: BuildOptions, *, progress: Progress = silent
) -> Built:
    """`build` for a program that has been read."""
    from ferrodiff.server.compile.native import resolved_name

    clock = _Clock(progress)
    toolchain = find_toolchain(options.toolchain)
    linker = find_linker(options.linker) if options.emit in ("exe", "cdylib") else ""
    with workspace() as work, clock.step("rustc"):
        compiled = _rustc(crate, path, options, toolchain, work)
        clock.begin("load")
        native = differentiate(crate, compiled, options, toolchain, clock)
        clock.begin("emit")
        result = _emit(crate, compiled, native, options, linker, work, clock)
        deliver(result, output)
    return Built(output, compiled.warnings, resolved_name(options.cpu), clock.seconds)


def stages(
    crate: Crate,
    path: str,
    options: BuildOptions,
    *,
    progress: Progress = silent,
    only_primal: bool = False,
    wanted: str | None = None,
) -> Native:
    """The program's IR before and after differentiation and after optimisation.

    With `only_primal` what cannot be differentiated is no error: its IR is what one wants to look at.
    Of the derivatives only `wanted`, if that is given, need be possible.
    """
    clock = _Clock(progress)
    toolchain = find_toolchain(options.toolchain)
    with workspace() as work, clock.step("rustc"):
        compiled = _rustc(crate, path, options, toolchain, work)
        clock.begin("load")
        native = differentiate(
            crate,
            compiled,
            options,
            toolchain,
            clock,
            keep_stages=True,
            may_refuse=not only_primal,
            wanted=wanted,
        )
    return native


@contextmanager
def workspace() -> Iterator[Path]:
    """A private temporary folder, removed afterwards."""
    folder = tempfile.mkdtemp(prefix="ferrodiff-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rustc(crate: Crate, path: str, options: BuildOptions, toolchain: Toolchain, work: Path) -> Compiled:
    """Runs rustc, and loads LLVM and the core while it runs."""

    def load_backend() -> None:
        from ferrodiff.server.compile.native import check_cpu, llvm_version, warm_up

        check_llvm(toolchain, llvm_version())
        check_cpu(options.cpu)
        warm_up(differentiating=crate.annotated)

    crate.write(work / "source")
    return compile_crate(crate, options, toolchain, work, meanwhile=load_backend)


def differentiate(
    crate: Crate,
    compiled: Compiled,
    options: BuildOptions,
    toolchain: Toolchain,
    clock: _Clock,
    *,
    keep_stages: bool = False,
    may_refuse: bool = True,
    wanted: str | None = None,
) -> Native:
    """Bitcode to differentiated and optimised IR; refusals are reported at the user's source lines."""
    from ferrodiff.server.compile import native
    from ferrodiff.server.compile.refusal import refuse

    files = compiled.bitcode
    if options.emit == "staticlib":
        files = _extract(compiled)
    result = native.make(files, options, clock.begin, keep_stages=keep_stages, wanted=wanted)
    if result.errors and may_refuse:
        refuse(result.errors, crate)
    return result


def _extract(compiled: Compiled) -> list[Path]:
    """The bitcode members of a static library, as files."""
    from ferrodiff.server.compile.rustc import BITCODE, BITCODE_WRAPPER

    files = []
    for member in archive.read_archive(compiled.output):
        if member.data[:4] in (BITCODE, BITCODE_WRAPPER):
            file = compiled.link_folder / member.name
            file.write_bytes(member.data)
            files.append(file)
    return files


def _emit(
    crate: Crate,
    compiled: Compiled,
    native: Native,
    options: BuildOptions,
    linker: str,
    work: Path,
    clock: _Clock,
) -> Path:
    """Writes the output into the workspace."""
    if options.emit == "llvm-ir":
        target = work / "program.ll"
        target.write_text(native.ir(), "utf-8")
        return target
    if options.emit == "asm":
        target = work / "program.s"
        target.write_text(native.assembly(), "utf-8")
        return target
    objects = native.objects(work, crate_name(crate, options))
    if options.emit == "obj":
        return objects[0]
    clock.begin("link")
    if options.emit == "staticlib":
        removed = [path.name for path in compiled.link_folder.iterdir()]
        added = {path.name: path.read_bytes() for path in objects}
        archive.replace_members(compiled.output, removed, added)
        return compiled.output
    target = work / "linked"
    link.link(
        linker,
        link.link_arguments(compiled.link_arguments, compiled.link_folder, compiled.bitcode, objects, target),
    )
    return target


def deliver(made: Path, output: Path) -> None:
    """Puts the finished file in place at once: nobody sees half of it, a running old one is no obstacle."""
    if output.is_dir():
        raise Failure(f"cannot write `{output}`: it is a folder", help="name the output file with `-o`")
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        shutil.copy(made, draft)
        draft.replace(output)
    except OSError as error:
        draft.unlink(missing_ok=True)
        reason = (error.strerror or str(error)).lower()
        raise Failure(f"cannot write `{output}`: {reason}") from error


class _Clock:
    """Seconds by step, and the progress display's news."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._since = 0.0

    def begin(self, name: str) -> None:
        """Ends the current step and begins another."""
        self.finish()
        self._name, self._since = name, time.perf_counter()
        self.progress(name)

    def finish(self) -> None:
        """Ends the current step."""
        if self._name:
            spent = time.perf_counter() - self._since
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + spent
            self._name = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Begins a step; the last one begun inside is ended at the end of the block."""
        self.begin(name)
        try:
            yield
        finally:
            self.finish()
