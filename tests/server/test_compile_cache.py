"""The build cache: content keys, damage, concurrency, limits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ferrodiff.server import cache
from ferrodiff.server.cache import Cache, key_of


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program"
    file.write_bytes(b"\x7fELF and so on")
    file.chmod(0o755)
    return file


def test_keys_depend_on_every_part_and_on_its_name() -> None:
    keys = {
        key_of({"a": "x", "b": "y"}),
        key_of({"a": "xb", "": "y"}),
        key_of({"a": "y", "b": "x"}),
        key_of({}),
    }
    assert len(keys) == 4


def test_what_was_stored_is_found(tmp_path: Path, program: Path) -> None:
    store = Cache(tmp_path / "cache")
    assert store.find("k") is None
    store.store("k", {"program": program}, {"line": 3})
    entry = store.find("k")
    assert entry is not None and entry.notes == {"line": 3}
    assert (entry.folder / "program").read_bytes() == program.read_bytes()
    assert (entry.folder / "program").stat().st_mode & 0o100


@pytest.mark.parametrize(
    "damage", ["flip", "truncate", "remove", "manifest", "no manifest", "not json object"]
)
def test_damaged_entries_are_dropped(tmp_path: Path, program: Path, damage: str) -> None:
    store = Cache(tmp_path / "cache")
    store.store("k", {"program": program}, {})
    kept, manifest = store.root / "k" / "program", store.root / "k" / cache.MANIFEST
    actions: dict[str, Callable[[], object]] = {
        "flip": lambda: kept.write_bytes(b"\x7fELF and so oN"),
        "truncate": lambda: kept.write_bytes(b""),
        "remove": kept.unlink,
        "manifest": lambda: manifest.write_bytes(b"\xff{"),
        "no manifest": manifest.unlink,
        "not json object": lambda: manifest.write_text("[1]"),
    }
    actions[damage]()
    assert store.find("k") is None
    store.store("k", {"program": program}, {})
    assert store.find("k") is not None


def test_concurrent_writers_of_one_key(tmp_path: Path, program: Path) -> None:
    store = Cache(tmp_path / "cache")
    threads = [threading.Thread(target=store.store, args=("k", {"program": program}, {})) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.find("k") is not None
    assert [path.name for path in store.root.iterdir()] == ["k"]


def test_an_unwritable_folder_is_no_error(tmp_path: Path, program: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    store = Cache(blocked / "cache")
    assert store.store("k", {"program": program}, {}) is None
    assert store.find("k") is None


def test_old_entries_are_pruned(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAXIMUM_ENTRIES", 3)
    store = Cache(tmp_path / "cache")
    for number in range(6):
        store.store(f"k{number}", {"program": program}, {})
    assert len(list(store.root.iterdir())) == 3
    assert store.find("k5") is not None
