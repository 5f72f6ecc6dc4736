"""Locks and forks: a child waits for no thread that it does not have."""

from __future__ import annotations

import ast
import os
import signal
import threading

import pytest

from lossless.locks import ForkLock
from lossless_sources import modules

RENEWING = {
    "lossless.compaction.turns",
    "lossless.compaction.worker",
    "lossless.locks",
    "lossless.store.forking",
    "lossless.store.sqlite",
}
"""Modules that begin anew in a child, with more than their locks."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_finds_a_lock_free_that_another_thread_held_and_keeps_its_own() -> None:
    own, of_another = ForkLock(), ForkLock()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with of_another:
            held.set()
            assert done.wait(30)

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(30)
    with own:
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            with own, of_another:
                taken = threading.Thread(target=own.__enter__, daemon=True)
                taken.start()
                taken.join(0.1)
            os._exit(0 if taken.is_alive() else 1)
        status = os.waitpid(child, 0)[1]
    done.set()
    other.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_every_lock_is_one_that_a_child_finds_free() -> None:
    made = {module.name for module in modules() for call in ast.walk(module.tree) if isinstance(call, ast.Call) and bare(call)}
    assert made == RENEWING


def bare(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("threading.Lock", "threading.RLock", "threading.Condition")
