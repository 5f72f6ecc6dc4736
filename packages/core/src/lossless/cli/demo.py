"""``lossless demo``: a long session played into a small window, and the proof that nothing of it was lost."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lossless.cli.hints import program
from lossless.cli.keys import given_cipher
from lossless.cli.opening import shown_url
from lossless.cli.options import AsJson, NamespaceOption
from lossless.cli.output import console, counted, number, pairs, say, styled, visible, write_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from lossless import Engine
    from lossless.cli.asking import Answer
    from lossless.cli.playing import Moment
    from lossless.cli.proofs import Proof
    from lossless.cli.sessions import Session

__all__ = ["demo"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What a demonstration came to."""

    session: Session
    url: str
    thread_id: str
    last: Moment
    answer: Answer | None
    proofs: Sequence[Proof]
    seconds: float
    commands: Sequence[str]


def demo(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A transcript of yours, as `import` reads it."),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option("--window", metavar="TOKENS", min=1, help="The window. [default: 16000; less for a short FILE]"),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Whether the database is there afterwards.")] = True,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="The database. [default: a new one]")] = None,
    namespace: NamespaceOption = "default",
    as_json: AsJson = False,
) -> None:
    """Play a long session, and prove that nothing is lost.

    Needs no key and no network. The session is stored message by message, in a new database unless --url names one, with a
    window that is much too small for it. Before each of the agent's turns the context is asked for and checked. Exits with 1
    if a proof fails.
    """
    from lossless.cli.sessions import load_session

    out = None if as_json else console()
    session = load_session(file, window)
    with _database(url, keep) as where:
        outcome = _run(session, where, namespace, out, keep or url is not None)
    if as_json:
        write_json(_facts(outcome))
    elif out is not None:
        _print_answer(out, outcome)
        _print_proofs(out, outcome)
        _print_commands(out, outcome)
    if not all(proof.ok for proof in outcome.proofs):
        raise typer.Exit(1)


@contextmanager
def _database(url: str | None, keep: bool) -> Iterator[str]:
    """Give the URL to work with; a new database that is not to be kept, or that an error left behind, is removed."""
    if url is not None:
        yield url
        return
    folder = Path(tempfile.mkdtemp(prefix="lossless-demo-"))
    done = False
    try:
        yield f"sqlite:///{(folder / 'demo.db').as_posix()}"
        done = True
    finally:
        if not (done and keep):
            shutil.rmtree(folder, ignore_errors=True)


def _run(session: Session, url: str, namespace: str, out: Console | None, kept: bool) -> _Outcome:
    from lossless import Engine
    from lossless.cli.asking import answer, question_about
    from lossless.cli.proofs import prove

    if out is not None:
        _print_opening(out, session, url)
    began = time.monotonic()
    with Engine(url, namespace=namespace, window=session.window, durability="normal", cipher=given_cipher()) as engine:
        thread_id = _free_name(engine, "demo")
        last = _play(engine, thread_id, session, out)
        question = session.question or question_about(engine, thread_id, last.context)
        found = answer(engine, thread_id, question, last.context) if question is not None else None
        proofs = prove(engine, thread_id, session.messages, last, found)
    seconds = time.monotonic() - began
    commands = _commands(url, namespace, thread_id, session, last, found) if kept else []
    return _Outcome(
        session=session,
        url=url,
        thread_id=thread_id,
        last=last,
        answer=found,
        proofs=proofs,
        seconds=seconds,
        commands=commands,
    )


def _play(engine: Engine, thread_id: str, session: Session, out: Console | None) -> Moment:
    from lossless.cli.context import pinned_ids
    from lossless.cli.picture import picture_on
    from lossless.cli.playing import Player

    limits = engine.require_budget().limits(engine.margin)
    last: Moment | None = None
    pinned: set[str] = set()
    with picture_on(out, limits, pinned) as picture:
        for last in Player(engine, thread_id, session.messages, session.format).play():
            if not pinned:
                pinned |= pinned_ids(engine.thread(thread_id), last.context.items)
            picture.show(last)
    assert last is not None, "a session has a message"
    return last


def _free_name(engine: Engine, wanted: str) -> str:
    from lossless.cli.opening import thread_info

    name, count = wanted, 1
    while thread_info(engine, name) is not None:
        count += 1
        name = f"{wanted}-{count}"
    return name


