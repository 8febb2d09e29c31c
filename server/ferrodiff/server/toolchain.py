"""Finds rustc and the C linker driver, and says in one sentence what is missing.

The answer of `rustc -vV` is remembered in the cache folder under everything it depends on, because
asking rustc again costs more than a cached run may take.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from ferrodiff.server.errors import Failure
from ferrodiff.server.paths import cache_folder

MINIMUM_RUSTC = (1, 82)
INSTALL_RUST = "install Rust with rustup (https://rustup.rs), or point `--toolchain` at a rustc"
INSTALL_CC = "install a C compiler, for example with `apt install gcc` or `dnf install gcc`"
_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One rustc. `llvm` is its LLVM's version; `identity` changes whenever the compiler does."""

    rustc: str
    release: str
    llvm: tuple[int, int, int]
    host: str
    commit: str
    sysroot: str

    @property
    def identity(self) -> str:
        return f"{self.release} {self.commit} {self.host} {self.rustc}"

    @property
    def llvm_text(self) -> str:
        return ".".join(str(part) for part in self.llvm)


def find_toolchain(choice: str | None = None) -> Toolchain:
    """The rustc to use.

    `choice` is a rustup toolchain's name, a toolchain folder or a rustc executable; without it
    the `RUSTC` variable and then the search path decide.
    Raises `Failure` naming what to install when there is none, or when it is too old.
    """
    command = _command(choice)
    key = _memo_key(command)
    known = _recall(key)
    if known is not None:
        return known
    found = _ask(command)
    if _number(found.release)[:2] < MINIMUM_RUSTC:
        wanted = ".".join(map(str, MINIMUM_RUSTC))
        raise Failure(
            f"rustc {found.release} is too old: Ferrodiff needs rustc {wanted} or newer",
            help="`rustup update stable` updates it; `--toolchain` chooses another one",
        )
    _remember(key, found)
    return found


def find_linker(choice: str | None = None) -> str:
    """The C compiler that links programs; raises `Failure` when there is none, or not the one asked for."""
    if choice and shutil.which(choice) is None:
        raise Failure(
            f"no C compiler `{choice}` to link with was found", help="without `--linker` it is `cc`"
        )
    for name in (choice, os.environ.get("CC"), "cc", "gcc", "clang"):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise Failure("no C compiler (`cc`) to link programs with was found", help=INSTALL_CC)


def check_llvm(toolchain: Toolchain, ours: tuple[int, ...]) -> None:
    """Raises `Failure` when rustc's LLVM is newer than `ours`: its bitcode would be unreadable."""
    if toolchain.llvm[0] > ours[0]:
        mine = ".".join(map(str, ours))
        raise Failure(
            f"rustc {toolchain.release} uses LLVM {toolchain.llvm_text}, "
            f"newer than the LLVM {mine} of llvmlite",
            help=f"choose a rustc whose LLVM is at most {ours[0]} with `--toolchain`, or update llvmlite",
        )


def _command(choice: str | None) -> list[str]:
    if choice:
        return _chosen(choice)
    name = os.environ.get("RUSTC") or "rustc"
    path = shutil.which(name)
    if path is None:
        usual = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "bin" / "rustc"
        if name == "rustc" and os.access(usual, os.X_OK):
            return [str(usual)]
        raise Failure(
            f"`{name}` was not found; compiling and running derivatives needs it", help=INSTALL_RUST
        )
    return [path]


def _chosen(choice: str) -> list[str]:
    path = Path(choice).expanduser()
    if path.is_dir() and os.access(path / "bin" / "rustc", os.X_OK):
        return [str(path / "bin" / "rustc")]
    if path.is_file() and os.access(path, os.X_OK):
        return [str(path.resolve())]
    rustup = shutil.which("rustup")
    if rustup:
        asked = _run([rustup, "which", "--toolchain", choice.lstrip("+"), "rustc"])
        if asked.returncode == 0 and asked.stdout.strip():
            return [asked.stdout.strip()]
    installed = _rustup_toolchains()
    known = f"installed: {', '.join(installed)}" if installed else INSTALL_RUST
    raise Failure(
        f"no toolchain `{choice}`: neither a rustc, a toolchain folder nor a rustup toolchain", help=known
    )


def _rustup_toolchains() -> list[str]:
    folder = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup") / "toolchains"
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"`{command[0]}` cannot be run: {error}", help=INSTALL_RUST) from error


def _ask(command: list[str]) -> Toolchain:
    asked = _run([*command, "-vV"])
    fields = dict(line.split(": ", 1) for line in asked.stdout.splitlines() if ": " in line)
    if asked.returncode != 0 or "release" not in fields:
        raise Failure(
            f"`{command[0]} -vV` failed; compiling and running derivatives needs a working rustc",
            help=INSTALL_RUST,
            details=asked.stderr,
        )
    if "LLVM version" not in fields:
        raise Failure(
            f"`{command[0]}` does not say which LLVM it uses",
            help="Ferrodiff needs a rustc with the LLVM backend",
        )
    sysroot = _run([*command, "--print", "sysroot"]).stdout.strip()
    real = Path(sysroot) / "bin" / "rustc"
    return Toolchain(
        rustc=str(real) if os.access(real, os.X_OK) else command[0],
        release=fields["release"],
        llvm=_number(fields["LLVM version"]),
        host=fields.get("host", ""),
        commit=fields.get("commit-hash", ""),
        sysroot=sysroot,
    )


def _number(text: str) -> tuple[int, int, int]:
    parts = [int("".join(filter(str.isdigit, part)) or 0) for part in text.split("-")[0].split(".")[:3]]
    parts += [0] * (3 - len(parts))
    return parts[0], parts[1], parts[2]


def _memo_key(command: list[str]) -> str:
    """Everything that decides which compiler a `rustc` command, possibly rustup's proxy, starts."""
    here = Path.cwd()
    state = [command[0], str(here), os.environ.get("RUSTUP_TOOLCHAIN", ""), os.environ.get("PATH", "")]
    home = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    watched = [Path(command[0]), home / "settings.toml", home / "toolchains"]
    for folder in (here, *here.parents):
        watched += [folder / "rust-toolchain", folder / "rust-toolchain.toml"]
    for path in watched:
        try:
            status = path.stat()
        except OSError:
            continue
        state.append(f"{path}:{status.st_size}:{status.st_mtime_ns}")
    return hashlib.sha256("\n".join(state).encode()).hexdigest()[:32]


def _memo_file(key: str) -> Path:
    return cache_folder() / "toolchains" / f"{key}.json"


def _recall(key: str) -> Toolchain | None:
    try:
        fields = json.loads(_memo_file(key).read_text("utf-8"))
        fields["llvm"] = tuple(int(part) for part in fields["llvm"])
        found = Toolchain(**fields)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if os.access(found.rustc, os.X_OK) else None


def _remember(key: str, found: Toolchain) -> None:
    target = _memo_file(key)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(asdict(found)), "utf-8")
        draft.replace(target)
    except OSError:
        return
