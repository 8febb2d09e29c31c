"""Severities that a user chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ferrodiff.analysis.diagnostics.core import Diagnostic, Severity
from ferrodiff.analysis.diagnostics.registry import BY_CODE

OFF = "off"
_WORDS = {severity.value: severity for severity in Severity} | {"info": Severity.INFORMATION}


class ConfigurationError(ValueError):
    """An unknown code or severity; the message names it."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """`severities` maps codes (``FD021``) or names (``activity-without-floats``) to a severity or ``off``."""

    severities: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises `ConfigurationError` for unknown codes and severities."""
        names = {rule.name for rule in BY_CODE.values()}
        for code, word in self.severities.items():
            if code not in BY_CODE and code not in names:
                raise ConfigurationError(f"unknown diagnostic `{code}`")
            if word != OFF and word not in _WORDS:
                raise ConfigurationError(
                    f"unknown severity `{word}` for {code}: use {', '.join(_WORDS)} or off"
                )

    def apply(self, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        for diagnostic in diagnostics:
            word = self.severities.get(diagnostic.code)
            if word is None:
                word = self.severities.get(BY_CODE[diagnostic.code].name)
            if word is None:
                yield diagnostic
            elif word != OFF:
                yield replace(diagnostic, severity=_WORDS[word])
