"""The house's rules: which part may import which, and what an installation contains."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("analysis", "adcore", "server")
ALLOWED = {"analysis": {"analysis"}, "adcore": {"adcore"}, "server": {"server", "analysis", "adcore"}}
HEAVY = ("llvmlite", "numpy", "lsprotocol", "pygls", "rich", "asyncio", "lark")


def sources(part: str) -> list[Path]:
    return sorted((ROOT / part / "ferrodiff" / part).rglob("*.py"))


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("part", PARTS)
def test_imports_run_one_way(part: str) -> None:
    for file in sources(part):
        for name in imported(file):
            words = name.split(".")
            if words[0] == "ferrodiff" and len(words) > 1:
                assert words[1] in ALLOWED[part], f"{file.relative_to(ROOT)} imports {name}"


def test_only_the_backend_binds_llvm() -> None:
    backend = ROOT / "adcore" / "ferrodiff" / "adcore" / "backend"
    for part in PARTS:
        for file in sources(part):
            if backend in file.parents:
                continue
            for name in imported(file):
                allowed = file.name == "doctor.py" and part == "server"
                assert allowed or not name.startswith("llvmlite"), f"{file.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("name", PARTS)
def test_no_part_is_importable_at_top_level(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "ModuleNotFoundError" in done.stderr


def test_the_namespace_has_no_init() -> None:
    for part in PARTS:
        assert not (ROOT / part / "ferrodiff" / "__init__.py").exists()
        assert (ROOT / part / "ferrodiff" / part / "py.typed").exists()


@pytest.mark.parametrize("command", ["ferrodiff.server.commands.check", "ferrodiff.server.commands.expand"])
def test_checking_loads_nothing_heavy(command: str) -> None:
    code = f"import sys, {command}; print([m for m in {HEAVY!r} if m in sys.modules and m != 'lark'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_wheel_holds_the_whole_tree(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    wheel = next(iter(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])))
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("ferrodiff/")}
    tree = {
        str(file.relative_to(ROOT / part))
        for part in PARTS
        for file in (ROOT / part / "ferrodiff").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert shipped == tree
