"""What the saver stores, gives back, shares, removes and refuses."""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import re
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from pydantic import BaseModel
from sqlalchemy import select, text
from typing_extensions import TypedDict

from lossless import AesGcmCipher, Engine
from lossless.errors import ConfigError, CorruptError, ExistsError, LosslessError, MessageError, SchemaError
from lossless.store.prepared import Prepared
from lossless.store.tables import CheckpointPartRow
from lossless_children import children
from lossless_langchain.codec import decode_stored
from lossless_langgraph import LosslessSaver
from lossless_langgraph_putting import config, put, put_by_threads, put_for_ever

PARTS = CheckpointPartRow.__table__  # type: ignore[attr-defined]
SURROGATE = "x\ud800y"


def values(saver: LosslessSaver, where: Any) -> Any:
    found = saver.get_tuple(where)
    assert found is not None
    return found.checkpoint["channel_values"]


def parts(saver: LosslessSaver) -> int:
    with saver.engine.database.read() as connection:
        return len(connection.execute(select(PARTS.c.digest)).all())


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are the same: types too, NaN equal to itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


class Pair(NamedTuple):
    a: Any
    b: Any


class Model(BaseModel):
    held: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    inner: Any


@pytest.mark.parametrize(
    "value",
    [
        [
            OrderedDict(b=(1,), a=2), Counter("aab"), defaultdict(list, k=[(1,)]), {(1, 2), 3}, frozenset({(1, 2)}),
            deque([(1,)], 3), Held((1, [2, (3,)])), Held({"k": OrderedDict(a={1})}), Held(SURROGATE), Model(held=Held((1,))),
            Pair((1,), bytearray(b"b")),
        ],
        None, True, 1, 1.0, -0.0, float("nan"), float("inf"), 2**200, -(2**70), "", "NUL\0", SURROGATE, b"\0\xff",
        bytearray(b"ab"),
        (1, (2, "x" * 200)), [], {}, [[]] * 3, {"k": (1, [2, {"x": None}])}, {1: "int key", (1, 2): "tuple key"},
        {SURROGATE: SURROGATE * 100}, [SURROGATE, {"deep": [2**100] * 40}], list(range(5_000)), [["n" * 99] * 33] * 33,
        datetime(2026, 1, 2, tzinfo=UTC), Decimal("1.10"), Send("node", {"messages": [HumanMessage("x" * 100)]}),
        HumanMessage(SURROGATE, id="h", additional_kwargs={"n": 2**100, "t": (1, 2)}),
        AIMessage("a", tool_calls=[{"name": "t", "args": {"n": 2**80}, "id": "c"}]),
        ToolMessage("r", tool_call_id="c", artifact={"when": datetime(2026, 1, 2, tzinfo=UTC), 3: b"x"}),
    ],
    ids=lambda value: f"{type(value).__name__}",
)  # fmt: skip
def test_a_value_comes_back_as_it_was(saver: LosslessSaver, value: Any) -> None:
    first = put(saver, {"c": value, "in a list": [value, value], "in a dict": {"k": value}})
    saver.put_writes(first, [("c", value)], "task")
    other = LosslessSaver(saver.engine)
    assert same(values(other, first), {"c": value, "in a list": [value, value], "in a dict": {"k": value}})
    found = other.get_tuple(first)
    assert found is not None
    assert found.pending_writes is not None
    assert same(found.pending_writes[0][2], value)


def test_a_list_that_grows_shares_what_it_was(saver: LosslessSaver) -> None:
    messages: list[Any] = [HumanMessage(f"{n} " + "text " * 100, id=f"m{n}") for n in range(400)]
    where = put(saver, {"messages": messages})
    before = parts(saver)
    for n in range(400, 410):
        messages = [*messages, HumanMessage(f"{n} " + "text " * 100, id=f"m{n}")]
        where = put(saver, {"messages": messages, "again": messages}, where)
    assert parts(saver) - before <= 10 * 4
    assert values(saver, where) == {"messages": messages, "again": messages}


