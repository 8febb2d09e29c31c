"""Ferrodiff: adcore."""
