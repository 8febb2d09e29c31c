"""The two pass pipelines around differentiation.

Both are LLVM's own default pipelines. Before differentiation the vectorisers and the unroller are off: a
vectorised or unrolled loop is harder to reverse and gains nothing yet.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from ferrodiff.adcore.backend.target import target_machine
from ferrodiff.adcore.errors import BackendError

_RETIRED: list[Any] = []


def _own_context(read: Callable[..., Any], data: str | bytes) -> Any:
    """A module in a context of its own, which outlives it.

    Contexts keep types' names and metadata of one module from another's. Python's garbage collector
    finalises a module and its context in any order, and LLVM crashes in the wrong one; so a context is held
    from outside until its module is gone, and let go at the next call.
    """
    _RETIRED.clear()
    context = llvm.create_context()
    module = read(data, context)
    weakref.finalize(module, _RETIRED.append, context).atexit = False
    return module


def parse(text: str) -> Any:
    """A verified LLVM module. Raises ``BackendError`` with LLVM's words."""
    try:
        module = _own_context(llvm.parse_assembly, text)
        module.verify()
    except RuntimeError as error:
        raise BackendError(f"LLVM refused the generated IR: {error}") from error
    return module


def before_ad(module: Any) -> None:
    """Optimise a module in place, ready for differentiation.

    Everything of ``-O3`` but vectorising, interleaving and unrolling; then loops are in simplified form and
    in loop-closed SSA form.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    options.loop_unrolling = False
    machine = target_machine("generic", 3)
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.run(module, builder)


def after_ad(module: Any, *, cpu: str = "generic", opt_level: int = 3) -> None:
    """Optimise a differentiated module in place with the whole pipeline of an optimisation level."""
    level = max(0, min(opt_level, 3))
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = level >= 2
    options.slp_vectorization = level >= 2
    options.loop_interleaving = level >= 2
    options.loop_unrolling = level >= 1
    machine = target_machine(cpu, level)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def drop_unused(module: Any) -> None:
    """Delete internal functions and globals that nothing uses."""
    builder = llvm.create_pass_builder(
        target_machine("generic", 0), llvm.create_pipeline_tuning_options(speed_level=0)
    )
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def text_before_ad(text: str) -> str:
    """:func:`before_ad` from canonical text to canonical text."""
    module = parse(text)
    before_ad(module)
    return str(module)


def text_after_ad(text: str, *, cpu: str = "generic", opt_level: int = 3) -> str:
    """:func:`after_ad` from text to canonical text."""
    module = parse(text)
    after_ad(module, cpu=cpu, opt_level=opt_level)
    return str(module)


def canonical(data: str | bytes) -> str:
    """LLVM IR, as text or bitcode, in the one spelling that ``ferrodiff.adcore.ir`` reads.

    Raises ``BackendError`` when LLVM cannot read it.
    """
    if isinstance(data, str):
        return str(parse(data))
    try:
        return str(_own_context(llvm.parse_bitcode, data))
    except RuntimeError as error:
        raise BackendError(f"LLVM cannot read the bitcode: {error}") from error
