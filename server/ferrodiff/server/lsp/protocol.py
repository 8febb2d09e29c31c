"""JSON-RPC as the specification has it, deaf to nonsense: every request is answered, whatever its shape.

A handler is a function of the parameters. What it returns is the answer; a coroutine answers when it is
done, and `$/cancelRequest` cancels it. A handler that fails is logged and answers emptily.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

from ferrodiff.server.lsp import types as t
from ferrodiff.server.lsp.transport import frame
from ferrodiff.server.lsp.wire import WireError, plain, read_params

logger = logging.getLogger(__name__)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800
REQUEST_FAILED = -32803

VERSION = "2.0"


class Refused(Exception):
    """An error answer: a code and a sentence for the user."""

    def __init__(self, message: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(message)
        self.code = code


class ClientRefused(Exception):
    """The client's error answer to a request of ours."""


class Writer(Protocol):
    """Where frames go."""

    def write(self, data: bytes) -> None:
        """Writes all of it, or raises `OSError` or `ValueError` when nobody reads any more."""


class Handler(NamedTuple):
    """Answers a method; `empty` is the answer when it fails."""

    function: Callable[[Any], Any]
    empty: Any = None


class JsonRpc:
    """One client's conversation; everything runs in the event loop's thread."""

    def __init__(self, broken: Callable[[], None]) -> None:
        self._broken = broken
        self._handlers: dict[str, Handler] = {}
        self._writer: Writer | None = None
        self._ids = itertools.count(1)
        self._waiting: dict[int | str, asyncio.Future[Any]] = {}
        """Requests of ours that the client has not answered."""
        self._running: dict[int | str, asyncio.Task[Any]] = {}
        """Requests of the client's that take their time."""
        self.initialized = False
        self.shut_down = False
        self.handle(t.CANCEL_REQUEST, self._cancel)

    def handle(self, method: str, function: Callable[[Any], Any], empty: Any = None) -> None:
        """Answers `method` by ``function(params)``."""
        self._handlers[method] = Handler(function, empty)

    def connect(self, writer: Writer) -> None:
        self._writer = writer

    # -- receiving ---------------------------------------------------------------------------------

    def receive(self, body: bytes) -> None:
        """Handles one message; never raises."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            logger.error("not JSON: %s", error)
            self._refuse(None, PARSE_ERROR, f"the message is not JSON: {error}")
            return
        try:
            self._take(message)
        except Exception:
            logger.exception("a message could not be handled")
            if isinstance(message, dict) and "method" in message and _valid_id(message.get("id")):
                self._refuse(message["id"], INTERNAL_ERROR, "the request could not be handled")

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != VERSION:
            identifier = message.get("id") if isinstance(message, dict) else None
            known = identifier if _valid_id(identifier) else None
            self._refuse(known, INVALID_REQUEST, "not a JSON-RPC 2.0 message")
            return
        method = message.get("method")
        if method is None:
            self._response(message)
        elif not isinstance(method, str):
            self._refuse(message.get("id"), INVALID_REQUEST, "`method` is not a string")
        elif "id" in message:
            self._request(message, method)
        else:
            self._notification(message, method)

    def _request(self, message: dict[str, Any], method: str) -> None:
        identifier = message["id"]
        if not _valid_id(identifier):
            self._refuse(None, INVALID_REQUEST, "`id` is neither a number nor a string")
            return
        refusal = self._state_refusal(method)
        if refusal is None and method not in self._handlers:
            refusal = (METHOD_NOT_FOUND, f"no such method: {method}")
        if refusal is not None:
            self._refuse(identifier, *refusal)
            return
        try:
            params = read_params(method, message.get("params"))
        except WireError as error:
            self._refuse(identifier, INVALID_PARAMS, f"invalid parameters of {method}: {error}")
            return
        self._answer(identifier, method, params)

    def _answer(self, identifier: int | str, method: str, params: Any) -> None:
        handler = self._handlers[method]
        try:
            result = handler.function(params)
        except Exception as error:
            self._failed(identifier, method, error)
            return
        if asyncio.iscoroutine(result):
            task = asyncio.get_running_loop().create_task(result)
            self._running[identifier] = task
            task.add_done_callback(partial(self._finished, identifier, method))
        else:
            self._send({"jsonrpc": VERSION, "id": identifier, "result": plain(result)})

    def _finished(self, identifier: int | str, method: str, task: asyncio.Task[Any]) -> None:
        """Also for a task that was cancelled before it could begin."""
        if self._running.get(identifier) is task:
            del self._running[identifier]
        if task.cancelled():
            self._refuse(identifier, REQUEST_CANCELLED, "cancelled")
        elif (error := task.exception()) is not None:
            self._failed(identifier, method, error)
        else:
            self._send({"jsonrpc": VERSION, "id": identifier, "result": plain(task.result())})

    def _failed(self, identifier: int | str, method: str, error: BaseException) -> None:
        """A refusal is an answer; anything else is our fault, and the client gets an empty answer."""
        if isinstance(error, Refused):
            self._refuse(identifier, error.code, str(error))
            return
        logger.error("%s failed", method, exc_info=error)
        self._send({"jsonrpc": VERSION, "id": identifier, "result": plain(self._handlers[method].empty)})

    def _state_refusal(self, method: str) -> tuple[int, str] | None:
        if self.shut_down:
            return INVALID_REQUEST, "the server is shutting down"
        if not self.initialized and method != t.INITIALIZE:
            return NOT_INITIALIZED, "the server is not initialized"
        if self.initialized and method == t.INITIALIZE:
            return INVALID_REQUEST, "the server is initialized already"
        return None

    def _notification(self, message: dict[str, Any], method: str) -> None:
        if method != t.EXIT and self._state_refusal(method) is not None:
            return
        handler = self._handlers.get(method)
        if handler is None:
            logger.debug("no such notification: %s", method)
            return
        try:
            params = read_params(method, message.get("params"))
        except WireError as error:
            logger.warning("invalid parameters of %s: %s", method, error)
            return
        try:
            result = handler.function(params)
        except Exception:
            logger.exception("%s failed", method)
            return
        if asyncio.iscoroutine(result):
            result.close()
            logger.error("%s is a notification and cannot be waited for", method)

    def _response(self, message: dict[str, Any]) -> None:
        identifier = message.get("id")
        if "id" not in message or ("result" not in message and "error" not in message):
            self._refuse(None, INVALID_REQUEST, "neither a request, a notification nor a response")
            return
        future = self._waiting.pop(cast(Any, identifier), None) if _valid_id(identifier) else None
        if future is None:
            logger.debug("a response to nothing: %r", identifier)
            return
        if future.done():
            # Nobody waits any more: the wait was cancelled or took too long.
            return
        error = message.get("error")
        if error is not None:
            future.set_exception(ClientRefused(_words(error)))
        else:
            future.set_result(message.get("result"))

    def _cancel(self, params: t.CancelParams) -> None:
        task = self._running.get(params.id)
        if task is not None:
            task.cancel()

    def cancel_all(self) -> None:
        """Cancels what the client still waits for."""
        for task in list(self._running.values()):
            task.cancel()

    @property
    def running(self) -> set[asyncio.Task[Any]]:
        """The requests of the client's that are being worked on."""
        return set(self._running.values())

    # -- sending -----------------------------------------------------------------------------------

    def notify(self, method: str, params: Any = None) -> None:
        """Tells the client something."""
        self._send({"jsonrpc": VERSION, "method": method, "params": plain(params)})

    def ask(self, method: str, params: Any = None) -> asyncio.Future[Any]:
        """Asks the client; the future is its answer as JSON, or `ClientRefused`."""
        identifier = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[identifier] = future
        self._send({"jsonrpc": VERSION, "id": identifier, "method": method, "params": plain(params)})
        return future

    def _refuse(self, identifier: Any, code: int, text: str) -> None:
        self._send({"jsonrpc": VERSION, "id": identifier, "error": {"code": code, "message": text}})

    def _send(self, data: dict[str, Any]) -> None:
        if self._writer is None:
            return
        try:
            text = json.dumps(data, separators=(",", ":"))
            # A document may hold lone surrogates; json.dumps escapes them, so the body is always ASCII.
            self._writer.write(frame(text.encode("ascii")))
        except (OSError, ValueError) as error:
            logger.warning("the client cannot be reached: %s", error)
            self._broken()
        except Exception:
            logger.exception("a message could not be written")
            if "method" not in data and "result" in data:
                self._refuse(data["id"], INTERNAL_ERROR, "the answer could not be written")


def _valid_id(identifier: Any) -> bool:
    return isinstance(identifier, (int, str)) and not isinstance(identifier, bool)


def _words(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else "the client answered with an error"
