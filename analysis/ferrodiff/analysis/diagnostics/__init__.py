"""Diagnostics about annotations: what they are (`core`) and the checks that find them (`registry`).

`FileAnalysis.diagnostics` is the way to get them. The checks are loaded when first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Related, Rule, Severity


def codes() -> dict[str, Rule]:
    """Every rule by its code, in order."""
    from ferrodiff.analysis.diagnostics.registry import RULES

    return {rule.code: rule for rule in RULES}


def with_severities(
    diagnostics: Iterable[Diagnostic], severities: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """The diagnostics with the severities that a user chose by code or name; those set to ``off`` are gone.

    Raises `ferrodiff.analysis.configuration.ConfigurationError` for unknown codes and severities.
    """
    from ferrodiff.analysis.configuration import Configuration

    return tuple(Configuration(severities).apply(diagnostics))


__all__ = ["Diagnostic", "Edit", "Fix", "Related", "Rule", "Severity", "codes", "with_severities"]
