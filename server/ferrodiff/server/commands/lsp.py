"""`ferrodiff lsp`: the language server on standard input and output, or on a local TCP port."""

from __future__ import annotations

import argparse

from ferrodiff.server.errors import Failure


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "--stdio", action="store_true", help="speak on standard input and output (the default)"
    )
    parser.add_argument(
        "--tcp", type=int, metavar="PORT", help="listen on a local port instead, for debugging"
    )


def run(options: argparse.Namespace) -> int:
    """Serves until the client goes away."""
    if options.tcp is not None and not 0 < options.tcp <= 65535:
        raise Failure(f"{options.tcp} is no port number", help="ports are 1 to 65535")
    from ferrodiff.server.lsp import start

    return start(options.tcp)
