"""Ferrodiff: server."""
