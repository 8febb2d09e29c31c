"""Finding rustc and the linker, and saying what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ferrodiff.server import toolchain
from ferrodiff.server.errors import Failure
from ferrodiff.server.toolchain import Toolchain, check_llvm, find_linker, find_toolchain


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FERRODIFF_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fake_rustc(folder: Path, release: str = "1.95.0", llvm: str | None = "22.1.2", code: int = 0) -> Path:
    lines = [f"rustc {release}", f"release: {release}", "host: x86_64-unknown-linux-gnu", "commit-hash: abc"]
    lines += [f"LLVM version: {llvm}"] if llvm else []
    script = folder / "bin" / "rustc"
    script.parent.mkdir(parents=True, exist_ok=True)
    body = "\n".join(lines)
    script.write_text(
        f"#!/bin/sh\necho asked >> {folder}/log\n"
        f"case $1 in --print) echo {folder};; *) cat <<'X'\n{body}\nX\n;; esac\nexit {code}\n"
    )
    script.chmod(0o755)
    return script


def test_a_rustc_by_path_or_folder(tmp_path: Path) -> None:
    script = fake_rustc(tmp_path / "tool")
    for choice in (script, script.parent.parent):
        found = find_toolchain(str(choice))
        assert (found.release, found.llvm, found.sysroot) == ("1.95.0", (22, 1, 2), str(tmp_path / "tool"))


def test_the_answer_is_remembered_until_the_compiler_changes(tmp_path: Path) -> None:
    script = fake_rustc(tmp_path / "tool")
    find_toolchain(str(script))
    find_toolchain(str(script))
    assert (tmp_path / "tool" / "log").read_text().count("asked") == 2  # -vV and --print sysroot, once
    fake_rustc(tmp_path / "tool", release="1.100.0")
    assert find_toolchain(str(script)).release == "1.100.0"


def test_a_damaged_memory_is_asked_again(tmp_path: Path, private_cache: Path) -> None:
    script = fake_rustc(tmp_path / "tool")
    find_toolchain(str(script))
    for file in (private_cache / "toolchains").iterdir():
        file.write_text(json.dumps({"rustc": 1}))
    assert find_toolchain(str(script)).release == "1.95.0"


def test_no_rustc_is_one_clear_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    monkeypatch.delenv("RUSTC", raising=False)
    with pytest.raises(Failure, match="`rustc` was not found") as caught:
        find_toolchain()
    assert "rustup" in (caught.value.help or "")


def test_no_linker_is_one_clear_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(Failure, match="no C compiler"):
        find_linker()


def test_unknown_toolchain_lists_the_installed_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "toolchains" / "stable-x").mkdir(parents=True)
    monkeypatch.setenv("RUSTUP_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Failure, match="no toolchain `nonsense`") as caught:
        find_toolchain("nonsense")
    assert "stable-x" in (caught.value.help or "")


@pytest.mark.parametrize(
    ("release", "llvm", "code", "words"),
    [
        ("1.60.0", "14.0.0", 0, "too old"),
        ("1.95.0", None, 0, "does not say which LLVM"),
        ("1.95.0", "22.1.2", 3, "failed"),
    ],
)
def test_unusable_compilers(tmp_path: Path, release: str, llvm: str | None, code: int, words: str) -> None:
    with pytest.raises(Failure, match=words):
        find_toolchain(str(fake_rustc(tmp_path / "tool", release, llvm, code)))


def test_a_newer_llvm_names_both_versions() -> None:
    newer = Toolchain("rustc", "1.120.0", (24, 0, 1), "", "", "")
    with pytest.raises(Failure) as caught:
        check_llvm(newer, (22, 1, 0))
    assert "LLVM 24.0.1" in caught.value.message and "22.1.0" in caught.value.message
    assert "--toolchain" in (caught.value.help or "")
    check_llvm(newer, (24, 0, 0))
    check_llvm(Toolchain("rustc", "1.90.0", (20, 1, 0), "", "", ""), (22, 1, 0))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("22.1.2", (22, 1, 2)),
        ("1.97.0-nightly", (1, 97, 0)),
        ("20.1", (20, 1, 0)),
        ("19.1.7-rust-dev", (19, 1, 7)),
    ],
)
def test_version_numbers(text: str, number: tuple[int, int, int]) -> None:
    assert toolchain._number(text) == number
