"""The language server: one module per LSP feature, each a thin shell over a pure function.

`start` is the entry point. Nothing here runs user code or a compiler in the server's own process, and
`llvmlite` is never imported.
"""

from __future__ import annotations


def start(tcp: int | None = None, host: str = "127.0.0.1", log: str | None = None) -> int:
    """Serves one client on stdin and stdout, or on a TCP port; returns the exit code.

    `log` is a file to write the log to instead of stderr; the variable `FERRODIFF_LOG` sets its level.
    """
    from ferrodiff.server.lsp.startup import serve

    return serve(tcp, host, log)
