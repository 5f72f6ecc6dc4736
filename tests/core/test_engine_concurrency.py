"""Many threads and processes on one conversation: nothing lost, nothing doubled, nothing out of order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from lossless import Engine
from lossless_children import append_all, append_until_killed, children, message, take_snapshots

SAID = " and so on, word after word, until there is enough of it to be compacted some day" * 3


def said(writer: str, number: int) -> str:
    return f"writer {writer} number {number}{SAID}"


def check(engine: Engine, writers: int, count: int) -> None:
    messages = engine.thread("shared").messages()
    assert [found.seq for found in messages] == list(range(1, len(messages) + 1))
    for writer in range(writers):
        own = [found.text for found in messages if found.text.startswith(f"writer {writer} ")]
        assert own[:count] == [said(str(writer), number) for number in range(count)]
        assert len(own) == len(set(own))
    report = engine.verify()
    assert report.ok, report.problems


def test_processes_that_append_to_one_thread_lose_and_mix_up_nothing(url: str) -> None:
    context = children()
    gate = context.Barrier(3)
    given = [(url, "shared", f"process {number}", 25, gate, {"window": 2_000}) for number in range(3)]
    processes = [context.Process(target=append_all, args=arguments) for arguments in given]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    with Engine(url, load_plugins=False) as engine:
        messages = engine.thread("shared").messages()
        assert [found.seq for found in messages] == list(range(1, 76))
        for number in range(3):
            own = [found.text for found in messages if found.text.startswith(f"process {number}:")]
            assert own == [message(f"process {number}", count)["content"] for count in range(25)]
        assert engine.verify().ok


def test_what_a_killed_process_was_told_is_stored_is_stored(url: str) -> None:
    context = children()
    safe: list[int] = []
    for _ in range(2):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=append_until_killed, args=(url, sender, len(safe), True))
        process.start()
        sender.close()
        enough = len(safe) + 30
        while len(safe) < enough:
            assert receiver.poll(60)
            safe.append(receiver.recv())
        process.kill()
        process.join(60)
        while receiver.poll():
            try:
                safe.append(receiver.recv())
            except EOFError:
                break
        receiver.close()
        with Engine(url, load_plugins=False) as engine:
            assert engine.verify().ok
            texts = [found.text for found in engine.thread("t").messages(deleted=True)]
        assert {message("child", number)["content"] for number in safe} <= set(texts)
        safe = list(range(max(safe) + 1))


def test_threads_that_append_and_compact_one_thread_lose_and_mix_up_nothing(url: str) -> None:
    with Engine(url, window=4_000, load_plugins=False) as engine:

        def go_on(writer: int) -> None:
            for number in range(12):
                engine.thread("shared").append({"role": "user", "content": said(str(writer), number)})
                if number % 5 == 4:
                    engine.thread("shared").compact(force=True)

        with ThreadPoolExecutor(12) as pool:
            for done in [pool.submit(go_on, writer) for writer in range(12)]:
                done.result(200)
        assert engine.thread("shared").wait(60)
        check(engine, 12, 12)
        assert engine.thread("shared").context().status == "ok"


def test_the_same_transcript_brought_by_many_at_once_is_stored_once(url: str) -> None:
    transcript = [{"role": "user" if number % 2 == 0 else "assistant", "content": f"line {number}"} for number in range(20)]
    with Engine(url, load_plugins=False) as engine:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _n: engine.thread("t").sync(transcript), range(8)))
        assert [found.text for found in engine.thread("t").messages()] == [line["content"] for line in transcript]
        with ThreadPoolExecutor(8) as pool:
            list(
                pool.map(
                    lambda _n: engine.thread("ids").append([{**line, "id": line["content"]} for line in transcript]), range(8)
                )
            )
        assert len(engine.thread("ids").messages()) == 20


def test_equal_contents_stored_by_many_in_any_order_do_not_stop_each_other(url: str) -> None:
    contents = [f"shared content {number}" for number in range(30)]

    def store(writer: int) -> None:
        order = contents[writer:] + contents[:writer]
        if writer % 2:
            order.reverse()
        engine.thread(f"own {writer}").append([{"role": "user", "content": content} for content in order])

    with Engine(url, load_plugins=False) as engine:
        with ThreadPoolExecutor(10) as pool:
            list(pool.map(store, range(10)))
        assert engine.verify().ok
        assert len(engine.grep("shared content 7").items) == 10


def test_processes_that_take_snapshots_of_one_thread_take_them_all(url: str) -> None:
    context = children()
    gate = context.Barrier(3)
    given = [(url, "shared", f"process {number}", 50, gate) for number in range(3)]
    processes = [context.Process(target=take_snapshots, args=arguments) for arguments in given]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    with Engine(url, load_plugins=False) as engine:
        thread = engine.thread("shared")
        snapshots = {snapshot.name: snapshot for snapshot in thread.snapshots()}
        assert len(snapshots) == 150
        for number in range(3):
            seqs = [snapshots[f"process {number} {count}"].seq for count in range(50)]
            assert seqs == sorted(set(seqs))
        newest = max(snapshots.values(), key=lambda snapshot: snapshot.seq)
        assert newest.seq == 150
        assert engine.verify().ok
