"""The linker's recorded command line, and archives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ferrodiff.server.archive import Member, elf_symbols, read_archive, replace_members, write_archive
from ferrodiff.server.errors import Failure
from ferrodiff.server.link import link, link_arguments


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


NAMES = ["short.o", "a_member_with_a_name_longer_than_fifteen_bytes.o", "odd.o"]


@pytest.mark.skipif(shutil.which("ar") is None, reason="needs ar")
def test_archives_of_the_systems_archiver_are_read(tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        (tmp_path / name).write_bytes(b"BC\xc0\xde" + b"x" * number)
    subprocess.run(["ar", "rc", "lib.a", *NAMES], cwd=tmp_path, check=True)
    members = read_archive(tmp_path / "lib.a")
    assert [(m.name, len(m.data)) for m in members] == [(NAMES[0], 4), (NAMES[1], 5), (NAMES[2], 6)]


def test_written_archives_keep_their_index(tmp_path: Path) -> None:
    path = tmp_path / "lib.a"
    members = [Member(name, b"x" * number, [f"f{number}".encode()]) for number, name in enumerate(NAMES)]
    write_archive(path, members)
    assert read_archive(path) == members
    replace_members(path, NAMES[:2], {"new.o": b"native"})
    assert [(m.name, m.symbols) for m in read_archive(path)] == [("new.o", []), (NAMES[2], [b"f2"])]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs cc")
def test_symbols_of_an_object_file(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        "int shown; static int hidden(void) { return shown; } int f(void) { return hidden(); }"
    )
    subprocess.run(["cc", "-c", "-fno-common", "a.c"], cwd=tmp_path, check=True)
    assert sorted(elf_symbols((tmp_path / "a.o").read_bytes())) == [b"f", b"shown"]
    assert elf_symbols(b"nothing") == []


def test_not_an_archive(tmp_path: Path) -> None:
    (tmp_path / "x.a").write_bytes(b"nothing")
    with pytest.raises(Failure, match="is not an archive"):
        read_archive(tmp_path / "x.a")
