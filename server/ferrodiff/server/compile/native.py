"""Bitcode to machine code: link, optimise, differentiate, optimise, emit.

The only module of the application that loads LLVM (through `ferrodiff.adcore.backend`); it is imported
when something is compiled and never in the language server's process.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ferrodiff.adcore.backend import objects, passes
from ferrodiff.adcore.backend.program import has_markers, llvm_version, read_program
from ferrodiff.adcore.backend.target import is_processor, resolved_name, target_machine
from ferrodiff.adcore.errors import BackendError
from ferrodiff.server.compile.options import BuildOptions
from ferrodiff.server.errors import Failure

STAGES = ("primal", "derivative", "optimized")

__all__ = ["STAGES", "Native", "check_cpu", "llvm_version", "make", "resolved_name", "warm_up"]


@dataclass(slots=True)
class Native:
    """A differentiated program.

    `stages` holds the IR text of the stages that were to be kept, `derivatives` what the core says about each
    derivative, `errors` its refusals.
    """

    module: Any
    shims: Sequence[Any]
    options: BuildOptions
    derivatives: list[Any] = field(default_factory=list)
    errors: list[Any] = field(default_factory=list)
    stages: dict[str, str] = field(default_factory=dict)

    def ir(self) -> str:
        """The optimised program as text."""
        return str(self.module)

    def assembly(self) -> str:
        """The optimised program in the target's assembly language."""
        return str(objects.emit_assembly(self.module, cpu=self.options.cpu, opt_level=self.options.opt_level))

    def objects(self, folder: Path, name: str) -> list[Path]:
        """Writes object files; the first is the program, the others are shims."""
        paths = []
        for number, module in enumerate([self.module, *self.shims]):
            path = folder / (f"{name}.o" if number == 0 else f"{name}.shim{number}.o")
            path.write_bytes(
                objects.emit_object(module, cpu=self.options.cpu, opt_level=self.options.opt_level)
            )
            paths.append(path)
        return paths


def check_cpu(cpu: str) -> None:
    """Raises `Failure` for a processor that LLVM does not know."""
    if not is_processor(cpu):
        raise Failure(
            f"LLVM knows no processor `{cpu}` here",
            help="`--cpu native` is this machine's; `rustc --print target-cpus` lists them all",
        )


def warm_up(*, differentiating: bool) -> None:
    """Loads what a compilation needs, so that it can happen while rustc runs."""
    target_machine()
    if differentiating:
        importlib.import_module("ferrodiff.adcore.differentiate")


def make(
    bitcode: Sequence[Path],
    options: BuildOptions,
    begin: Callable[[str], None],
    *,
    keep_stages: bool = False,
    wanted: str | None = None,
) -> Native:
    """Everything between rustc's bitcode and the emission of an output.

    Of the derivatives only `wanted`, if that is given, need be possible. Raises `Failure` when LLVM refuses
    an intermediate result; refusals of the core are in `errors`.
    """
    try:
        return _make(bitcode, options, begin, keep_stages, wanted)
    except BackendError as error:
        raise Failure(
            "LLVM refused an intermediate result; no output was written",
            help="please report it with the file that caused it",
            details=str(error),
            exit_code=1,
        ) from error


def _make(
    bitcode: Sequence[Path],
    options: BuildOptions,
    begin: Callable[[str], None],
    keep_stages: bool,
    wanted: str | None,
) -> Native:
    program = read_program([path.read_bytes() for path in bitcode])
    native = Native(program.user, program.shims, options)
    if has_markers(program.user):
        _differentiate(native, begin, keep_stages, wanted)
    elif keep_stages:
        native.stages["primal"] = native.stages["derivative"] = str(program.user)
    if native.errors:
        return native
    begin("optimise")
    passes.after_ad(native.module, cpu=options.cpu, opt_level=options.opt_level)
    if keep_stages:
        native.stages["optimized"] = str(native.module)
    for shim in native.shims:
        passes.after_ad(shim, cpu=options.cpu, opt_level=options.opt_level)
    return native


def _differentiate(
    native: Native, begin: Callable[[str], None], keep_stages: bool, wanted: str | None
) -> None:
    from ferrodiff.adcore.backend.inlining import inline_for_reverse
    from ferrodiff.adcore.differentiate import differentiate_module

    begin("prepare")
    passes.before_ad(native.module)
    text = inline_for_reverse(str(native.module))
    begin("differentiate")
    try:
        result = differentiate_module(text)
    except Exception as error:
        raise Failure(
            f"the derivative compiler failed on this program ({type(error).__name__}: {error})",
            help="this is a defect of Ferrodiff; please report it with the file that caused it",
            details="".join(traceback.format_exception(error)),
            exit_code=1,
        ) from error
    native.derivatives = list(result.derivatives)
    native.errors = [error for error in result.errors if wanted is None or error.derivative in (None, wanted)]
    if keep_stages:
        native.stages |= {"primal": text, "derivative": result.text}
    if not native.errors:
        native.module = passes.parse(result.text)