def test_content_that_another_process_has_removed_is_stored_again(saver: LosslessSaver) -> None:
    messages = [HumanMessage("text " * 100, id=f"m{n}") for n in range(100)]
    put(saver, {"messages": messages})
    LosslessSaver(saver.engine).delete_thread("t")
    assert parts(saver) == 0
    assert values(saver, put(saver, {"messages": messages})) == {"messages": messages}


@pytest.mark.parametrize("capture", [(), ("messages",)])
def test_content_that_went_with_the_checkpoint_before_is_stored_again(saver: LosslessSaver, capture: tuple[str, ...]) -> None:
    mine = LosslessSaver(saver.engine, capture=capture)
    messages = [HumanMessage(f"{n} " + "text " * 100, id=f"m{n}") for n in range(70)]
    put(mine, {"messages": messages[:-2]}, run_id="first")
    gone = put(mine, {"messages": messages[:-1]}, run_id="second")
    saver.delete_for_runs(["second"])
    assert saver.get_tuple(gone) is None
    assert values(saver, put(mine, {"messages": messages}, gone)) == {"messages": messages}
    assert saver.engine.verify().ok


def test_a_put_after_one_that_it_grew_from_says_each_thing_once(saver: LosslessSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [HumanMessage(f"{n} " + "text " * 100, id=f"m{n}") for n in range(70)]
    before = put(saver, {"messages": messages[:-1]}, put(saver, {"messages": messages[:-2]}))
    said = []
    compiled = Prepared._for
    monkeypatch.setattr(
        Prepared, "_for", lambda self, connection: (found := compiled(self, connection), said.append(found.sql))[0]
    )
    put(saver, {"messages": messages}, before)
    verbs = [re.sub(r"\s.*?(lossless_\w+).*", r" \1", sql, flags=re.DOTALL) for sql in said]
    assert len(verbs) == len(set(verbs))
    assert [verb for verb in verbs if verb.startswith("SELECT")] == [
        f"SELECT lossless_{name}" for name in ("head", "tombstone", "checkpoint_pool", "checkpoint", "message")
    ]


def test_a_channel_that_did_not_change_is_taken_from_the_checkpoint_before(saver: LosslessSaver) -> None:
    first = put(saver, {"a": ["x" * 100], "b": 1}, version="1")
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"b": 2}
    checkpoint["channel_versions"] = {"a": "1", "b": "2"}
    second = saver.put(first, checkpoint, {}, {"b": "2"})
    assert values(saver, second) == {"a": ["x" * 100], "b": 2}
    third = empty_checkpoint()
    third["channel_versions"] = {"a": "2", "b": "2"}
    assert values(saver, saver.put(second, third, {}, {"a": "2"})) == {"b": 2}


def test_writes_come_in_the_order_of_tasks_and_special_ones_are_replaced(saver: LosslessSaver) -> None:
    where = config(checkpoint_id="0")
    saver.put_writes(where, [("x", "late")], "task-a", "~2")
    saver.put_writes(where, [("x", 1), ("y", 2)], "task-b", "~1")
    saver.put_writes(where, [("x", "not this"), ("y", "nor this")], "task-b", "~1")
    saver.put_writes(where, [("__interrupt__", "old")], "task-b", "~1")
    saver.put_writes(where, [("__interrupt__", "new")], "task-b", "~1")
    checkpoint = empty_checkpoint() | {"id": "0"}
    saver.put(config(), checkpoint, {}, {})  # type: ignore[arg-type]
    found = saver.get_tuple(where)
    assert found is not None
    assert found.pending_writes == [
        ("task-b", "__interrupt__", "new"),
        ("task-b", "x", 1),
        ("task-b", "y", 2),
        ("task-a", "x", "late"),
    ]


