"""The protocol object: pygls' own, made strict where the specification is and deaf to nonsense.

It differs from pygls in that every request is answered whatever its shape, text lives in this project's
document store instead of pygls' workspace, and nothing a client sends is reported to the user in a pop-up.
"""

from __future__ import annotations

import contextvars
import json
import logging
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types as t
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

from ferrodiff.server.lsp.transport import frame

if TYPE_CHECKING:
    from ferrodiff.server.lsp.app import FerrodiffServer

logger = logging.getLogger(__name__)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
NOT_INITIALIZED = -32002

_BEFORE_INITIALIZE = frozenset({t.INITIALIZE, t.EXIT})


class FerrodiffProtocol(LanguageServerProtocol):
    """One client's conversation."""

    _server: FerrodiffServer

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        self._initialized = False

    # -- receiving ---------------------------------------------------------------------------------

    def handle_body(self, body: bytes) -> None:
        """Handles one message; never raises."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            logger.error("not JSON: %s", error)
            self._refuse(None, PARSE_ERROR, f"the message is not JSON: {error}")
            return
        try:
            self._handle_json(message)
        except Exception:
            logger.exception("a message could not be handled")
            if isinstance(message, dict) and "method" in message and _valid_id(message.get("id")):
                self._refuse(
                    message["id"], t.ErrorCodes.InternalError.value, "the request could not be handled"
                )

    def _handle_json(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            identifier = message.get("id") if isinstance(message, dict) else None
            self._refuse(
                identifier if _valid_id(identifier) else None, INVALID_REQUEST, "not a JSON-RPC 2.0 message"
            )
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
        if refusal is None and not self._knows(method):
            refusal = (METHOD_NOT_FOUND, f"no such method: {method}")
        if refusal is not None:
            self._refuse(identifier, *refusal)
            return
        try:
            params = self._params(message, method)
        except Exception as error:
            self._refuse(identifier, INVALID_PARAMS, f"invalid parameters of {method}: {_reason(error)}")
            return
        if method == t.INITIALIZE:
            self._initialized = True
        contextvars.copy_context().run(self._handle_request, identifier, method, params)

    def _state_refusal(self, method: str) -> tuple[int, str] | None:
        if self._shutdown:
            return INVALID_REQUEST, "the server is shutting down"
        if not self._initialized and method not in _BEFORE_INITIALIZE:
            return NOT_INITIALIZED, "the server is not initialized"
        if self._initialized and method == t.INITIALIZE:
            return INVALID_REQUEST, "the server is initialized already"
        return None

    def _notification(self, message: dict[str, Any], method: str) -> None:
        if self._state_refusal(method) is not None and method != t.EXIT:
            return
        if not self._knows(method) and method != t.CANCEL_REQUEST:
            logger.debug("no such notification: %s", method)
            return
        try:
            params = self._params(message, method)
        except Exception as error:
            logger.warning("invalid parameters of %s: %s", method, _reason(error))
            return
        contextvars.copy_context().run(self._handle_notification, method, params)

    def _response(self, message: dict[str, Any]) -> None:
        identifier = message.get("id")
        if "id" not in message or ("result" not in message and "error" not in message):
            self._refuse(None, INVALID_REQUEST, "neither a request, a notification nor a response")
            return
        if not _valid_id(identifier) or identifier not in self._request_futures:
            logger.debug("a response to nothing: %r", identifier)
            return
        if self._request_futures[cast(Any, identifier)].done():
            # Nobody waits any more: the wait was cancelled or took too long.
            self._request_futures.pop(cast(Any, identifier))
            self._result_types.pop(cast(Any, identifier), None)
            return
        # pygls structures by the type noted when the request was sent; a client that answers with the
        # wrong shape must not leave the waiting coroutine hanging.
        try:
            structured = self.structure_message(message)
        except Exception as error:
            future = self._request_futures.pop(cast(Any, identifier))
            if not future.done():
                future.set_exception(ValueError(f"the client's answer has the wrong shape: {_reason(error)}"))
            return
        contextvars.copy_context().run(self.handle_message, structured)

    def _knows(self, method: str) -> bool:
        return method in self.fm.builtin_features or method in self.fm.features

    def _params(self, message: dict[str, Any], method: str) -> Any:
        """The parameters structured by the method's type; those of our own methods stay JSON."""
        message_type = self.get_message_type(method)
        if message_type is None:
            return message.get("params")
        message.pop("result", None)
        return getattr(self._converter.structure(message, message_type), "params", None)

    def _refuse(self, identifier: Any, code: int, text: str) -> None:
        self._send_data({"jsonrpc": self.VERSION, "id": identifier, "error": {"code": code, "message": text}})

    # -- sending -----------------------------------------------------------------------------------

    def _send_data(self, data: Any) -> None:
        if not data or self.writer is None:
            return
        try:
            text = json.dumps(data, default=self._serialize_message, separators=(",", ":"))
            # A document may hold lone surrogates; json.dumps escapes them, so the body is always ASCII.
            self.writer.write(frame(text.encode("ascii")))
        except (OSError, ValueError) as error:
            logger.warning("the client cannot be reached: %s", error)
            self._server.stop(1)
        except Exception:
            logger.exception("a message could not be written")

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        """A refusal (a bad new name, a missing argument) is an answer, not an accident to log."""
        if not future.cancelled() and isinstance(error := future.exception(), JsonRpcException):
            self._request_futures.pop(msg_id, None)
            self._send_response(msg_id, error=error.to_response_error())
            return
        super()._send_handler_result(future, msg_id=msg_id)

    # -- text ---------------------------------------------------------------------------------------

    @lsp_method(t.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: t.DidOpenTextDocumentParams) -> None:
        self._server.did_open(params)

    @lsp_method(t.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: t.DidChangeTextDocumentParams) -> None:
        self._server.did_change(params)

    @lsp_method(t.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: t.DidCloseTextDocumentParams) -> None:
        self._server.did_close(params)

    @lsp_method(t.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(self, params: t.ExecuteCommandParams) -> Any:  # type: ignore[override]
        """Unlike pygls' own, sees the work-done token, can be cancelled, and explains wrong arguments."""
        return await self._server.execute(params)

    @lsp_method(t.INITIALIZE)
    def lsp_initialize(self, params: t.InitializeParams) -> Generator[Any, Any, t.InitializeResult]:
        """Adds what pygls' builder does not know."""
        result = yield from super().lsp_initialize(params)
        workspace = result.capabilities.workspace
        if workspace is not None:
            workspace.text_document_content = t.TextDocumentContentOptions(schemes=list(self._server.schemes))
        result.capabilities.experimental = {"ferrodiff": {"requests": list(self._server.requests)}}
        return result

    # -- life ----------------------------------------------------------------------------------------

    @lsp_method(t.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        yield from super().lsp_shutdown(*args)
        self._server.cancel_work()

    @lsp_method(t.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]
        self._server.stop(0 if self._shutdown else 1)


def _valid_id(identifier: Any) -> bool:
    return isinstance(identifier, (int, str)) and not isinstance(identifier, bool)


def _reason(error: Exception) -> str:
    """cattrs' nested errors as one line."""
    try:
        from cattrs import transform_error

        return "; ".join(transform_error(error, path="params"))[:500] or str(error)
    except Exception:
        return str(error)[:500]
