"""The linker's recorded command line, and archives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ferrodiff.server.errors import Failure
from ferrodiff.server.link import archive_members, link, link_arguments, replace_members


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kept = tmp_path / "link"
    kept.mkdir()
    for name in ("a.rcgu.o", "shim.rcgu.o", "symbols.o", "list"):
        (kept / name).write_bytes(b"x")
    return kept


def test_bitcode_is_replaced_once_and_temporary_files_by_their_copies(folder: Path) -> None:
    recorded = [
        "-m64",
        "/tmp/rustcAB12cd/symbols.o",
        "out/a.rcgu.o",
        "out/shim.rcgu.o",
        "-Wl,--version-script=/tmp/rustcAB12cd/list",
        "-Wl,-plugin-opt=O3",
        "libstd.rlib",
        "-o",
        "out/prog",
        "-pie",
    ]
    bitcode = [folder / "a.rcgu.o", folder / "shim.rcgu.o"]
    objects = [Path("/w/prog.o"), Path("/w/shim.o")]
    assert link_arguments(recorded, folder, bitcode, objects, Path("/w/linked")) == [
        "-m64",
        str(folder / "symbols.o"),
        "/w/prog.o",
        "/w/shim.o",
        f"-Wl,--version-script={folder / 'list'}",
        "libstd.rlib",
        "-o",
        "/w/linked",
        "-pie",
    ]


def test_response_files_are_spelled_out(folder: Path) -> None:
    (folder / "linker-arguments").write_text('"out/a.rcgu.o"\nlibstd.rlib\n-o\nprog\n')
    result = link_arguments(
        ["@/tmp/rustcAB12cd/linker-arguments"],
        folder,
        [folder / "a.rcgu.o"],
        [Path("/w/prog.o")],
        Path("/w/linked"),
    )
    assert result == ["/w/prog.o", "libstd.rlib", "-o", "/w/linked"]


def test_a_failing_linker_is_one_message(tmp_path: Path) -> None:
    script = tmp_path / "cc"
    script.write_text("#!/bin/sh\necho 'ld: error: undefined symbol: f' >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(Failure, match="undefined symbol: f") as caught:
        link(str(script), ["-pie"])
    assert caught.value.exit_code == 1 and caught.value.details


@pytest.mark.skipif(shutil.which("ar") is None, reason="needs ar")
def test_archive_members_and_their_replacement(tmp_path: Path) -> None:
    names = ["short.o", "a_member_with_a_name_longer_than_fifteen_bytes.o", "odd.o"]
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes(b"BC\xc0\xde" + b"x" * number)
    archive = tmp_path / "lib.a"
    subprocess.run(["ar", "rc", archive, *names], cwd=tmp_path, check=True)
    assert {name: len(data) for name, data in archive_members(archive)} == {
        names[0]: 4,
        names[1]: 5,
        names[2]: 6,
    }
    added = tmp_path / "new.o"
    added.write_bytes(b"native")
    replace_members(archive, names[:2], [added])
    assert {name for name, _ in archive_members(archive)} == {"odd.o", "new.o"}


def test_not_an_archive(tmp_path: Path) -> None:
    (tmp_path / "x.a").write_bytes(b"nothing")
    with pytest.raises(Failure, match="is not an archive"):
        list(archive_members(tmp_path / "x.a"))