def test_filters_compare_scalars_and_look_into_the_rest(saver: LosslessSaver) -> None:
    put(saver, {}, step=1, tags=["a", "b"], deep={"k": 1, "l": [1, 2]})
    put(saver, {}, step=2, tags=["b"], deep={"k": 2})
    found = [
        len(list(saver.list(config(), filter=one)))
        for one in (
            {"step": 1},
            {"tags": ["b"]},
            {"tags": ["a"]},
            {"deep": {"l": [2]}},
            {"deep": {"k": 3}},
            {"missing": None},
            {"missing": 1},
        )
    ]
    assert found == [1, 2, 1, 1, 0, 2, 0]


def test_a_list_is_read_in_pages_while_its_reader_does_other_things(saver: LosslessSaver) -> None:
    where = None
    for n in range(150):
        where = put(saver, {"n": n}, where)
        put(saver, {"n": -n}, config(f"other {n % 3}"))
    seen = []
    for found in saver.list(config()):
        assert saver.get_tuple(found.config) == found
        if len(seen) == 10:
            put(saver, {"n": "new"}, where)
        seen.append(found.checkpoint["channel_values"]["n"])
    assert seen == list(range(149, -1, -1))
    assert len(list(saver.list(None))) == 301
    assert [found.checkpoint["channel_values"]["n"] for found in saver.list(config(), before=where, limit=2)] == [148, 147]


def test_thread_ids_are_texts(saver: LosslessSaver) -> None:
    put(saver, {"n": 7}, config(7))
    assert values(saver, config("7")) == {"n": 7}


@pytest.mark.parametrize("configurable", [{}, {"thread_id": ""}, {"thread_id": "\0"}])
def test_a_config_without_a_usable_thread_is_refused(saver: LosslessSaver, configurable: Any) -> None:
    given: Any = {"configurable": configurable}
    attempts: list[Any] = [saver.get_tuple, lambda one: list(saver.list(one)), lambda one: put(saver, {"n": 1}, one)]
    for attempt in (*attempts, lambda one: saver.put_writes(one, [("n", 1)], "task")):
        with pytest.raises(ConfigError, match="thread"):
            attempt(given)


def test_what_is_not_there_is_none(saver: LosslessSaver) -> None:
    assert saver.get_tuple(config()) is None
    put(saver, {"n": 1})
    assert saver.get_tuple(config(checkpoint_id="unknown")) is None
    saver.put_writes(config(checkpoint_id="unknown"), [("n", 2)], "task")
    assert saver.get_tuple(config(checkpoint_id="unknown")) is None
    assert values(saver, put(saver, {"n": 3}, config(checkpoint_id="unknown"))) == {"n": 3}
    assert list(saver.list(config("unknown"))) == []
    saver.delete_thread("unknown")
    saver.copy_thread("unknown", "new")
    saver.prune(["unknown"])


def test_a_value_that_can_not_be_written_names_its_place(saver: LosslessSaver) -> None:
    with pytest.raises(MessageError, match=r"thread 't', channel 'state'\['a'\]\[1\]"):
        put(saver, {"state": {"a": [1, threading.Lock()]}})
    assert saver.get_tuple(config()) is None


@pytest.mark.parametrize(
    ("table", "where", "place"),
    [("checkpoint_part", "size = 502", r"channel 'state'\['a'\]\[1\]"), ("blob", "true", r"channel 'messages'\[0\]")],
)
def test_changed_content_names_its_place(tmp_path: Any, table: str, where: str, place: str) -> None:
    with Engine(f"sqlite:///{tmp_path}/x.db", load_plugins=False) as engine:
        saver = LosslessSaver(engine)
        here = put(saver, {"state": {"a": ["good" * 50, "b" * 500]}, "messages": [HumanMessage("c" * 500)]})

        def change(connection: Any) -> None:
            connection.execute(text(f"DROP TRIGGER lossless_{table}_no_update"))
            connection.execute(text(f"UPDATE lossless_{table} SET data = x'00' WHERE {where}"))

        engine.database.write(change)
        with pytest.raises(CorruptError, match=f"thread 't', .*{place}"):
            saver.get_tuple(here)


