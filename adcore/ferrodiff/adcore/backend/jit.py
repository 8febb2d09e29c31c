"""Running compiled code in this process.

Symbols that a module only declares are looked up in the libraries given, in the C and maths libraries and
in this process; the Rust allocator's are defined here. What remains is an error that names them, raised
before anything is compiled.
"""

from __future__ import annotations

import ctypes
import re
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any

import llvmlite.binding as llvm

from ferrodiff.adcore.backend import allocator, passes
from ferrodiff.adcore.backend.target import initialize, target_machine
from ferrodiff.adcore.errors import BackendError, UnresolvedSymbols

# The compiler's run-time library has what LLVM calls without declaring it (128-bit division, powi).
_RUNTIME_LIBRARIES = ("libm.so.6", "libgcc_s.so.1", "libc.so.6")
_THREAD_LOCAL = re.compile(r"^@.* thread_local(?:\(\w+\))? ", re.MULTILINE)
_OPTIONAL = frozenset({"rust_eh_personality"})


@lru_cache(maxsize=1)
def _load_runtime() -> None:
    for name in _RUNTIME_LIBRARIES:
        try:
            llvm.load_library_permanently(name)
        except RuntimeError:
            # Another platform: its names are found through the process instead.
            continue


@lru_cache(maxsize=64)
def load_library(path: str) -> None:
    """Make a shared library's symbols visible to compiled code. Raises ``BackendError``."""
    try:
        llvm.load_library_permanently(path)
    except RuntimeError as error:
        raise BackendError(f"cannot load '{path}': {error}") from error


class Jit:
    """One module as running code; a context manager.

    ``source`` is IR text (or a module of ``passes.parse``, which is then consumed). ``exports`` are the
    functions wanted; by default all that are visible outside the module. With ``opt_level`` the module is
    optimised first; ``None`` takes it as it is. Raises ``UnresolvedSymbols`` and ``BackendError``.
    """

    def __init__(
        self,
        source: Any,
        *,
        exports: Iterable[str] | None = None,
        cpu: str = "native",
        opt_level: int | None = None,
        libraries: Sequence[str] = (),
    ) -> None:
        initialize()
        _load_runtime()
        for path in libraries:
            load_library(path)
        module = passes.parse(source) if isinstance(source, str) else source
        names = _visible(module) if exports is None else list(exports)
        _export(module, names)
        passes.drop_unused(module)
        if opt_level is not None:
            passes.after_ad(module, cpu=cpu, opt_level=opt_level)
        self._callables: dict[str, Any] = {}
        self._compiler = llvm.create_lljit_compiler(
            target_machine(cpu, 3 if opt_level is None else opt_level, jit=True)
        )
        self._library = self._link(module, names)
        # The code has to go before its compiler does; the garbage collector knows no such order.
        self._release = weakref.finalize(self, _release, self._library, self._compiler)

    def _link(self, module: Any, names: list[str]) -> Any:
        text = str(module)
        if _THREAD_LOCAL.search(text):
            # LLVM would end the process.
            raise BackendError("code with thread-local variables cannot be run inside this process")
        undefined = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
        undefined += [g.name for g in module.global_variables if g.is_declaration]
        builder = llvm.JITLibraryBuilder()
        provided = allocator.definitions(undefined)
        if provided is not None:
            builder.add_ir(provided)
        missing: list[str] = []
        for name in undefined:
            if provided is not None and allocator.role_of(name) is not None:
                continue
            address = llvm.address_of_symbol(name)
            if address:
                builder.import_symbol(name, address)
            elif name in _OPTIONAL:
                builder.import_symbol(name, llvm.address_of_symbol("abort"))
            else:
                missing.append(name)
        if missing:
            raise UnresolvedSymbols(tuple(sorted(missing)))
        builder.add_ir(text).add_current_process()
        for name in names:
            builder.export_symbol(name)
        try:
            return builder.link(self._compiler, "ferrodiff")
        except RuntimeError as error:
            raise BackendError(f"the code could not be made runnable: {error}") from error

    def address(self, name: str) -> int:
        """The address of an exported function; ``KeyError`` if it is not exported."""
        return int(self._library[name])

    def function(self, name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
        """An exported function as a ctypes callable: ``function('f', c_double, c_double)``.

        It keeps the code it calls alive until ``close``.
        """
        callable_ = ctypes.CFUNCTYPE(result, *parameters)(self.address(name))
        callable_.owner = self  # type: ignore[attr-defined]
        return callable_

    def close(self) -> None:
        """Free the code; its functions must not be called any more."""
        self._library = None
        self._release()

    def __enter__(self) -> Jit:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _release(library: Any, compiler: Any) -> None:
    library.close()
    compiler.close()


def _visible(module: Any) -> list[str]:
    hidden = (llvm.Linkage.internal, llvm.Linkage.private)
    return [f.name for f in module.functions if not f.is_declaration and f.linkage not in hidden]


def _export(module: Any, names: Iterable[str]) -> None:
    """Make these functions visible outside their module, and nothing else."""
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and not value.name.startswith("llvm."):
            value.visibility = llvm.Visibility.default
            value.linkage = llvm.Linkage.internal
    for name in names:
        try:
            function = module.get_function(name)
        except NameError as error:
            raise BackendError(f"the module has no function '{name}'") from error
        if function.is_declaration:
            raise BackendError(f"'{name}' has no body")
        function.linkage = llvm.Linkage.external
