"""How the story begins and ends."""

from __future__ import annotations

from lossless.cli.demo_session.recorder import Recorder, Use
from lossless.cli.demo_session.services import SERVICES

__all__ = ["FRAME", "closing", "opening"]

FRAME = (
    "the approval is CHG-20517; we may roll back until Thursday 14 November, 18:00 CET, because Tomasz drops the replication "
    "slot of ledger01 then; and the gateway listens on port 7443, because 8443 belongs to the fraud sidecar on every payments "
    "node"
)

_SYSTEM = """\
You are the migration agent of the platform team at Halden Payments. You work in the monorepo and in the production clusters, \
through tools, together with Maren, who leads the migration. You move services from the old ledger (ledger01, PostgreSQL 11, \
direct SQL) to the ledger gateway (gRPC, append-only, entries with ULIDs and amounts in minor units).

How you work
- One service at a time, in the order of docs/migration/order.md. Read before you change; say what you found and what you \
propose.
- Every service goes through the same steps: client and configuration, tests against both ledgers, comparison of its mirrored \
writes without a difference, canary with 10 %, then 100 %.
- A decision that changes what is booked, or when, is Maren's. Ask, with a proposal, and wait.
- Never delete data of ledger01. Never print card numbers, not even masked ones.
- When a comparison finds a difference that you can't explain, stop the rollout of that service and say so.
- Messages to other teams are short and say what changed, since when, and whom to page.
- Amounts, references and times in your answers are copied from tool results, not remembered.

Tools: read_file, search_code, edit_file, run_command, compare_ledgers, query_database, deploy, get_metrics, read_logs, \
post_message, create_ticket. Results are JSON or text. Calls that do not depend on each other may be made at once.\
"""


def opening(recorder: Recorder) -> None:
    """Let the user say what it is about, and the agent look around."""
    recorder.system(_SYSTEM)
    recorder.user(
        "Good morning. Today we start moving the twenty services from ledger01 to the gateway, and I want to be through by "
        "Wednesday evening. Please begin by reading the order and the checklist, and tell me whether anything in there looks "
        "wrong to you."
    )
    order = "\n".join(
        f"{place:2d}. {service.name:<20} {service.owner:<7} {service.rate:>4} req/s  writes {service.table}"
        for place, service in enumerate(SERVICES, start=1)
    )
    recorder.use(
        "Good morning, Maren. Reading both.",
        Use("read_file", {"path": "docs/migration/order.md"}, f"# Order of the move\n\n{order}\n\nRead-only users last.\n"),
        Use("read_file", {"path": "docs/migration/checklist.md"}, _CHECKLIST),
    )
    recorder.say(
        "Two remarks. risk-scoring is in the list although its counters are no ledger entries; I would keep it, since their "
        "table goes away with the database. And the checklist asks for a comparison 'over a representative period': I would "
        "make that one hour with the service's normal traffic, otherwise everybody reads something else into it. The rest is "
        "clear. What else should I know about the frame of this?"
    )
    recorder.user(
        "One hour it is; the mirror runs for all twenty since Friday, so there is always an hour to compare. The frame, so that "
        f"you have heard it once from me, as the change board decided it: {FRAME}. "
        "None of that goes into code or tickets, they are public inside the company; I only want you to know it."
    )
    recorder.say(
        "Understood, and noted for this session only. Then I start with payment-intake and work down the list, one service at a "
        "time, and come to you for every decision about what is booked."
    )
    recorder.use(
        "Before the first change, the state of the gateway itself:",
        Use("run_command", {"command": "kubectl -n payments get pods -l app=ledger-gateway -o wide"}, _pods(recorder)),
        Use("run_command", {"command": "gatewayctl version --all"}, _VERSIONS),
    )
    recorder.say("Six of six pods are ready, all on 2.7.1, and the two regions have the same schema. Nothing stands in the way.")
    recorder.user("Then go. I am around all day, Luc is on call for the clusters, Tomasz for the databases.")


_CHECKLIST = """\
# Checklist for each service

- [ ] client reads `writeMode` and can do old, shadow, dual, new
- [ ] references are unique and stay the same on a retry
- [ ] amounts are converted with the exponent of their currency
- [ ] tests run against both ledgers
- [ ] mirrored writes compared over a representative period: no difference
- [ ] canary with 10 % for at least 15 minutes, p99 within 10 % of before
- [ ] 100 %, message to the owner's channel
- [ ] alert on the old ledger muted, alert on the gateway active
- [ ] decision and reason in docs/migration/decisions.md
- [ ] follow-ups have tickets
"""

_VERSIONS = """\
region  component        version  schema  since
eu-1    ledger-gateway   2.7.1    41      2024-11-06
eu-1    ledger-writer    2.7.1    41      2024-11-06
uk-1    ledger-gateway   2.7.1    41      2024-11-06
uk-1    ledger-writer    2.7.1    41      2024-11-06
"""


def _pods(recorder: Recorder) -> str:
    rows = ["NAME                              READY   STATUS    RESTARTS   AGE    NODE"]
    for place in range(6):
        name = f"ledger-gateway-{recorder.dice.hexadecimal(9)}-{recorder.dice.hexadecimal(5)}"
        rows.append(f"{name:<33} 2/2     Running   0          4d{recorder.dice.between(1, 22)}h   pay-node-{place * 3 + 2:02d}")
    return "\n".join(rows)


def closing(recorder: Recorder) -> None:
    """Let them come to an end, with the early frame in question."""
    recorder.user(
        "That was the twentieth. Before I write to everybody: compare both ledgers once more over all services, please, and "
        "list what is left to do."
    )
    rows = [
        {
            "service": service.name,
            "checked": service.rate * recorder.dice.between(20_000, 24_000),
            "different": 0,
            "write_mode": "new",
        }
        for service in SERVICES
    ]
    recorder.use(
        "Over everything since Monday morning:", Use("compare_ledgers", {"service": "*", "minutes": 3_600}, {"services": rows})
    )
    checked = f"{sum(int(str(row['checked'])) for row in rows):,}".replace(",", " ")
    recorder.say(
        f"{checked} entries of {len(rows)} services, no difference. Left to do, each with a ticket: drop the trigger of "
        "notifications, switch off the TCP proxy of card-vault, remove the old clients after Friday, rename the two merchants of "
        "the acquisition, and turn off `legacyRounding` in January."
    )
    recorder.user("Wonderful. I take a break, and then I have a question or two about how we began.")
    recorder.say("I am here. All twenty services are stable; I keep an eye on the gateway in the meantime.")
