"""Names that this server and its clients share."""

from __future__ import annotations

SOURCE = "ferrodiff"
FIX_ALL = "source.fixAll.ferrodiff"
SCHEME = "ferrodiff"
"""Of virtual documents."""
CONTENT = "ferrodiff/content"

RUN = "ferrodiff.run"
CHECK = "ferrodiff.checkGradient"
SHOW_IR = "ferrodiff.showIr"
SHOW_ASM = "ferrodiff.showAsm"
SHOW_TAPE = "ferrodiff.showTape"
SHOW_EXPANSION = "ferrodiff.showExpansion"
SHOW_SOURCE = "ferrodiff.showRewritten"
SERVER_INFO = "ferrodiff.serverInfo"
COMMANDS = (RUN, CHECK, SHOW_IR, SHOW_ASM, SHOW_TAPE, SHOW_EXPANSION, SHOW_SOURCE, SERVER_INFO)

TOKEN_TYPES = ("macro", "function", "number", "enumMember")
TOKEN_MODIFIERS = ("declaration",)
