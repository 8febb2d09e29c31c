"""Diagnostics about annotations: what they are (`core`) and the checks that find them."""

from ferrodiff.analysis.diagnostics.core import Diagnostic, Edit, Fix, Related, Severity

__all__ = ["Diagnostic", "Edit", "Fix", "Related", "Severity"]
