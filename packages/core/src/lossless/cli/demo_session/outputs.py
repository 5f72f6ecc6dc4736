"""What the tools of the story answer: test runs, tables of metrics, logs, comparisons, rollouts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from lossless.cli.demo_session.dice import Dice
from lossless.cli.demo_session.services import Service

__all__ = ["comparison", "failed_run", "log_lines", "metrics", "money", "p99_range", "passed_run", "rollout", "window_of"]

_CURRENCIES = ("EUR", "EUR", "EUR", "EUR", "GBP", "GBP", "SEK", "DKK", "PLN", "CHF", "USD", "NOK")
_CONDITIONS = (
    "books one entry in each ledger",
    "is idempotent by reference",
    "refuses a closed account",
    "falls back when the gateway is down",
    "keeps the sign of the amount",
    "retries after a deadline",
    "gives the id of the first entry on a repeat",
    "writes nothing in shadow mode when the old ledger fails",
    "rejects an unknown currency",
    "survives a restart between both writes",
)


def money(dice: Dice) -> str:
    """Give an amount as people write it."""
    return f"{dice.between(1, 4_999)}.{dice.between(0, 99):02d}"


def window_of(now: datetime, minutes: int) -> str:
    """Give the last minutes as a range of times."""
    return f"{now - timedelta(minutes=minutes):%H:%M}-{now:%H:%M}"


def passed_run(service: Service, dice: Dice) -> str:
    """Give the output of a test run that passes."""
    lines, seconds = _test_lines(service, dice, failing=None)
    lines.append(f"\n{len(lines) - 1} passed in {seconds:.2f}s")
    return "\n".join(lines)


def failed_run(service: Service, dice: Dice) -> str:
    """Give the output of a test run where the test that guards the remedy fails."""
    lines, seconds = _test_lines(service, dice, failing=service.test)
    key = f"{service.name}-{dice.hexadecimal(8)}"
    lines += [
        "",
        f"FAIL {service.test}",
        f"  at {service.operations[-1]} (reference {key})",
        "  expected: 1 entry in the gateway, 1 entry in ledger01",
        f"  actual:   {dice.pick(('2 entries in the gateway', '0 entries in the gateway'))}, 1 entry in ledger01",
        f"  gateway log: PostRequest key={key} status=ALREADY_EXISTS after {dice.between(180, 900)} ms, entry {_ulid(dice)}",
        f"  hint: the retry used key={key}-r1",
        "",
        f"1 failed, {len(lines) - 2} passed in {seconds:.2f}s",
    ]
    return "\n".join(lines)


def _test_lines(service: Service, dice: Dice, *, failing: str | None) -> tuple[list[str], float]:
    lines, total = [f"> run tests of {service.name} against ledger01 (container) and gateway 2.7.1 (container)"], 0.0
    for operation in service.operations:
        for condition in _CONDITIONS:
            if dice.happens(62):
                taken = dice.between(4, 640) / 1000
                total += taken
                lines.append(f"  ok   {operation}: {condition} ({taken:.3f}s)")
    taken = dice.between(300, 2_400) / 1000
    lines.append(f"  {'FAIL' if failing else 'ok  '} {service.test} ({taken:.3f}s)")
    return lines, total + taken


def comparison(service: Service, dice: Dice, now: datetime, *, different: int) -> dict[str, Any]:
    """Give what comparing both ledgers found: totals, and rows of which some differ."""
    checked = service.rate * dice.between(1_500, 1_900)
    rows = []
    for place in range(dice.between(4, 8)):
        amount, currency = money(dice), dice.pick(_CURRENCIES)
        differs = place < different
        gateway = f"{float(amount) + dice.pick((0.01, -0.01)):.2f}" if differs else amount
        rows.append(
            {
                "reference": f"{service.name[:3]}-{dice.hexadecimal(10)}",
                "kind": f"{service.name}.{dice.pick(service.operations)}",
                "ledger01": {"entry_id": dice.between(880_000_000, 889_999_999), "amount": amount, "currency": currency},
                "gateway": {"entry_id": _ulid(dice), "amount": gateway, "currency": currency},
                "booked_at": f"{now - timedelta(seconds=dice.between(5, 3_000)):%Y-%m-%dT%H:%M:%S}Z",
                "equal": not differs,
            }
        )
    return {
        "service": service.name,
        "window": window_of(now, 60),
        "checked": checked,
        "equal": checked - different,
        "different": different,
        "only_in_ledger01": 0,
        "only_in_gateway": 0,
        "sample": rows,
    }


def metrics(service: Service, dice: Dice, now: datetime, *, share: int, minutes: int = 15) -> str:
    """Give a table of requests, latency and errors by minute; ``share``: percent of the writes that go to the gateway."""
    base = dice.between(9, 28)
    rows = [f"{service.name} · gateway writes at {share} % · {window_of(now, minutes)}", ""]
    rows.append("minute | requests/s | gateway/s | p50 ms | p95 ms | p99 ms | errors | retries | pool used")
    rows.append("-------|-----------:|----------:|-------:|-------:|-------:|-------:|--------:|----------:")
    for minute in range(minutes, 0, -1):
        rate = dice.around(service.rate, 0.12)
        middle = dice.around(base, 0.15)
        errors = dice.pick((0, 0, 0, 0, 0, 0, 1, 2))
        rows.append(
            f"{now - timedelta(minutes=minute):%H:%M}  | {rate:10.1f} | {rate * share / 100:9.1f} | {middle:6.1f} "
            f"| {middle * dice.around(2.4, 0.1):6.1f} | {middle * dice.around(4.3, 0.2):6.1f} | {errors:6d} "
            f"| {dice.pick((0, 0, 0, 1, 3)):7d} | {dice.between(2, 14):9d}"
        )
    return "\n".join(rows)


def p99_range(table: str) -> tuple[str, str]:
    """Give the lowest and the highest p99 of such a table, in milliseconds."""
    found = [row.split("|")[5].strip() for row in table.splitlines()[4:]]
    return min(found, key=float), max(found, key=float)


def log_lines(service: Service, dice: Dice, now: datetime, count: int) -> str:
    """Give the newest log lines of a service."""
    moment = now - timedelta(seconds=count * 2)
    pods = [f"{service.name}-{dice.hexadecimal(9)}-{dice.hexadecimal(5)}" for _ in range(3)]
    lines = []
    for _ in range(count):
        moment += timedelta(milliseconds=dice.between(40, 3_600))
        stamp = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
        lines.append(f"{stamp} {dice.pick(pods)} {_log_message(service, dice)}")
    return "\n".join(lines)


def _log_message(service: Service, dice: Dice) -> str:
    operation, trace = dice.pick(service.operations), dice.hexadecimal(16)
    reference = f"{service.name[:3]}-{dice.hexadecimal(10)}"
    kind = dice.between(1, 100)
    if kind <= 44:
        amount = f"{money(dice)} {dice.pick(_CURRENCIES)}"
        return f"INFO  {operation} booked reference={reference} amount={amount} entry={_ulid(dice)} trace={trace}"
    if kind <= 64:
        return f"INFO  gateway.Post ok key={reference} took={dice.between(6, 48)}ms attempt=1 trace={trace}"
    if kind <= 78:
        return f"DEBUG shadow compare reference={reference} ledger01={dice.between(880_000_000, 889_999_999)} equal=true"
    if kind <= 86:
        return f"INFO  pool idle={dice.between(1, 9)} used={dice.between(1, 14)} waiting=0"
    if kind <= 92:
        return f"WARN  gateway.Post slow key={reference} took={dice.between(310, 990)}ms attempt=1 trace={trace}"
    if kind <= 96:
        return f"WARN  gateway.Post UNAVAILABLE key={reference} attempt=1, retry in {dice.between(20, 160)}ms trace={trace}"
    return f"INFO  health ready=true ledger01=up gateway=up build={dice.hexadecimal(7)}"


def rollout(service: Service, dice: Dice, *, mode: str, share: int) -> dict[str, Any]:
    """Give what the deployment tool says about a rollout that went well."""
    pods = max(2, service.rate // 60)
    return {
        "service": service.name,
        "revision": 140 + 11 * len(service.table) + share // 100,
        "build": dice.hexadecimal(10),
        "write_mode": mode,
        "share_percent": share,
        "pods": {"wanted": pods, "updated": max(1, pods * share // 100), "ready": pods},
        "took_seconds": dice.between(48, 260),
        "health": "passing",
    }


def _ulid(dice: Dice) -> str:
    return "01JC" + "".join(dice.pick("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(22))