def test_a_value_that_the_serializer_refuses_to_read_names_its_place(saver: LosslessSaver) -> None:
    pickling = LosslessSaver(saver.engine, serde=JsonPlusSerializer(pickle_fallback=True))
    where = put(pickling, {"state": {"a": [1, range(3)]}})
    assert values(pickling, where) == {"state": {"a": [1, range(3)]}}
    with pytest.raises(CorruptError, match=r"thread 't', .*channel 'state'\['a'\]\[1\].*pickle"):
        saver.get_tuple(where)


def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: Any) -> None:
    path = tmp_path / "x.db"
    with LosslessSaver.from_conn_string(str(path)) as saver:
        put(saver, {"n": 1})
        saver.engine.database.write(lambda c: c.execute(text("UPDATE lossless_schema_version SET version_num = '9999'")))
    before = path.read_bytes()
    for opened in (LosslessSaver.from_conn_string(str(path)).__enter__, lambda: LosslessSaver(f"sqlite:///{path}")):
        with pytest.raises(SchemaError, match="9999"):
            opened()
    assert path.read_bytes() == before


def test_a_copy_and_its_source_are_independent(saver: LosslessSaver) -> None:
    messages = [HumanMessage("text " * 100, id=f"m{n}") for n in range(50)]
    where = put(saver, {"messages": messages})
    before = parts(saver)
    saver.copy_thread("t", "copy")
    assert parts(saver) == before
    with pytest.raises(ExistsError):
        saver.copy_thread("t", "copy")
    put(saver, {"messages": messages[:1]}, where)
    saver.delete_thread("t")
    assert saver.get_tuple(config()) is None
    assert values(saver, config("copy")) == {"messages": messages}
    put(saver, {"messages": messages[1:]}, config("copy"))
    saver.prune(["copy"])
    assert values(saver, config("copy")) == {"messages": messages[1:]}
    saver.delete_thread("copy")
    assert parts(saver) == 0


def delta_graph(saver: LosslessSaver) -> Any:
    def extend(found: list[Any], given: list[list[Any]]) -> list[Any]:
        return [*(found or []), *(one for some in given for one in some)]

    class State(TypedDict):
        log: Any

    State.__annotations__["log"] = Annotated[list, DeltaChannel(extend, snapshot_frequency=10)]
    graph = StateGraph(State)
    graph.add_node("work", lambda state: {"log": [f"work {len(state['log'])}"]})
    graph.add_edge(START, "work")
    graph.add_edge("work", END)
    return graph.compile(checkpointer=saver)


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
def test_the_state_of_delta_channels_survives_pruning(saver: LosslessSaver) -> None:
    app = delta_graph(saver)
    for n in range(17):
        app.invoke({"log": [f"given {n}"]}, {**config(), "metadata": {"run_id": f"run {n}"}})
    before = app.get_state(config()).values
    assert len(before["log"]) == 34
    saver.delete_for_runs(["run 15", "run 3"])
    assert app.get_state(config()).values == before
    assert {found.metadata["run_id"] for found in saver.list(config())} == {f"run {n}" for n in range(17)} - {"run 3", "run 15"}
    saver.prune(["t"])
    assert app.get_state(config()).values == before
    assert len(list(saver.list(config()))) == 1
    app.invoke({"log": ["more"]}, config())
    assert app.get_state(config()).values["log"][:34] == before["log"]


