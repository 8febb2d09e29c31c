"""The protocol's types by name; `wire` makes them.

Type checkers see the whole specification, in the spelling of `lsprotocol`, which is no dependency of
the installed server: making its six hundred classes takes longer than everything else at start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsprotocol.types import *  # noqa: F403
else:
    from ferrodiff.server.lsp import wire

    def __getattr__(name: str) -> object:
        return wire.lookup(name)