def _commands(url: str, namespace: str, thread_id: str, session: Session, last: Moment, found: Answer | None) -> list[str]:
    """Give what to try next, ready to be pasted into a shell."""
    options = ["--url", shown_url(url)] + (["--namespace", namespace] if namespace != "default" else [])
    tries = [["context", thread_id, "--window", str(session.window)]]
    if found is not None and found.hit is not None:
        tries.append(["grep", "--thread", thread_id, *options, "--", found.question.pattern])
    summaries = [item.id for item in last.context.items if item.kind == "summary"]
    if summaries:
        tries.append(["describe", thread_id, summaries[-1]])
        tries.append(["expand", thread_id, summaries[-1], "--sources-only", "--limit", "5"])
    tries.append(["verify", thread_id])
    tries.append(["threads"])
    return [shlex.join([*program(), *one, *([] if options[1] in one else options)]) for one in tries]


def _print_opening(out: Console, session: Session, url: str) -> None:
    out.print(styled(("Lossless demo", "bold"), f": {session.about}"))
    for note in session.notes:
        out.print(styled(note))
    out.print(styled((f"database {shown_url(url)}", "dim")), soft_wrap=True)
    out.print()


def _print_answer(out: Console, outcome: _Outcome) -> None:
    found = outcome.answer
    if found is None:
        return
    question, hit = found.question, found.hit
    rows: list[tuple[Text | str, Text | str]] = [("question", styled((question.text, "bold")))]
    if hit is None:
        rows.append(("grep", f"{question.pattern!r} is not found"))
    else:
        under = f", which is under {hit.summary_id}" if hit.summary_id else ""
        rows.append(("grep", f"{question.pattern!r} stands in {hit.message_id}{under}"))
        rows.append(("expand", f"{hit.summary_id or hit.message_id} gives {counted(found.expanded, 'message')}, verbatim"))
    if found.found:
        rows.append(("answer", styled((question.sentence, "green"))))
    rows.append(("context", _whereabouts(found)))
    out.print()
    out.print("Asked about an early detail")
    pairs(rows)


def _whereabouts(found: Answer) -> str:
    """Say what the context itself still holds of an answer."""
    if found.in_context:
        return "holds this sentence as well"
    gone = "no longer holds this sentence: it was summarised away"
    facts = len(found.question.facts)
    return f"{gone}; {found.facts_in_context} of its {facts} facts stand in a summary" if facts else gone


def _print_proofs(out: Console, outcome: _Outcome) -> None:
    ascii_only = out.options.ascii_only
    good, bad = ("ok", "FAILED") if ascii_only else ("✓", "✗")
    last = outcome.last
    rows = [
        (styled((good, "bold green") if proof.ok else (bad, "bold red")), styled(proof.name, (f"  {proof.detail}", "dim")))
        for proof in outcome.proofs
    ]
    out.print()
    pairs(rows)
    out.print()
    out.print(
        styled(
            (f"{number(last.stored_tokens)} tokens stored, {number(last.context.tokens)} in the context", "bold"),
            f"; {counted(last.compactions, 'compaction')}, {counted(last.model_calls, 'model call')}, {outcome.seconds:.1f} s",
        )
    )
    for wrong in last.wrong[:3]:
        say(wrong)


def _print_commands(out: Console, outcome: _Outcome) -> None:
    if not outcome.commands:
        return
    out.print()
    out.print(styled(("What to try next:", "bold")))
    for command in outcome.commands:
        out.print(visible(f"  {command}"), soft_wrap=True)


def _facts(outcome: _Outcome) -> dict[str, Any]:
    last, found = outcome.last, outcome.answer
    asked = None
    if found is not None:
        asked = {
            **dataclasses.asdict(found.question),
            "message_id": found.hit.message_id if found.hit is not None else None,
            "summary_id": found.hit.summary_id if found.hit is not None else None,
            "expanded": found.expanded,
            "found": found.found,
            "in_context": found.in_context,
            "facts_in_context": found.facts_in_context,
        }
    return {
        "ok": all(proof.ok for proof in outcome.proofs),
        "url": shown_url(outcome.url),
        "thread": outcome.thread_id,
        "session": outcome.session.about,
        "notes": list(outcome.session.notes),
        "window": outcome.session.window,
        "budget": last.context.budget,
        "messages": last.total,
        "tokens": last.stored_tokens,
        "context_tokens": last.context.tokens,
        "highest": last.highest,
        "contexts": last.contexts,
        "compactions": last.compactions,
        "summaries": sum(item.kind == "summary" for item in last.context.items),
        "model_calls": last.model_calls,
        "seconds": round(outcome.seconds, 3),
        "question": asked,
        "proofs": [dataclasses.asdict(proof) for proof in outcome.proofs],
        "problems": list(last.wrong),
        "next": list(outcome.commands),
    }
