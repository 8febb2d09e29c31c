"""Target machines: which processor code is made for."""

from __future__ import annotations

import subprocess
import sys
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


def is_processor(cpu: str) -> bool:
    """Whether LLVM has the processor for this machine's target.

    LLVM only prints a warning for one that it does not know, and may end the process later; so another process
    is asked.
    """
    if cpu in ("generic", "native"):
        return True
    command = [sys.executable, "-c", _ASK, cpu]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.returncode == 0 and "not a recognized processor" not in done.stderr


_ASK = """
import sys, llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
target = llvm.Target.from_triple(llvm.get_process_triple())
target.create_target_machine(cpu=sys.argv[1]).emit_object(llvm.parse_assembly("define void @f() { ret void }"))
"""


def resolved_name(cpu: str) -> str:
    """The processor that code is made for, for people: `native` with the name of this machine's."""
    return f"native ({cpu_and_features(cpu)[0]})" if cpu == "native" else cpu


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
