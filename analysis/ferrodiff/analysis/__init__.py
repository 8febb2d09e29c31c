"""Ferrodiff: analysis."""
