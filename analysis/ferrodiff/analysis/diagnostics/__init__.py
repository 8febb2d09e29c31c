"""Diagnostics about annotations: what they are (`core`) and the checks that find them (`registry`).

`FileAnalysis.diagnostics` is the way to get them. The checks are loaded when first asked for.
"""

from __future__ import annotations

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Related, Rule, Severity


def codes() -> dict[str, Rule]:
    """Every rule by its code, in order."""
    from ferrodiff.analysis.diagnostics.registry import RULES

    return {rule.code: rule for rule in RULES}


__all__ = ["Diagnostic", "Edit", "Fix", "Related", "Rule", "Severity", "codes"]
