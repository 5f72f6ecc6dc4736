"""A chat message history: what LangChain's chains read and add messages by."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from lossless import Budget, Engine, Thread
from lossless.errors import ConfigError, MessageError
from lossless.locks import ForkLock
from lossless.sharing import address_of, engine_at
from lossless.twins import async_twin
from lossless_langchain.codec import FORMAT, decode_message, decode_stored, encode_message
from lossless_langchain.connecting import engine_for, session_name

__all__ = ["LosslessChatMessageHistory", "history_factory", "payloads_of"]

_ECHO = 2
"""Messages that must be shown before a longer list that begins with all of them is taken for an echo; one may be said twice."""


class LosslessChatMessageHistory(BaseChatMessageHistory):
    """Keeps the messages of a session in the thread of that id; sync and async on one object, which any number may share.

    ``messages`` gives copies: all that the thread shows, verbatim, or, on an engine with a window, its active context. What is
    cleared leaves what is shown and stays in the store (``history.thread.messages(deleted=True)``).

    Args:
        session_id: the thread's id.
        connection_or_table: the connection, by position; the name of a table, which LangChain's own takes there, is not needed.
        connection: an ``Engine``, the URL of a database, or an engine of SQLAlchemy; None: ``$LOSSLESS_URL``, else
            ``sqlite:///lossless.db``.
        connection_string: a URL, as older code calls it.
        engine: the same as ``connection``.
        url: the same as ``connection``.
        max_token_limit: the most tokens that ``messages`` gives; None: the engine's window, and without one, all is shown.
        pinned: whether ``messages`` stays as it was when it was first read, until this object adds messages; as
            :func:`history_factory` makes it.
        namespace: the tenant, where a URL is given.
        others: what LangChain's SQL history takes besides: ``table_name`` (also by position), ``session_id_field_name``,
            ``custom_message_converter``, ``engine_args``, ``async_mode``. None of it is needed: one table holds every class of
            message, and sync and async need no choice.

    Raises:
        ConfigError: there is no session id, or the connection is none.
        StoreOpenError: the database can't be opened.
        TypeError: there is no such argument.
    """

    def __init__(
        self,
        session_id: Any = None,
        connection_or_table: Any = None,
        *,
        connection: Any = None,
        connection_string: str | None = None,
        engine: Any = None,
        url: str | None = None,
        max_token_limit: int | None = None,
        pinned: bool = False,
        namespace: str = "default",
        **others: Any,
    ) -> None:
        unknown = sorted(set(others) - _STOCK)
        if unknown:
            raise TypeError(f"LosslessChatMessageHistory takes no {', '.join(unknown)}")
        self.session_id = session_name(session_id)
        given = [connection, engine, url, connection_string]
        if not _is_table(connection_or_table, alone=all(each is None for each in given)):
            given.append(connection_or_table)
        self.engine: Engine = engine_for(_only_one(given), namespace=namespace)
        self.max_token_limit = max_token_limit
        self._budget = Budget(window=max_token_limit, reserve=0) if max_token_limit is not None else None
        self._is_pinned = pinned
        self._pinned: list[BaseMessage] | None = None
        self._lock = ForkLock()

    @property
    def thread(self) -> Thread:
        """The thread that holds the messages."""
        return self.engine.thread(self.session_id, budget=self._budget)

    @property
    def messages(self) -> list[BaseMessage]:
        """What is shown, oldest first: copies, which may be changed."""
        return self.get_messages()

    @messages.setter
    def messages(self, messages: Sequence[BaseMessage]) -> None:
        self.set_messages(messages)

    def get_messages(self) -> list[BaseMessage]:
        """Give what is shown, oldest first: copies, which may be changed."""
        if not self._is_pinned:
            return self._read()
        with self._lock:
            if self._pinned is None:
                self._pinned = self._read()
            return copy.deepcopy(self._pinned)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages, in one transaction; they are durable when this returns.

        A message that has an id and was stored with it adds nothing, and neither does a beginning that repeats all that is shown.

        Raises:
            MessageError: one of them is no message; then none of them is stored.
        """
        payloads = payloads_of(messages)
        if payloads:
            thread = self.thread
            thread.append(payloads[self._echoed(thread, payloads) :], format=FORMAT, again=True)
        with self._lock:
            self._pinned = None

    def set_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Make the session show exactly these messages; what else was added stays in the store.

        Raises:
            MessageError: one of them is no message; then nothing is changed.
        """
        self.thread.replace(payloads_of(messages), format=FORMAT)
        with self._lock:
            self._pinned = None

    def clear(self) -> None:
        """Show nothing from now on; what was added stays in the store, and ``history.thread.undo()`` shows it again."""
        self.set_messages([])

    aget_messages = async_twin(get_messages)  # type: ignore[arg-type]
    aadd_messages = async_twin(add_messages)  # type: ignore[arg-type]
    aset_messages = async_twin(set_messages)
    aclear = async_twin(clear)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_id!r})"

    def __deepcopy__(self, memo: Any) -> Self:
        return self._again(self.engine)

    def __copy__(self) -> Self:
        return self._again(self.engine)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _made_again, (type(self), self.session_id, address_of(self.engine), self.max_token_limit, self._is_pinned)

    def _again(self, engine: Engine) -> Self:
        return type(self)(self.session_id, engine, max_token_limit=self.max_token_limit, pinned=self._is_pinned)

    def _read(self) -> list[BaseMessage]:
        thread = self.thread
        if self._budget is None and self.engine.budget is None:
            return [each for message in thread.messages() for each in decode_stored(message)]
        return [decode_message(payload) for payload in thread.context(format=FORMAT).messages]

    def _echoed(self, thread: Thread, payloads: Sequence[dict[str, Any]]) -> int:
        """Count the messages at the beginning of a list that repeat all that is shown."""
        if len(payloads) <= _ECHO:
            return 0
        with self._lock:
            lists = [self._pinned] if self._pinned is not None else []
        if thread.count() < len(payloads) or any(map(_is_summary, payloads)):
            lists.append(self._read())
        fitting = [len(shown) for shown in lists if _ECHO <= len(shown) < len(payloads) and _repeats(payloads, shown)]
        return max(fitting, default=0)


def history_factory(
    connection: Any = None, *, max_token_limit: int | None = None, namespace: str = "default"
) -> Callable[[str], LosslessChatMessageHistory]:
    """Make what ``RunnableWithMessageHistory`` takes as ``get_session_history``: a fresh history object at each call.

    Its messages are pinned from when they are first read until it adds messages: calls that run at once, and compaction in the
    middle of a call, don't change what that call is about.

    Args:
        connection: an ``Engine`` or a URL, as :class:`LosslessChatMessageHistory` takes it.
        max_token_limit: the most tokens that a history gives; None: the engine's window, and without one, all is shown.
        namespace: the tenant, where a URL is given.

    Raises:
        ConfigError: the connection is none.
        StoreOpenError: the database can't be opened.
    """
    engine = engine_for(connection, namespace=namespace)

    def get_session_history(session_id: str) -> LosslessChatMessageHistory:
        return LosslessChatMessageHistory(session_id, engine, max_token_limit=max_token_limit, pinned=True)

    return get_session_history


def payloads_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Write messages as payloads.

    Raises:
        MessageError: one of them is no message.
    """
    given = [messages] if isinstance(messages, BaseMessage) else list(messages)
    for index, message in enumerate(given):
        if not isinstance(message, BaseMessage):
            raise MessageError(
                f"message {index}: a {type(message).__name__} is no message of LangChain's",
                hint='for example HumanMessage("Hello")',
                index=index,
            )
    return [encode_message(message) for message in given]


