"""Chapters of the story: one service moves from the old ledger to the gateway."""

from __future__ import annotations

from typing import Any

from lossless.cli.demo_session import outputs, phrases
from lossless.cli.demo_session.recorder import Recorder, Use
from lossless.cli.demo_session.services import SERVICES, Service
from lossless.cli.demo_session.sources import client_path, client_source, edit_of, search_matches, values_file

__all__ = ["move"]

_QUESTIONS = tuple(f"{question}\n{answer}" for question, answer in phrases.QUESTIONS)


def move(recorder: Recorder, service: Service, *, hand_over: bool) -> None:
    """Let the agent move one service, the user looking over its shoulder; ``hand_over``: the next service follows at once."""
    fields = _fields(service)
    _read(recorder, service, fields)
    _edit(recorder, service)
    _test(recorder, service, fields)
    fields["checked"] = _compare(recorder, service, fields)
    _canary(recorder, service, fields)
    _promote(recorder, service, fields)
    if hand_over and recorder.dice.happens(50):
        recorder.user(recorder.phrase(phrases.NEXT, following=SERVICES[SERVICES.index(service) + 1].name, **fields))


def _fields(service: Service) -> dict[str, object]:
    done = SERVICES.index(service) + 1
    return {
        "name": service.name,
        "owner": service.owner,
        "rate": service.rate,
        "peak": service.rate * 5 // 2,
        "table": service.table,
        "entity": service.entity,
        "operations": ", ".join(operation.replace("_", " ") for operation in service.operations),
        "oddity": service.oddity,
        "remark": service.remark.partition(". ")[0].rstrip("."),
        "remedy": service.remedy.partition("; ")[0].partition(". ")[0].rstrip(".") + ".",
        "test": service.test,
        "done": done,
        "left": len(SERVICES) - done,
        "pods": max(2, service.rate // 60),
        "minutes": max(2, service.rate // 60) * 2,
        "share": max(2, service.rate * 2 // 12),
    }


def _read(recorder: Recorder, service: Service, fields: dict[str, object]) -> None:
    recorder.use(
        recorder.phrase(phrases.OPENING, **fields),
        Use("read_file", {"path": client_path(service)}, client_source(service, recorder.dice)),
        Use(
            "search_code",
            {"pattern": "ledger01", "path": f"services/{service.name}"},
            search_matches(service, recorder.dice),
        ),
    )
    path = f"services/{service.name}/deploy/values.yaml"
    recorder.use(
        recorder.phrase(phrases.FINDING, **fields),
        Use("read_file", {"path": path}, values_file(service, recorder.dice)),
    )
    recorder.user(service.remark)


def _edit(recorder: Recorder, service: Service) -> None:
    edits = [edit_of(service, operation) for operation in service.operations[:2]]
    answers = [_edited(recorder) for _ in edits]
    recorder.use(
        service.remedy,
        *(Use("edit_file", arguments, answer) for arguments, answer in zip(edits, answers, strict=True)),
    )


def _edited(recorder: Recorder) -> dict[str, Any]:
    added = recorder.dice.between(4, 19)
    return {"ok": True, "added": added, "removed": recorder.dice.between(1, added), "commit": recorder.dice.hexadecimal(10)}


def _test(recorder: Recorder, service: Service, fields: dict[str, object]) -> None:
    command = {"command": f"make test SERVICE={service.name}", "timeout_seconds": 900}
    failing = recorder.dice.happens(40)
    run = outputs.failed_run if failing else outputs.passed_run
    recorder.use(recorder.phrase(phrases.TESTS, **fields), Use("run_command", command, run(service, recorder.dice)))
    if failing:
        edit = edit_of(service, service.operations[-1])
        recorder.use(recorder.phrase(phrases.FAILED, **fields), Use("edit_file", edit, _edited(recorder)))
        again = outputs.passed_run(service, recorder.dice)
        recorder.use(recorder.phrase(phrases.TESTS_AGAIN), Use("run_command", command, again))


def _compare(recorder: Recorder, service: Service, fields: dict[str, object]) -> str:
    """Compare both ledgers, twice if cents differ; give how many entries were equal in the end."""
    text = recorder.phrase(phrases.COMPARE, **fields)
    different = recorder.dice.between(2, 4) if recorder.dice.happens(30) else 0
    while True:
        found = outputs.comparison(service, recorder.dice, recorder.now, different=different)
        checked = f"{found['checked']:,}".replace(",", " ")
        recorder.use(text, Use("compare_ledgers", {"service": service.name, "minutes": 60}, found))
        if not different:
            return checked
        text = recorder.phrase(phrases.CENTS, count=different, checked=checked)
        different = 0


def _canary(recorder: Recorder, service: Service, fields: dict[str, object]) -> None:
    recorder.use(
        recorder.phrase(phrases.COMPARED, **fields),
        Use(
            "deploy",
            {"service": service.name, "write_mode": "dual", "share_percent": 10},
            outputs.rollout(service, recorder.dice, mode="dual", share=10),
        ),
    )
    table = outputs.metrics(service, recorder.dice, recorder.now, share=10)
    count = recorder.dice.between(26, 56) if recorder.dice.happens(35) else recorder.dice.between(5, 14)
    log = outputs.log_lines(service, recorder.dice, recorder.now, count)
    recorder.use(
        recorder.phrase(phrases.CANARY, **fields),
        Use("get_metrics", {"service": service.name, "window": outputs.window_of(recorder.now, 15)}, table),
        Use("read_logs", {"service": service.name, "limit": len(log.splitlines())}, log),
    )
    low, high = outputs.p99_range(table)
    recorder.say(recorder.phrase(phrases.WATCH, low=low, high=high, **fields))
    if recorder.dice.happens(60):
        question, answer = recorder.phrase(_QUESTIONS, **fields).split("\n")
        recorder.user(question)
        recorder.say(answer)
    recorder.user(recorder.phrase(phrases.GO_ON, **fields))


def _promote(recorder: Recorder, service: Service, fields: dict[str, object]) -> None:
    news = recorder.phrase(phrases.NEWS, clock=recorder.clock(), **fields)
    recorder.use(
        recorder.phrase(phrases.PROMOTE, **fields),
        Use(
            "deploy",
            {"service": service.name, "write_mode": "new", "share_percent": 100},
            outputs.rollout(service, recorder.dice, mode="new", share=100),
        ),
        Use(
            "post_message",
            {"channel": f"#team-{service.name}", "text": news},
            {"ok": True, "ts": f"{recorder.seconds()}.{recorder.dice.between(100_000, 999_999)}"},
        ),
    )
    closing = recorder.phrase(phrases.DONE, clock=recorder.clock(), **fields)
    if recorder.dice.happens(30):
        closing += " " + recorder.phrase(phrases.NOTED, **fields)
    recorder.say(closing)
