"""Target machines: which processor code is made for."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from ferrodiff.adcore.errors import BackendError


@lru_cache(maxsize=1)
def initialize() -> None:
    """Set LLVM up for this machine's target, once per process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # Inline assembly in the user's code is parsed when machine code is made.
    llvm.initialize_native_asmparser()


def cpu_and_features(cpu: str) -> tuple[str, str]:
    """LLVM's names for ``generic``, ``native`` or a processor's name.

    For ``native`` the features are those found, because a virtual machine may lack some of its
    processor's.
    """
    if cpu == "native":
        initialize()
        return str(llvm.get_host_cpu_name()), str(llvm.get_host_cpu_features().flatten())
    return ("" if cpu == "generic" else cpu), ""


def target_machine(
    cpu: str = "generic", opt_level: int = 3, *, triple: str | None = None, jit: bool = False
) -> Any:
    """A target machine for position-independent code; ``BackendError`` for a target LLVM does not have."""
    initialize()
    try:
        target = llvm.Target.from_triple(triple or llvm.get_process_triple())
    except RuntimeError as error:
        raise BackendError(f"no code can be made for '{triple}': {error}") from error
    name, features = cpu_and_features(cpu)
    return target.create_target_machine(
        cpu=name,
        features=features,
        opt=min(opt_level, 3),
        reloc="default" if jit else "pic",
        codemodel="jitdefault" if jit else "default",
        jit=jit,
    )
