"""Work-done progress with cancellation, for work that may take over half a second."""

from __future__ import annotations

import asyncio
import itertools
import logging
from types import TracebackType
from typing import TYPE_CHECKING

from ferrodiff.server.lsp import types as t

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

logger = logging.getLogger(__name__)

_CREATE_SECONDS = 2.0
_TOKENS = itertools.count(1)


class Progress:
    """``async with Progress(server, title) as progress``: shown where the client can show it.

    `cancelled` is set when the user cancels. A client's own token is used as it is; otherwise one is made
    if the client can make it, and everything is silent if it cannot.
    """

    def __init__(
        self,
        server: FerrodiffServer,
        title: str,
        token: t.ProgressToken | None = None,
        cancellable: bool = True,
    ) -> None:
        self._server = server
        self._title = title
        self._token = token
        self._cancellable = cancellable
        self._message = "done"
        self.cancelled = asyncio.Event()

    async def __aenter__(self) -> Progress:
        if self._token is None and self._server.abilities.progress:
            self._token = await self._create()
        if self._token is not None:
            self._server.cancellations[self._token] = self.cancelled
            self._send(t.WorkDoneProgressBegin(title=self._title, cancellable=self._cancellable))
        return self

    def _send(
        self, value: t.WorkDoneProgressBegin | t.WorkDoneProgressReport | t.WorkDoneProgressEnd
    ) -> None:
        if self._token is not None:
            self._server.protocol.notify(t.PROGRESS, t.ProgressParams(self._token, value))

    async def _create(self) -> t.ProgressToken | None:
        token = f"ferrodiff-{next(_TOKENS)}"
        request = self._server.protocol.ask(
            t.WINDOW_WORK_DONE_PROGRESS_CREATE, t.WorkDoneProgressCreateParams(token=token)
        )
        try:
            await asyncio.wait_for(request, _CREATE_SECONDS)
        except Exception as error:
            logger.warning("the client did not create a progress token: %s", str(error) or "no answer")
            return None
        return token

    def report(self, message: str, percentage: int | None = None) -> None:
        self._send(t.WorkDoneProgressReport(message=message, percentage=percentage))

    def finish(self, message: str) -> None:
        """The message shown at the end."""
        self._message = message

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._token is None:
            return
        self._send(t.WorkDoneProgressEnd(message=self._message))
        self._server.cancellations.pop(self._token, None)


def cancel(server: FerrodiffServer, params: t.WorkDoneProgressCancelParams) -> None:
    """`window/workDoneProgress/cancel`."""
    cancelled = server.cancellations.get(params.token)
    if cancelled is not None:
        cancelled.set()
