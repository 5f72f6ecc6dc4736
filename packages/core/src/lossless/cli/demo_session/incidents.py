"""What goes wrong, or is asked, between the services of the story."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from lossless.cli.demo_session import outputs
from lossless.cli.demo_session.recorder import Recorder, Use
from lossless.cli.demo_session.services import SERVICES

__all__ = ["AFTER"]


def _slow_gateway(recorder: Recorder) -> None:
    """Tell of posts that became slow, and of a pool that was too small."""
    recorder.user("I see the gateway's p99 at 900 ms in the overview. Is that us?")
    service = SERVICES[2]
    log = outputs.log_lines(service, recorder.dice, recorder.now, 34)
    waits = "\n".join(
        f"{recorder.now - timedelta(seconds=90 - 3 * place):%Y-%m-%dT%H:%M:%S}Z ledger-writer pool "
        f"wait={recorder.dice.between(420, 990)}ms used=32 max=32 queue={recorder.dice.between(11, 88)}"
        for place in range(24)
    )
    recorder.use(
        "Let me look at the gateway's own log and at ours, for the same minutes.",
        Use("read_logs", {"service": "ledger-writer", "grep": "pool wait", "limit": 24}, waits),
        Use("read_logs", {"service": service.name, "limit": 34}, log),
    )
    recorder.say(
        "It is us, indirectly. The writer has 32 connections and all of them are in use; posts wait up to a second for one. "
        "payouts sends its posts one by one in a loop and holds a stream open for each merchant. Two ways: more connections for "
        "the writer (Tomasz allows 64), or one stream for all merchants of a run in payouts. I would do the second, and the "
        "first only if it is not enough."
    )
    recorder.user("Do the second. I don't want to pay for connections because of a loop.")
    recorder.use(
        "One stream for a run, in batches of 100:",
        Use(
            "edit_file",
            {
                "path": "services/payouts/internal/release/run.go",
                "find": "for _, merchant := range due {\n\tstream, err := s.gateway.Open(ctx)",
                "replace": "stream, err := s.gateway.Open(ctx)\nfor _, merchant := range batches(due, 100) {",
            },
            {"ok": True, "added": 21, "removed": 17, "commit": recorder.dice.hexadecimal(10)},
        ),
    )
    recorder.use(
        "Rolled out. Waiting three minutes, then the numbers:",
        Use(
            "get_metrics",
            {"service": service.name, "window": outputs.window_of(recorder.now, 10)},
            outputs.metrics(service, recorder.dice, recorder.now, share=100, minutes=10),
        ),
    )
    recorder.say("The wait is gone: 9 of 32 connections in use, p99 of the gateway back under 120 ms. It is in decisions.md.")


def _double_fees(recorder: Recorder) -> None:
    """Tell of fees that were charged twice."""
    begin = recorder.now - timedelta(minutes=9)
    recorder.user(
        f"Support has a merchant in Poland who says that 14 fees were charged twice just now, between {begin:%H:%M} and "
        f"{begin + timedelta(minutes=7):%H:%M}. Please stop whatever you are doing and look."
    )
    rows = _doubled(recorder, begin)
    recorder.use(
        "Stopped. I look for references of today that have more than one entry in the gateway.",
        Use(
            "query_database",
            {
                "database": "gateway-replica",
                "sql": "SELECT reference, count(*) FROM entries WHERE booked_on = current_date GROUP BY 1 HAVING count(*) > 1",
            },
            {"rows": rows, "row_count": 14, "elapsed_ms": recorder.dice.between(300, 1_900)},
        ),
    )
    recorder.say(
        "Confirmed: 14 references, all of merchant M-eu-51377, each with two entries, nobody else. The second entry has the key "
        "with ':retry' behind it. Those are requests that the merchant's own plugin sent again with a header of its own, and "
        "fees takes that header as the key. In ledger01 the unique index caught it. I propose: reverse the second entries, "
        "ignore the header, and refuse keys with a colon."
    )
    recorder.user("Agreed on all three. Reversals with a reference that finance can find, and I want the sum before you book.")
    total = sum(float(str(row["amount"])) for row in rows)
    recorder.say(
        f"14 reversals, {total:.2f} PLN in total, references `REV-51377-01` to `REV-51377-14`, booked with today's date. I wait "
        f"for your yes."
    )
    recorder.user("Yes, book them.")
    recorder.use(
        "Booking, and the fix at the same time.",
        Use(
            "run_command",
            {"command": "gatewayctl reverse --merchant M-eu-51377 --duplicates-of today --reference-prefix REV-51377-"},
            "\n".join(f"REV-51377-{place:02d}  -{row['amount']:>6} PLN  reversed" for place, row in enumerate(rows, start=1)),
        ),
        Use(
            "edit_file",
            {
                "path": "services/fees/src/ledger/key.ts",
                "find": "return request.headers['x-retry-key'] ?? reference;",
                "replace": "if (reference.includes(':')) throw new InvalidKey(reference);\nreturn reference;",
            },
            {"ok": True, "added": 2, "removed": 1, "commit": recorder.dice.hexadecimal(10)},
        ),
    )
    recorder.say(
        "All 14 are reversed, and the balance of M-eu-51377 is what it should be. The other services take the reference as it "
        "is; I searched for the header everywhere: fees was the only one."
    )


def _doubled(recorder: Recorder, begin: datetime) -> list[dict[str, object]]:
    return [
        {
            "merchant": "M-eu-51377",
            "reference": f"fee-{recorder.dice.hexadecimal(10)}",
            "amount": f"{recorder.dice.between(1, 38)}.{recorder.dice.between(0, 99):02d}",
            "currency": "PLN",
            "entries": 2,
            "first": f"{begin + timedelta(seconds=place * 31 + recorder.dice.between(0, 15)):%H:%M:%S}",
            "keys": ["reference", "reference + ':retry'"],
        }
        for place in range(14)
    ]


def _certificate(recorder: Recorder) -> None:
    """Tell of a certificate that is about to expire."""
    recorder.user("Luc writes that the client certificates of four services expire this week. Which ones, and does it touch us?")
    names = ("invoicing", "subscriptions", "wallet", "reconciliation")
    listing = "\n".join(
        f"{name:<16} CN={name}.payments.halden.internal  issuer=halden-mesh-ca-3  "
        f"not_after=2024-11-1{recorder.dice.between(5, 7)}T23:59:59Z  serial={recorder.dice.hexadecimal(16)}"
        for name in names
    )
    recorder.use("Asking the mesh:", Use("run_command", {"command": "meshctl certs --expiring 7d --namespace payments"}, listing))
    recorder.say(
        "invoicing, subscriptions, wallet and reconciliation. Three of them have moved or move today, so it does touch us: the "
        "gateway refuses an expired client certificate, ledger01 never looked at one. Renewal is automatic except for services "
        "that pin the issuer; of the four only wallet does. I propose to renew wallet's by hand now and to watch the others "
        "tonight."
    )
    recorder.user("Yes. And make a ticket so that wallet stops pinning, or at least pins the right thing.")
    recorder.use(
        "Both:",
        Use(
            "run_command",
            {"command": "meshctl certs renew wallet --issuer halden-mesh-ca-4 && kubectl rollout status deploy/wallet"},
            f"renewed wallet serial={recorder.dice.hexadecimal(16)} not_after=2025-11-11T23:59:59Z\n"
            'Waiting for deployment "wallet" rollout to finish: 2 of 5 updated replicas are available...\n'
            'deployment "wallet" successfully rolled out',
        ),
        Use(
            "create_ticket",
            {"project": "WAL", "title": "Pin the root, not the issuing CA", "assignee": "ruben", "due": "2024-12-06"},
            {"key": f"WAL-{recorder.dice.between(1_100, 1_990)}", "status": "open"},
        ),
    )
    recorder.say(
        "wallet has its new certificate and serves with it. The other three renew themselves at 22:00; I check them tomorrow "
        "morning."
    )


def _replica_lag(recorder: Recorder) -> None:
    """Tell of a replica that fell behind, and of the comparison that it spoiled."""
    recorder.user("Tomasz says the replica of ledger01 is behind. Are our comparisons reading from it?")
    rows = ["time     | lag bytes    | lag s | wal/s MB | oldest transaction | waiting on"]
    for minute in range(22, 0, -1):
        lag = (23 - minute) * recorder.dice.between(9, 14)
        waiting = recorder.dice.pick(("wal receive", "wal replay", "conflict with recovery"))
        rows.append(
            f"{recorder.now - timedelta(minutes=minute):%H:%M:%S} | {lag * 41_000_000:>12} | {lag:>5} | "
            f"{recorder.dice.between(18, 44):>8} | {recorder.dice.between(1, 19):>15} min | {waiting}"
        )
    recorder.use(
        "They are, since the primary is busy with the dual writes. How far behind is it?",
        Use(
            "query_database",
            {"database": "ledger01-replica", "sql": "SELECT * FROM ops.replication_lag_last_30_min"},
            "\n".join(rows),
        ),
    )
    recorder.say(
        "Up to five minutes, and growing for twenty minutes. The replay waits for a long query: the cursor of reconciliation, "
        "the one that we are removing. A comparison over the newest minutes would report entries as missing that are only late. "
        "I end that query, let the replica catch up, and make the comparison stop at the replica's own time."
    )
    recorder.user("Do all three. Marek's run can start again later, ask him first though.")
    recorder.use(
        "Marek agrees, his run restarts at 20:00.",
        Use(
            "run_command",
            {"command": "psql-admin ledger01-replica -c 'select pg_cancel_backend(18342)'"},
            " pg_cancel_backend\n-------------------\n t\n(1 row)",
        ),
        Use(
            "edit_file",
            {
                "path": "tools/compare/window.py",
                "find": "until = now()",
                "replace": "until = min(now(), replica.last_replayed_at())",
            },
            {"ok": True, "added": 1, "removed": 1, "commit": recorder.dice.hexadecimal(10)},
        ),
    )
    recorder.say(
        "The lag is down to two seconds. Earlier comparisons were not affected: their windows ended before it began, some twenty "
        "minutes ago."
    )


def _shorter_shadow(recorder: Recorder) -> None:
    """Let the user correct a rule of the checklist."""
    recorder.user(
        "A correction to our rules: one hour of mirrored writes is too short for services with less than 30 requests a second. "
        "For those compare over three hours, the others stay at one. Does that change anything for what we already moved?"
    )
    small = [service.name for service in SERVICES[:14] if service.rate < 30]
    recorder.use(
        "I look up over which windows the small ones were compared.",
        Use(
            "query_database",
            {"database": "migration", "sql": "SELECT service, minutes, checked, different FROM comparisons ORDER BY 1"},
            {"rows": [[name, 60, recorder.dice.between(9_000, 58_000), 0] for name in small], "row_count": len(small)},
        ),
    )
    recorder.say(
        f"It concerns {', '.join(small)}: all were compared over one hour, without a difference. They write to the gateway only "
        "by now, so there is nothing to compare any more, except against the event stream. I do that tonight over three hours "
        "for each. For the services to come, the rule is: three hours below 30 requests a second."
    )
    recorder.user("Good. Tell me tomorrow only if something differs.")


def _freeze(recorder: Recorder) -> None:
    """Let the person on call ask for quiet hours."""
    recorder.user("Luc wants no rollouts tonight from 20:00 to 23:00, they move a rack. Can we live with that?")
    recorder.say(
        "Yes. I never roll out after 19:00, and what runs at night only reads: the longer comparisons that I promised for the "
        "small services. If a rack is moved, the replica may fall behind again; the comparisons stop at its own time now, so "
        "that would only delay them. I put the freeze into the deploy tool, so that neither of us starts a rollout by accident."
    )
    quiet = f"--on {recorder.now:%Y-%m-%d} --from 20:00 --to 23:00 --reason 'rack move, Luc'"
    recorder.use(
        None,
        Use(
            "run_command",
            {"command": f"deployctl freeze add payments {quiet}"},
            f"freeze fz-{recorder.dice.hexadecimal(6)} added; 0 rollouts are running in that window",
        ),
    )
    recorder.say("The freeze is in. A rollout in those hours is refused with Luc's name and the reason.")


def _report(recorder: Recorder) -> None:
    """Let the user ask for the state of things."""
    recorder.user(
        "The change board asks how far we are. A table, please: service, state, entries compared, and what was special, one line "
        "each."
    )
    rows = [
        {
            "service": service.name,
            "state": "moved" if place < 17 else "open",
            "compared": service.rate * recorder.dice.between(1_500, 1_900) if place < 17 else 0,
            "different": 0,
            "special": service.remedy.partition(". ")[0].partition("; ")[0][:110],
        }
        for place, service in enumerate(SERVICES)
    ]
    query = {"database": "migration", "sql": "SELECT * FROM state ORDER BY place"}
    recorder.use("From the migration database:", Use("query_database", query, {"rows": rows}))
    table = "\n".join(f"| {row['service']} | {row['state']} | {row['compared']} | {row['special']} |" for row in rows)
    recorder.say(
        "17 of 20 have moved, three are open, nothing had to be rolled back.\n\n"
        f"| service | state | entries compared | special |\n|---|---|---:|---|\n{table}\n\n"
        "Two events worth a sentence: 14 double fees of one merchant on the first day, reversed within the hour, and the "
        "replica that was behind."
    )
    recorder.user("Perfect, sent as it is. On with the last three.")


AFTER: dict[int, Callable[[Recorder], None]] = {
    3: _slow_gateway,
    6: _double_fees,
    9: _certificate,
    12: _replica_lag,
    14: _shorter_shadow,
    16: _freeze,
    17: _report,
}
"""What happens after so many services."""