@pytest.mark.usefixtures("payloads_in_clear")
def test_an_encrypting_serializer_leaves_nothing_in_clear(tmp_path: Any) -> None:
    path = tmp_path / "x.db"
    serde = EncryptedSerializer(_Cipher())
    with pytest.raises(ConfigError, match="in clear"):
        LosslessSaver(f"sqlite:///{path}", serde=serde)
    with LosslessSaver.from_conn_string(str(path), serde=serde, capture=()) as saver:
        messages = [HumanMessage(f"secret-word {n}" * 20, id="secret-id") for n in range(70)]
        where = put(saver, {"secret-channel": {"secret-key": messages}}, source="secret-source")
        saver.put_writes(where, [("secret-channel", messages)], "task")
        before = parts(saver)
        put(saver, {"secret-channel": {"secret-key": messages}}, where)
        assert parts(saver) == before
        assert values(saver, where) == {"secret-channel": {"secret-key": messages}}
        with pytest.raises(LosslessError):
            LosslessSaver(saver.engine).get_tuple(where)
        put(LosslessSaver(saver.engine), {"plain": "text"}, config("plain"))
        with pytest.raises(CorruptError, match="not encrypted"):
            saver.get_tuple(config("plain"))
        saver.delete_thread("plain")
    assert not [file.name for file in tmp_path.iterdir() if b"secret-" in file.read_bytes()]


def test_an_engine_with_a_cipher_seals_checkpoints(url: str, tmp_path: Any) -> None:
    with Engine(url, cipher=AesGcmCipher(os.urandom(32)), load_plugins=False) as engine:
        saver = LosslessSaver(engine)
        where = put(saver, {"messages": [HumanMessage("secret-word " * 20)]}, source="secret-source")
        saver.put_writes(where, [("messages", "secret-word " * 20)], "task")
        saver.copy_thread("t", "copy")
        assert values(saver, config("copy")) == values(saver, where)
        with engine.database.read() as connection:
            for table in ("part", "write"):
                found = connection.execute(text(f"SELECT * FROM lossless_checkpoint_{table}")).all()
                assert found
                assert b"secret-" not in b"".join(
                    bytes(one) for row in found for one in row if isinstance(one, (bytes, memoryview))
                )


