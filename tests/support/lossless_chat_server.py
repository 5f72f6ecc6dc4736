"""A real HTTP server on the loopback that speaks chat completions and does, call by call, what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ChatServer", "Reply", "chat_server", "completion"]


@dataclass(frozen=True)
class Reply:
    """What the server does with one call: answer, answer in part, or hang for some seconds first."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    hang: float = 0.0


def completion(
    text: object = "A summary.", *, finish: str = "stop", usage: object = None, choices: list[Any] | None = None, **message: Any
) -> Reply:
    """Make a well-formed answer, or one that is odd in the way that is asked for."""
    one = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    told = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150} if usage is None else usage
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [one], "usage": told}
    if choices is not None:
        body["choices"] = choices
    return Reply(body=json.dumps(body).encode())


class ChatServer:
    """What the server was asked, and what it is to do; the last reply is for all further calls."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.replies: list[Reply] = [completion()]
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.released = threading.Event()

    def next_reply(self) -> Reply:
        """Give what is to be done with the next call."""
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def chat_server(*replies: Reply) -> Iterator[ChatServer]:
    """Run a server while the block runs."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    httpd.daemon_threads = True
    state = httpd.state = ChatServer(httpd.server_address[1])  # type: ignore[attr-defined]
    if replies:
        state.replies = list(replies)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.released.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        state: ChatServer = self.server.state  # type: ignore[attr-defined]
        state.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        state.keys.append(self.headers.get("Authorization", ""))
        reply = state.next_reply()
        if reply.hang:
            state.released.wait(reply.hang)
        body = reply.body[: len(reply.body) // 2] if reply.cut else reply.body
        try:
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # the client gave up

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
