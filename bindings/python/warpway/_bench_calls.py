# SPDX-License-Identifier: Apache-2.0
# mypy: disable-error-code="import-not-found,import-untyped"
"""Calls of a function in another process, for `warpway.bench`: a service, and other ways to ask and be answered.

Each round trip is a call and its reply: ``.empty`` carries nothing, ``.array`` an array of `NBYTES` in place, ``.token``
as many bytes as its token has, ``.copy`` the bytes of the array themselves. A short answer acknowledges them.
"""

from __future__ import annotations

import os
import tempfile
from concurrent import futures
from multiprocessing import connection
from typing import Any

import warpway
from warpway._bench_row import CONTEXT, MARK, NBYTES, await_child

_EMPTY = b""
_TOKEN = bytes([MARK]) * 512  # as long as one
_DATA = bytes([MARK]) * NBYTES


def _answer(data: bytes) -> bytes:
    if data and data[-1] != MARK:
        raise RuntimeError(f"the child found {data[-1]}, not {MARK}")
    return _EMPTY


# --- a service ---


def _touch(array: warpway.Array) -> None:
    if array.nbytes != NBYTES:
        raise RuntimeError(f"the child got {array.nbytes} bytes, not {NBYTES}")


def _serve(device: str, answers: Any) -> None:
    with warpway.Service(device=device) as service:
        service.offer("empty", "", lambda: None)
        service.offer("touch", "u8[n] x write", _touch)
        service.offer("stop", "", service.drain)
        service.start()
        answers.put(service.token().to_bytes())
        service.serve()


class _Call:
    def __init__(self, device: str) -> None:
        answers = CONTEXT.Queue()
        self._child = CONTEXT.Process(target=_serve, args=(device, answers), daemon=True)
        self._child.start()
        self._client = warpway.Client(warpway.Token(await_child(self._child, answers)))

    def end(self) -> None:
        self._client.call("stop")
        self._client.close()
        self._child.join()


class CallEmpty(_Call):
    name = "call.empty"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.round_trip = self._client.function("empty")


class CallArray(_Call):
    name = "call.array"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self._touch = self._client.function("touch")
        self._array = warpway.empty(NBYTES, "uint8", device=device)
        self._token = self._array.token("write", uses=0)

    def round_trip(self) -> None:
        self._touch(self._token)


# --- multiprocessing.connection ---


def _serve_connection(path: str, answers: Any) -> None:
    with connection.Listener(path, "AF_UNIX") as listener:
        answers.put(None)
        with listener.accept() as peer:
            while True:
                try:
                    peer.send_bytes(_answer(peer.recv_bytes()))
                except EOFError:
                    return


class Connection:
    data = _EMPTY  # which a call carries

    def __init__(self, device: str) -> None:
        answers = CONTEXT.Queue()
        self._folder = tempfile.TemporaryDirectory()
        path = os.path.join(self._folder.name, "socket")
        self._child = CONTEXT.Process(target=_serve_connection, args=(path, answers), daemon=True)
        self._child.start()
        await_child(self._child, answers)
        self._peer = connection.Client(path, "AF_UNIX")

    def round_trip(self) -> None:
        self._peer.send_bytes(self.data)
        self._peer.recv_bytes()

    def end(self) -> None:
        self._peer.close()
        self._child.join()
        self._folder.cleanup()


class ConnectionEmpty(Connection):
    name = "connection.empty"


class ConnectionToken(Connection):
    name = "connection.token"
    data = _TOKEN


class ConnectionCopy(Connection):
    name = "connection.copy"
    data = _DATA


# --- gRPC ---

_UNLIMITED = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))


def _grpc() -> Any:
    try:
        import grpc
    except ImportError:
        raise ImportError("grpc is not installed: pip install grpcio, or Debian's python3-grpcio") from None
    return grpc


def _serve_grpc(path: str, answers: Any, ends: Any) -> None:
    """Bytes as they are: no message is encoded."""
    grpc = _grpc()
    handler = grpc.unary_unary_rpc_method_handler(lambda data, _: _answer(data))
    server = grpc.server(futures.ThreadPoolExecutor(1), options=_UNLIMITED)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench", {"call": handler}),))
    server.add_insecure_port(f"unix:{path}")
    server.start()
    answers.put(None)
    ends.get()
    server.stop(None).wait()


class Grpc:
    data = _EMPTY  # which a call carries

    def __init__(self, device: str) -> None:
        grpc = _grpc()
        answers = CONTEXT.Queue()
        self._ends = CONTEXT.Queue()
        self._folder = tempfile.TemporaryDirectory()
        path = os.path.join(self._folder.name, "socket")
        self._child = CONTEXT.Process(target=_serve_grpc, args=(path, answers, self._ends), daemon=True)
        self._child.start()
        await_child(self._child, answers)
        self._channel = grpc.insecure_channel(f"unix:{path}", options=_UNLIMITED)
        self._call = self._channel.unary_unary("/bench/call")

    def round_trip(self) -> None:
        self._call(self.data)

    def end(self) -> None:
        self._channel.close()
        self._ends.put(None)
        self._child.join()
        self._folder.cleanup()


class GrpcEmpty(Grpc):
    name = "grpc.empty"


class GrpcToken(Grpc):
    name = "grpc.token"
    data = _TOKEN


class GrpcCopy(Grpc):
    name = "grpc.copy"
    data = _DATA


CALLS = (ConnectionEmpty, CallEmpty, GrpcEmpty, ConnectionToken, ConnectionCopy, CallArray, GrpcToken, GrpcCopy)

# Which row another one is compared with.
BESIDE = {
    "call.empty": "connection.empty",
    "grpc.empty": "connection.empty",
    "call.array": "connection.copy",
    "grpc.token": "connection.token",
    "grpc.copy": "connection.copy",
}