class _Cipher:
    """A toy: what matters is that nothing stays readable, and that it differs each time."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        key = os.urandom(1)[0] | 1
        return "toy", bytes((key,)) + bytes(byte ^ key ^ 0x80 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return bytes(byte ^ ciphertext[0] ^ 0x80 for byte in ciphertext[1:])


@dataclasses.dataclass
class Custom:
    n: int


def test_the_allowlist_holds_for_each_element(saver: LosslessSaver, caplog: pytest.LogCaptureFixture) -> None:
    strict = LosslessSaver(saver.engine, serde=JsonPlusSerializer(allowed_msgpack_modules=[]))
    where = put(strict, {"c": [Custom(1), {"k": Custom(2)}], "d": [Held((1, 2)), Held({Held((3,))})]})
    found = values(strict, where)
    assert not any(isinstance(one, (Custom, Held)) for name in ("c", "d") for one in found[name])
    allowed = strict.with_allowlist([(Custom.__module__, "Custom")])
    assert isinstance(allowed, LosslessSaver)
    assert allowed.engine is saver.engine
    assert values(allowed, where)["c"] == [Custom(1), {"k": Custom(2)}]


def test_namespaces_do_not_see_each_other(url: str) -> None:
    with Engine(url, load_plugins=False) as one, Engine(url, namespace="other", load_plugins=False) as other:
        put(LosslessSaver(one), {"n": 1})
        saver = LosslessSaver(other)
        assert saver.get_tuple(config()) is None
        assert list(saver.list(None)) == []
        saver.delete_thread("t")
        assert values(LosslessSaver(one), config()) == {"n": 1}


def test_versions_of_branches_differ_and_grow(saver: LosslessSaver) -> None:
    first = saver.get_next_version(None, None)
    assert saver.get_next_version(first, None) != saver.get_next_version(first, None)
    assert first < saver.get_next_version(first, None)


def test_a_copied_saver_shares_its_engine(saver: LosslessSaver) -> None:
    where = put(copy.copy(saver), {"n": 1})
    assert values(saver, where) == {"n": 1}


def test_what_is_captured_is_named_by_channels(saver: LosslessSaver) -> None:
    for capture in ("messages", [1]):
        with pytest.raises(ConfigError, match="channels"):
            LosslessSaver(saver.engine, capture=capture)  # type: ignore[arg-type]


def test_eight_threads_put_at_once(saver: LosslessSaver) -> None:
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            where = config(f"thread {thread % 4}")
            for n in range(25):
                made = put(saver, {"log": [f"{thread} {one} " + "x" * 90 for one in range(n)]}, where)
                saver.put_writes(made, [("log", n)], f"task {thread}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    assert [len(list(saver.list(config(f"thread {n}")))) for n in range(4)] == [50] * 4


@pytest.mark.slow
def test_two_processes_with_four_threads_each_put_into_one_file(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/x.db"
    names = [[f"process {process} thread {n}" for n in range(3)] + ["of both"] for process in range(2)]
    with ProcessPoolExecutor(2, mp_context=children()) as processes:
        done = [processes.submit(put_by_threads, url, of_process, 50) for of_process in names]
        assert [one.result() for one in done] == [[], []]
    with Engine(url, load_plugins=False) as engine:
        saver = LosslessSaver(engine)
        for name in {*names[0], *names[1]}:
            found, rounds = list(saver.list(config(name))), 2 if name == "of both" else 1
            assert sorted(one.checkpoint["channel_values"]["n"] for one in found) == sorted([*range(50)] * rounds)
            assert all(len(one.pending_writes or ()) == 1 for one in found)
            assert shown(saver, name) == found[0].checkpoint["channel_values"]["messages"]
            assert len(engine.thread(name).messages(deleted=True)) == 50 * rounds
        assert engine.verify().problems == ()


@pytest.fixture
def killed(url: str) -> None:
    context = children()
    ready = context.Event()
    process = context.Process(target=put_for_ever, args=(url, ready), daemon=True)
    process.start()
    assert ready.wait(60)
    process.kill()
    process.join()


def shown(saver: LosslessSaver, name: str) -> list[Any]:
    return [message for stored in saver.engine.thread(name).messages() for message in decode_stored(stored)]


@pytest.mark.usefixtures("killed")
def test_a_process_that_is_killed_leaves_whole_checkpoints_and_the_thread_at_the_newest(url: str) -> None:
    with Engine(url, load_plugins=False) as engine:
        saver = LosslessSaver(engine)
        found = list(saver.list(config()))
        assert [one.checkpoint["channel_values"]["n"] for one in found] == list(range(len(found)))[::-1]
        assert all(len(one.pending_writes or ()) == 2 for one in found[1:])
        assert shown(saver, "t") == found[0].checkpoint["channel_values"]["messages"]
        written = saver.get_tuple(config("written"))
        assert written is not None
        assert written.pending_writes is not None
        ((_task, _channel, answer),) = written.pending_writes
        asked = written.checkpoint["channel_values"]["messages"]
        assert [one.id for one in [*asked, *answer]] == ["asked", "answered"]
        assert shown(saver, "written") == asked
        assert engine.verify().problems == ()
        assert values(saver, put(saver, {"messages": [*asked, *answer]}, written.config)) == {"messages": [*asked, *answer]}
        assert shown(saver, "written") == [*asked, *answer]
        assert values(saver, put(saver, {"n": -1}, found[0].config)) == {"n": -1}
        assert engine.verify().problems == ()


def test_a_long_list_is_known_by_its_runs_and_what_changes_in_place_within_one_is_stored(saver: LosslessSaver) -> None:
    messages: list[Any] = [AIMessage(f"{n} " + "text " * 30, id=f"m{n}", additional_kwargs={"n": 1}) for n in range(100)]
    where = put(saver, {"messages": messages, "other": messages})
    before = values(saver, where)
    for change in (True, 1.0, 2):
        messages[40].additional_kwargs["n"] = change
        where = put(saver, {"messages": messages, "other": messages}, where)
        found = values(saver, where)
        assert [repr(found[name][40].additional_kwargs["n"]) for name in ("messages", "other")] == [repr(change)] * 2
        assert found["other"] == messages
        assert [one.id for one in saver.engine.thread("t").messages()] == [one.id for one in messages]
    assert before["messages"][40].additional_kwargs == {"n": 1}
