"""Putting checkpoints by hand, and for ever in a process that is to be killed."""

from __future__ import annotations

import os
import threading
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint

from lossless import Engine
from lossless_langgraph import LosslessSaver

__all__ = ["config", "put", "put_by_threads", "put_for_ever"]


def config(thread: Any = "t", **more: Any) -> Any:
    """Give the config of a thread's root graph."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **more}}


def put(saver: LosslessSaver, values: dict[str, Any], parent: Any = None, *, version: Any = None, **metadata: Any) -> Any:
    """Put a checkpoint in which all channels are new, and give its config."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    versions = {name: version or saver.get_next_version(None, None) for name in values}
    checkpoint["channel_versions"] = versions
    return saver.put(parent or config(), checkpoint, metadata, versions)  # type: ignore[arg-type]


def put_by_threads(url: str, names: list[str], count: int) -> list[BaseException]:
    """Put so many checkpoints, each with a write and one message more, on each of some threads at once; give what went wrong."""
    failures: list[BaseException] = []
    with Engine(url, load_plugins=False) as engine:
        saver = LosslessSaver(engine)

        def work(name: str) -> None:
            try:
                where, said = config(name), list[Any]()
                for n in range(count):
                    said = [*said, HumanMessage(f"{os.getpid()} says {n}", id=f"{os.getpid()} {n}")]
                    log = [f"{name} {one} " + "x" * 90 for one in range(n % 9)]
                    where = put(saver, {"log": log, "n": n, "messages": said}, where)
                    saver.put_writes(where, [("log", n)], "task")
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(name,)) for name in names]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    return failures


def put_for_ever(url: str, ready: Any) -> None:
    """Put one checkpoint after another, each followed by writes that the next one holds; say so once there are some.

    On the thread "written", writes are the last there is: the checkpoint that holds them never comes.
    """
    with Engine(url, load_plugins=False) as engine:
        saver, where, n = LosslessSaver(engine), config(), 0
        written = put(saver, {"messages": [HumanMessage("asked", id="asked")]}, config("written"))
        saver.put_writes(written, [("messages", [AIMessage("answered", id="answered")])], "task")
        said: list[Any] = []
        while True:
            said = [*said, HumanMessage(f"message {n}", id=f"h{n}")]
            if n:
                saver.put_writes(where, [("log", n), ("messages", said[-1:])], "task")
            where = put(saver, {"log": [f"{one} " + "x" * 90 for one in range(n % 100)], "n": n, "messages": said}, where)
            n += 1
            if n == 20:
                ready.set()
