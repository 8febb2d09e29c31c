"""What a build is asked for."""

from __future__ import annotations

from dataclasses import dataclass

EMITS: dict[str, str] = {
    "exe": "",
    "obj": ".o",
    "staticlib": ".a",
    "cdylib": ".so",
    "llvm-ir": ".ll",
    "asm": ".s",
}
EDITIONS = ("2015", "2018", "2021", "2024")
DEFAULT_EDITION = "2021"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Settings that change the code.

    `edition` None means: by `Cargo.toml`, else 2021, else what rustc asks for.

    `panic` is `auto`, `abort` or `unwind`; `auto` aborts unless the program catches panics.
    """

    emit: str = "exe"
    edition: str | None = None
    opt_level: int = 3
    cpu: str = "generic"
    toolchain: str | None = None
    linker: str | None = None
    shadow_checks: bool = True
    panic: str = "auto"
    crate_name: str | None = None
    cfgs: tuple[str, ...] = ()
    keep_unused: bool = False
    """Functions that nothing calls stay in the program; always so where the output is no linked program."""

    def key(self) -> str:
        """Text that differs whenever the generated code may."""
        return repr(self)
