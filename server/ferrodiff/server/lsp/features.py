"""The list of features. Each module registers its own handlers; order does not matter."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

MODULES = (
    "lifecycle",
    "diagnostics",
    "hover",
    "actions",
    "completion",
    "signature_help",
    "hints",
    "lenses",
    "tokens",
    "navigation",
    "rename",
    "symbols",
    "structure",
    "hierarchy",
    "virtual",
    "execute",
)


def register_all(server: FerrodiffServer) -> None:
    """Imports every feature and lets it register."""
    for name in MODULES:
        import_module(f"ferrodiff.server.lsp.{name}").register(server)
