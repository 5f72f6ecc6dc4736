"""The engine: one database, one namespace, and everything that is shared by its threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from types import TracebackType

from sqlalchemy import Connection

from lossless.builtins import Builtins
from lossless.compaction.calls import ModelCalls
from lossless.compaction.compactor import Compactor, Effort
from lossless.compaction.guard import Guard, SpendLimit
from lossless.compaction.model import CompactionResult
from lossless.compaction.worker import Worker
from lossless.compaction.writing import SummaryWriter
from lossless.context.budget import Budget, Limits, budget_for
from lossless.context.builder import ContextBuilder
from lossless.context.calibration import Calibration
from lossless.context.entries import SummaryCache
from lossless.context.rendering import is_engines_own
from lossless.dag.heads import read_head
from lossless.dag.lineage import find_key
from lossless.dag.opening import covering
from lossless.dag.parts import hits_of, parts_of
from lossless.dag.summaries import Summary, load_summaries
from lossless.dag.threads import ThreadInfo, list_threads
from lossless.dag.view import GENESIS, ViewStore
from lossless.errors import ConfigError, NotFoundError
from lossless.hooks import Plugins
from lossless.messages import find_profile
from lossless.policies.model import Policy, Summarizer, Usage
from lossless.policies.registry import checked_policy
from lossless.removals import Removals
from lossless.store import times
from lossless.store.cipher import Cipher
from lossless.store.connection import Durability, open_database
from lossless.store.drafting import DEFAULT_FORMAT, Drafter
from lossless.store.filters import filters
from lossless.store.keys import Reach, ThreadKey, checked_name
from lossless.store.namespaces import Secrets
from lossless.store.pages import Page
from lossless.store.read import MessageReader
from lossless.store.recent import Recent
from lossless.store.rereading import UNREAD, rereads
from lossless.store.search import Hit, Mode, chosen_mode, search
from lossless.summarizers.breaker import BreakerRules
from lossless.summarizers.calling import SummarizerCaller, checked_summarizer
from lossless.thread import Thread
from lossless.tokens import margin_for
from lossless.twins import async_twin
from lossless.upkeep import Upkeep

__all__ = ["DEFAULT_URL", "Engine"]

_INEXACT = 0.05
"""A margin from which on counting is not exact."""
DEFAULT_URL = "sqlite:///lossless.db"
"""Where an engine without a URL stores, unless ``$LOSSLESS_URL`` says otherwise."""
_THREADS_KEPT = 4_096
"""Of how many threads key and format are kept in memory."""


class Engine(Removals, Upkeep):
    """Opens a database and gives handles on its threads.

    Args:
        url: ``sqlite:///file.db``, ``sqlite://`` in memory, or ``postgresql+psycopg://user@host/name``; None: ``$LOSSLESS_URL``,
            else ``sqlite:///lossless.db``.
        window: the model's context window in tokens.
        model: a known model instead of a window; it also chooses the tokenizer.
        budget: thresholds in detail, instead of a window. Without window, model and budget, messages can be stored and searched,
            and a context can't be asked for.
        summarizer: writes summaries: a callable taking a ``SummarizeRequest`` and returning text, sync or async, of several
            threads at once; None: what plugins provide, else none: the policy extracts.
        spend_limit: what summarizers may take, counted in the database; None: no limit.
        breaker: when a summarizer that fails is left alone, and for how long.
        policy: a policy's name, or a policy.
        namespace: the tenant; every query is scoped by it.
        durability: ``full``: on the disk before an append returns; ``normal``: safe when the process dies, not when the machine
            does.
        cipher: encrypts what tells content, such as ``AesGcmCipher(key)``; then there is no search index, and searching decrypts
            and scans.
        background: whether compaction above soft runs in the background.
        plugins: objects with ``lossless.hookimpl`` functions.
        load_plugins: whether plugins of installed packages are loaded.
        create: whether an absent database is made.

    Raises:
        ConfigError: an argument is unknown or contradicts another.
        StoreOpenError: the database can't be opened.
        SchemaError: it was made by a newer version.
        CipherError: the namespace is encrypted by another key, or is and there is no cipher, or is not and there is one.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        window: int | None = None,
        model: str | None = None,
        budget: Budget | None = None,
        summarizer: Summarizer | None = None,
        spend_limit: SpendLimit | None = None,
        breaker: BreakerRules | None = None,
        policy: str | Policy = "source_first",
        namespace: str = "default",
        durability: Durability = "full",
        cipher: Cipher | None = None,
        background: bool = True,
        plugins: Iterable[object] = (),
        load_plugins: bool = True,
        create: bool = True,
    ) -> None:
        self.namespace = checked_name(namespace, "a namespace")
        self.plugins = Plugins(plugins, load=load_plugins, builtins=(Builtins(),))
        self.counter = self.plugins.token_counter(model)
        margin = margin_for(model, self.counter)
        self.budget = budget_for(window, model, budget, self.plugins.models)
        self.background = background
        self.summarizer = checked_summarizer(summarizer)
        policies = self.plugins.policies(self.counter)
        chosen = self._policy(policy)
        self.url = url or os.environ.get("LOSSLESS_URL") or DEFAULT_URL
        self._cipher = cipher
        self.database = open_database(self.url, durability=durability, create=create, cipher=cipher)
        self.views = ViewStore()
        self.secrets = Secrets(self.database)
        self._admit()
        self.reader = MessageReader(lambda: self.plugins.formats, self.secrets)
        self.builder = ContextBuilder(self.reader, SummaryCache(), self.counter, lambda: self.plugins.formats)
        self.drafter = self._drafter()
        self.guard = Guard(self.database, self.namespace, rules=breaker, limit=spend_limit, tell=self.plugins.event)
        self._caller = SummarizerCaller()
        models = ModelCalls(self.guard, self._caller, self.counter, self.plugins.models)
        writer = SummaryWriter(
            chosen,
            policies["source_first"],
            lambda: self.summarizer or self.plugins.summarizer,
            self.counter,
            models,
            self._names,
        )
        writer.window = self.budget.window if self.budget is not None else writer.window
        self.compactor = Compactor(self.database, self.views, self.reader, writer, self.plugins)
        self.calibration = Calibration(self.database, self.namespace, model, margin, exact=margin < _INEXACT)
        self.worker = Worker(lambda: bool(self.summarizer or self.plugins.summarizer))
        self._thread_formats: Recent[ThreadKey, str] = Recent(_THREADS_KEPT)
        self._keys: Recent[str, ThreadKey] = Recent(_THREADS_KEPT)
        self._epoch, self._purge_owed = UNREAD, False
        self._closed = False
        self.database.on_read = self._note_epoch

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self, wait: bool = True) -> None:
        """Finish background compaction (``wait=False`` drops it) and close the database. Idempotent."""
        self._closed = True
        self.worker.close(wait=wait)
        self._caller.close()
        self._pay_purge()
        self.database.close()
        self.compactor.close()

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    @property
    def encrypted(self) -> bool:
        """Whether it has a cipher."""
        return self._cipher is not None

    def thread(self, thread_id: str, *, budget: Budget | None = None) -> Thread:
        """Give a handle on a thread, with a budget of its own or the engine's.

        The thread is created by its first append or snapshot, never by looking.
        """
        return Thread(self, checked_name(thread_id, "a thread id"), budget)

    @rereads
    def threads(self, limit: int = 50, cursor: str | None = None) -> Page[ThreadInfo]:
        """List threads, the one appended to last first."""
        with self.database.read() as connection:
            return list_threads(connection, Reach(self.namespace), limit=limit, cursor=cursor)

    @rereads
    def grep(
        self,
        pattern: str,
        *,
        thread: str | None = None,
        mode: Mode = "exact",
        regex: bool = False,
        role: str | Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tool: str | Iterable[str] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Hit]:
        """Search the messages of all threads, or of one.

        Args:
            pattern: what to look for.
            thread: only in this thread, and the threads that are part of it; hits of these name theirs.
            mode: ``exact`` substring in any case; ``words``: AND, OR, NOT, phrases and prefix*, ranked; ``regex``.
            regex: the same as ``mode="regex"``.
            role: only messages of this role, or of one of these.
            since: only what was made then or later.
            until: only what was made before.
            tool: only calls of this tool, or of one of these, and what it answered.
            limit: hits in a page.
            cursor: ``next_cursor`` of the page before.

        Returns:
            Hits, newest first unless ranked; a page says how many messages were scanned, and has a cursor if there may be more.

        Raises:
            QueryError: a regular expression that can't be read or runs for too long, arguments that contradict each other, or a
                foreign cursor.
        """
        chosen, wanted = chosen_mode(mode, regex), filters(role=role, since=since, until=until, tool=tool)
        with self.database.read() as connection:
            key = None if thread is None else self.key_of(thread)
            parts = () if thread is None else tuple(parts_of(connection, self.namespace, [thread]))
            reach = Reach(self.namespace) if key is None else Reach.of(key, parts)
            page = search(connection, self.reader, reach, pattern, mode=chosen, filters=wanted, limit=limit, cursor=cursor)
            found = page.items if key is None else hits_of(connection, key, parts, page.items)
            hits = self._with_summaries(connection, found)
        return Page(hits, page.next_cursor, page.scanned)

    @rereads
    def spent(self, thread: str | None = None) -> Usage:
        """Give what calls to summarizers took so far, for all threads of the namespace or for one."""
        return self.guard.spent(thread)

    # The same, async

    aclose = async_twin(close)
    athreads = async_twin(threads)
    agrep = async_twin(grep)
    aspent = async_twin(spent)

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    # What threads use

    @property
    def margin(self) -> float:
        """The share of a budget to keep free for what a count may be wrong by."""
        return self.calibration.margin

    def compact(self, key: ThreadKey, limits: Limits, fresh_tail: int, effort: Effort) -> CompactionResult:
        """Compact a thread; one compaction of a thread runs at a time."""
        before = self._shown_above_hard(key, limits)
        result = self.compactor.compact(key, limits, fresh_tail, effort)
        # All that changed may be behind the omission line, before and after.
        if before is not None and result.changed and before == self._shown(key, limits):
            return replace(result, changed=False)
        return result

    def remaker(self, key: ThreadKey) -> Callable[[Connection, Sequence[int]], Summary | None]:
        """Give what makes a leaf again without a model."""
        budget, margin = self.budget, self.margin if self.budget is not None else 0.0

        def remake(connection: Connection, seqs: Sequence[int]) -> Summary | None:
            soft = budget.limits(margin).soft if budget is not None else 20_000
            return self.compactor.remake(connection, key, list(seqs), soft)

        return remake

    def key_of(self, thread_id: str) -> ThreadKey:
        """Give a thread's key with what it inherits as a branch; a thread that is not there yet inherits nothing."""
        return self._keys.get(thread_id) or self._find_key(thread_id)

    @rereads
    def _find_key(self, thread_id: str) -> ThreadKey:
        with self.database.read() as connection:
            found = find_key(connection, self.namespace, thread_id)
        if found is None:
            return ThreadKey(self.namespace, thread_id)
        self._keys.put(thread_id, found)
        return found

    def format_of(self, key: ThreadKey) -> str | None:
        """Give the format that a thread was begun with, or None if it is not there."""
        return self._thread_formats.get(key) or self._find_format(key)

    @rereads
    def _find_format(self, key: ThreadKey) -> str | None:
        with self.database.read() as connection:
            head = read_head(connection, key)
        if head is not None:
            self._thread_formats.put(key, head.format)
        return None if head is None else head.format

    def knows_summary(self, key: ThreadKey, connection: Connection | None = None) -> Callable[[str], bool]:
        """Give what tells whether a thread has a summary of an id, within a transaction or in one of its own."""

        def known(id: str) -> bool:
            with nullcontext(connection) if connection is not None else self.database.read() as within:
                try:
                    return bool(load_summaries(within, key, [id]))
                except NotFoundError:
                    return False

        return known

    def require_budget(self) -> Budget:
        """Give the budget.

        Raises:
            ConfigError: the engine has none.
        """
        if self.budget is None:
            raise ConfigError(
                "a context needs to know how large the model's window is", hint="give window=, model= or budget= to the Engine"
            )
        return self.budget

    @staticmethod
    def now() -> int:
        """Give the time in microseconds."""
        return times.now()

    def _drafter(self) -> Drafter:
        vault, redact = self.database.vault, self.plugins.redact
        return Drafter(self.namespace, self._secret, self.counter, lambda: self.plugins.formats, is_engines_own, vault, redact)

    def _names(self) -> bytes | None:
        """Give what keys names that tell content; without a cipher they need nothing."""
        return self._secret() if self.database.vault.encrypts else None

    def _admit(self) -> None:
        """Check that the namespace can be read."""
        try:
            self.secrets.admit(self.namespace)
        except BaseException:
            self.database.close()
            raise

    def _secret(self) -> bytes:
        return self.secrets.make(self.namespace)

    def _shown_above_hard(self, key: ThreadKey, limits: Limits) -> object:
        """Give what a model is shown of a thread that is above hard, or may be when its open calls are completed; None of others.

        It can't be found out afterwards: a view may show ancestors in place of what it holds, and compaction makes some.
        """
        with self.database.read() as connection:
            head = read_head(connection, key)
            if head is None:
                return None
            above = self.views.load(connection, key.namespace, head.view).tokens(head.total_tokens) > limits.hard
        return self._shown(key, limits) if above or head.open_calls else None

    def _shown(self, key: ThreadKey, limits: Limits) -> object:
        with self.database.read() as connection:
            head = read_head(connection, key)
            view = GENESIS if head is None else self.views.load(connection, key.namespace, head.view)
            profile = find_profile("openai")
            context = self.builder.build(connection, key, head, view, limits=limits, profile=profile, format=DEFAULT_FORMAT)
        return context.system, context.messages

    def _with_summaries(self, connection: Connection, hits: Sequence[Hit]) -> list[Hit]:
        """Name the summary that covers each hit in its thread's view."""
        by_thread: dict[str, list[int]] = {}
        for hit in hits:
            by_thread.setdefault(hit.thread_id, []).append(hit.seq)
        covers: dict[tuple[str, int], str] = {}
        for thread_id, seqs in by_thread.items():
            key = self._keys.get(thread_id) or find_key(connection, self.namespace, thread_id)
            head = read_head(connection, key) if key is not None else None
            if key is not None and head is not None:
                view = self.views.load(connection, self.namespace, head.view)
                covers.update({(thread_id, seq): id for seq, id in covering(connection, key, view, seqs).items()})
        return [replace(hit, summary_id=covers.get((hit.thread_id, hit.seq))) for hit in hits]

    def _policy(self, policy: str | Policy) -> Policy:
        if not isinstance(policy, str):
            return checked_policy(policy)
        known = self.plugins.policies(self.counter)
        if policy not in known:
            raise ConfigError(f"the policy {policy!r} is not known", hint=f"one of {', '.join(sorted(known))}")
        return known[policy]
