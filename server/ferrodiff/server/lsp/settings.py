"""The user's settings: one table says what exists, what it means, and what is accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

SECTION = "ferrodiff"
_OF_CLIENTS = frozenset({"server", "trace", "interpreter"})
"""Settings of editor extensions that share the section."""
SEVERITIES = ("error", "warning", "information", "hint", "off")


@dataclass(frozen=True, slots=True)
class Settings:
    """Validated settings; ``diagnostics_debounce`` is written ``ferrodiff.diagnostics.debounce``."""

    diagnostics_enable: bool = True
    diagnostics_debounce: int = 200
    """Milliseconds between the last edit and pushed diagnostics."""
    diagnostics_severity: Mapping[str, str] = field(default_factory=dict)
    """Code (``FD021``) to one of `SEVERITIES`."""
    hints_parameters: bool = True
    hints_shadows: bool = True
    hints_results: bool = True
    lens_enable: bool = True
    index_enable: bool = True
    index_files: int = 5000
    run_enable: bool = True
    """Whether anything may be compiled or run; off in workspaces that are not trusted."""
    run_time_limit: float = 10.0
    """Seconds."""
    run_memory_limit: int = 2048
    """MiB."""
    run_toolchain: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A value that was not accepted, in words."""

    key: str
    message: str


def parse_settings(raw: Any) -> tuple[Settings, tuple[Problem, ...]]:
    """Settings from what a client sent (nested or dotted keys); bad values keep their default."""
    if raw is None:
        return Settings(), ()
    if not isinstance(raw, Mapping):
        return Settings(), (Problem(SECTION, f"`{SECTION}` must be an object, not {_kind(raw)}"),)
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in _flat(_inner(raw)):
        _accept(key, value, values, problems)
    return Settings(**values), tuple(problems)


def _inner(raw: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Some clients send the section's content, others an object with the section in it."""
    section = raw.get(SECTION)
    return section if isinstance(section, Mapping) and len(raw) == 1 else raw


def _flat(raw: Mapping[Any, Any], prefix: str = "") -> list[tuple[str, Any]]:
    result: list[tuple[str, Any]] = []
    for name, value in raw.items():
        key = f"{prefix}{name}".removeprefix(SECTION + ".")
        if isinstance(value, Mapping) and key not in _READERS and key.count(".") < 3:
            result += _flat(value, key + ".")
        else:
            result.append((key, value))
    return result


def _accept(key: str, value: Any, values: dict[str, Any], problems: list[Problem]) -> None:
    reader = _READERS.get(key)
    if key.partition(".")[0] in _OF_CLIENTS:
        return
    if reader is None:
        close = get_close_matches(key, _READERS, n=1)
        hint = f"; did you mean `{SECTION}.{close[0]}`?" if close else ""
        # What is no slip of a known key is somebody else's.
        if close:
            problems.append(Problem(key, f"there is no setting `{SECTION}.{key}`{hint}"))
        return
    if value is None:
        return
    try:
        values[_field(key)] = reader(value)
    except ValueError as error:
        problems.append(Problem(key, f"`{SECTION}.{key}` {error}"))


def _field(key: str) -> str:
    """``run.timeLimit`` is the field ``run_time_limit``."""
    return "".join(f"_{char.lower()}" if char.isupper() else "_" if char == "." else char for char in key)


def _kind(value: Any) -> str:
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "null" if value is None else type(value).__name__)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {_kind(value)}")
    return value


def _number(low: float, high: float, unit: str, whole: bool = True) -> Callable[[Any], Any]:
    def read(value: Any) -> float | int:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"must be a number of {unit}, not {_kind(value)}")
        if not low <= value <= high:
            raise ValueError(f"must be between {low:g} and {high:g} {unit}, not {value:g}")
        return int(value) if whole else float(value)

    return read


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, not {_kind(value)}")
    return value


def _severities(value: Any) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f'must be an object such as {{"FD021": "off"}}, not {_kind(value)}')
    for code, severity in value.items():
        if severity not in SEVERITIES:
            choice = ", ".join(SEVERITIES)
            raise ValueError(f"gives {code} the severity {severity!r}; it must be one of {choice}")
    return {str(code): str(severity) for code, severity in value.items()}


_READERS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "diagnostics.enable": _boolean,
        "diagnostics.debounce": _number(0, 10_000, "milliseconds"),
        "diagnostics.severity": _severities,
        "hints.parameters": _boolean,
        "hints.shadows": _boolean,
        "hints.results": _boolean,
        "lens.enable": _boolean,
        "index.enable": _boolean,
        "index.files": _number(0, 1_000_000, "files"),
        "run.enable": _boolean,
        "run.timeLimit": _number(0.1, 3600, "seconds", whole=False),
        "run.memoryLimit": _number(64, 1_048_576, "MiB"),
        "run.toolchain": _string,
    }
)

assert {_field(key) for key in _READERS} == {item.name for item in fields(Settings)}