def _is_table(given: Any, *, alone: bool) -> bool:
    """Tell whether a second argument is the name of a table: no URL, and without a connection beside it no path either."""
    return isinstance(given, str) and ":" not in given and (not alone or given.isidentifier())


def _only_one(given: Sequence[Any]) -> Any:
    found = [each for each in given if each is not None]
    if len(found) > 1:
        raise ConfigError("several connections are given", hint="give one of connection=, connection_string=, engine= and url=")
    return found[0] if found else None


def _repeats(payloads: Sequence[dict[str, Any]], shown: Sequence[BaseMessage]) -> bool:
    return all(encode_message(message) == payload for message, payload in zip(shown, payloads, strict=False))


def _is_summary(payload: dict[str, Any]) -> bool:
    marks = payload["data"].get("additional_kwargs") if isinstance(payload.get("data"), dict) else None
    return isinstance(marks, dict) and marks.get("lc_source") == "summarization"


_STOCK = frozenset({"table_name", "session_id_field_name", "custom_message_converter", "engine_args", "async_mode"})


def _made_again(
    cls: type[LosslessChatMessageHistory], session_id: str, address: dict[str, Any], limit: int | None, pinned: bool
) -> LosslessChatMessageHistory:
    return cls(session_id, engine_at(address), max_token_limit=limit, pinned=pinned)
