"""What the `Cargo.toml` above a file says about how the file is compiled."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ferrodiff.server.paths import STANDARD_INPUT


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts of a package that concern the compilation of one of its crates."""

    path: Path | None = None
    """None where no `Cargo.toml` is above the file, or none that can be read."""
    edition: str | None = None
    features: tuple[str, ...] = ()
    """Those that are on by default."""
    dependencies: frozenset[str] = frozenset()
    """The names under which the package's code knows them."""
    name: str = ""
    version: str = ""

    @property
    def cfgs(self) -> tuple[str, ...]:
        """The `--cfg` that cargo gives."""
        return tuple(f'feature="{feature}"' for feature in self.features)

    def environment(self) -> dict[str, str]:
        """What `env!` finds in a build by cargo."""
        if self.path is None:
            return {}
        return {
            "CARGO_MANIFEST_DIR": str(self.path.parent),
            "CARGO_PKG_NAME": self.name,
            "CARGO_PKG_VERSION": self.version,
        }


def manifest_of(path: str) -> Manifest:
    """The package that a file belongs to: that of the nearest `Cargo.toml` above it."""
    if path == STANDARD_INPUT:
        return Manifest()
    for folder in Path(path).resolve().parents:
        file = folder / "Cargo.toml"
        if file.is_file():
            data = _read(file)
            return Manifest() if data is None else _manifest(file, data)
    return Manifest()


def _read(file: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _manifest(file: Path, data: dict[str, Any]) -> Manifest:
    package = _table(data, "package")
    dependencies = {name for kind in ("dependencies", "dev-dependencies") for name in _table(data, kind)}
    return Manifest(
        path=file,
        edition=_inherited(file, package, "edition")
        or ("2015" if "edition" not in package and package else None),
        features=tuple(sorted(_default_features(_table(data, "features")))),
        dependencies=frozenset(name.replace("-", "_") for name in dependencies),
        name=str(package.get("name", "")),
        version=_inherited(file, package, "version") or "",
    )


def _table(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _inherited(file: Path, package: Mapping[str, Any], key: str) -> str | None:
    """A key of the package, or of the workspace that it is inherited from."""
    value = package.get(key)
    if isinstance(value, dict) and value.get("workspace") is True:
        for folder in file.parents:
            data = _read(folder / "Cargo.toml") if (folder / "Cargo.toml").is_file() else None
            if data is not None and "workspace" in data:
                value = _table(_table(data, "workspace"), "package").get(key)
                break
    return value if isinstance(value, str) else None


def _default_features(features: Mapping[str, Any]) -> set[str]:
    """The features that `default` turns on, itself among them."""
    found: set[str] = set()
    waiting = ["default"] if "default" in features else []
    while waiting:
        name = waiting.pop()
        if name in features and name not in found:
            found.add(name)
            waiting += _names(features[name])
    return found


def _names(value: object) -> Iterable[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
