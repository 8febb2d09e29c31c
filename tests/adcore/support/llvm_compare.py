"""Comparing modules up to the names of local values."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from ferrodiff.adcore.backend.passes import parse
from ferrodiff.adcore.backend.target import target_machine


def without_names(text: str) -> str:
    """Canonical text with local names and debug info stripped, so that equal code is equal text."""
    module: Any = parse(text)
    builder = llvm.create_pass_builder(
        target_machine("generic", 0), llvm.create_pipeline_tuning_options(speed_level=0)
    )
    passes = llvm.create_new_module_pass_manager()
    passes.add_strip_symbols_pass()
    passes.run(module, builder)
    return str(module)
