"""The services of the story: what each does, what is odd about it, and how that is dealt with."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SERVICES", "Service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service that moves from the old ledger to the gateway.

    Attributes:
        operations: what it does to its ``entity``, as verbs.
        rate: requests a second at noon.
        oddity: what the agent finds out of the ordinary.
        remark: what the user says to that.
        remedy: what the agent does about it.
        test: the test that guards the remedy.
    """

    name: str
    language: str
    owner: str
    entity: str
    operations: tuple[str, ...]
    table: str
    rate: int
    oddity: str
    remark: str
    remedy: str
    test: str


SERVICES: tuple[Service, ...] = (
    Service(
        name="payment-intake",
        language="kotlin",
        owner="Jonas",
        entity="authorization",
        operations=("authorize", "capture", "void", "expire"),
        table="auth_entries",
        rate=412,
        oddity="Intake books the capture in the same SQL transaction as its own order row. The gateway can't join that "
        "transaction, so a crash between the two would leave a capture without an order.",
        remark="Right, that is the one I was afraid of. Use the outbox table that is already there, don't invent a saga.",
        remedy="I write the capture to `outbox` inside the order transaction and let the relay post it with the order id as "
        "idempotency key; the relay retries until the gateway answers.",
        test="capture_is_posted_once_after_a_crash_between_order_and_ledger",
    ),
    Service(
        name="refunds",
        language="python",
        owner="Ifeoma",
        entity="refund",
        operations=("open_refund", "approve", "book", "reverse"),
        table="refund_entries",
        rate=38,
        oddity="Refunds reads `auth_entries` directly to find the captured amount, with a LIKE on the memo column. Nothing in "
        "the gateway's API offers that lookup.",
        remark="The memo search is a leftover from the 2019 import. Captures carry the order id since then, look them up by "
        "that.",
        remedy="I replace the memo search by `GetEntriesByReference(order_id)` and keep a fallback for the 1 912 orders from "
        "before the import: their capture ids are in `legacy_refs.csv`, which I load into a small table.",
        test="refund_of_an_imported_order_finds_its_capture",
    ),
    Service(
        name="payouts",
        language="go",
        owner="Ruben",
        entity="payout",
        operations=("schedule", "release", "confirm", "hold"),
        table="payout_entries",
        rate=17,
        oddity="Payouts takes a Postgres advisory lock per merchant so that two runners never release the same balance. The "
        "lock lives in the ledger database and goes away with it.",
        remark="Move the lock to our own database. And keep the key derivation, the ops runbook queries pg_locks by it.",
        remedy="The lock moves to the payouts database with the same `hashtext(merchant_id)` key, and release passes the "
        "expected balance version to the gateway, so a lost lock can only fail, not pay twice.",
        test="two runners release one balance once",
    ),
    Service(
        name="settlement",
        language="kotlin",
        owner="Jonas",
        entity="settlement batch",
        operations=("collect", "close", "post", "reopen"),
        table="settlement_entries",
        rate=9,
        oddity="The nightly close inserts up to 60 000 rows in one statement. The gateway's batch call stops at 500 entries.",
        remark="Chunk it, but the batch must become visible at once or not at all. Finance downloads it at 05:30 sharp.",
        remedy="I post chunks of 500 into a pending batch and commit it with one `CloseBatch`; readers see nothing before "
        "that. At the rate I measured, 60 000 entries take a little over four minutes, the job starts at 03:15.",
        test="a_batch_is_invisible_until_it_is_closed",
    ),
    Service(
        name="fx-rates",
        language="python",
        owner="Priya",
        entity="conversion",
        operations=("quote", "lock_rate", "convert", "unwind"),
        table="fx_entries",
        rate=96,
        oddity="Conversions are stored with six decimals in the old ledger and the gateway takes minor units as integers. "
        "Three currencies in the table have no minor unit at all: JPY, KRW and ISK.",
        remark="Finance wants banker's rounding, per entry, and the remainder booked to account 4890. Ask Priya if in doubt.",
        remedy="Amounts are rounded half to even with each currency's exponent from ISO 4217, and the remainder goes to 4890 "
        "as an entry of its own under the same reference, so both sides still add up.",
        test="rounding_remainders_are_booked_to_4890",
    ),
    Service(
        name="fees",
        language="typescript",
        owner="Lotte",
        entity="fee",
        operations=("compute", "charge", "waive", "correct"),
        table="fee_entries",
        rate=205,
        oddity="Fees are charged as floats: the service multiplies by 0.029 and lets Postgres round. About one in eleven "
        "amounts comes out one cent apart from what integer arithmetic gives.",
        remark="Whatever the merchants have been charged is correct by definition. Keep the old results to the cent until "
        "January.",
        remedy="I keep the old formula behind `legacyRounding`, compute in basis points beside it and log the difference; the "
        "flag has an expiry date of 2025-01-02 that fails the build afterwards.",
        test="charges the same cents as before while legacyRounding is on",
    ),
    Service(
        name="disputes",
        language="python",
        owner="Ifeoma",
        entity="dispute",
        operations=("open_case", "represent", "accept", "write_off"),
        table="dispute_entries",
        rate=4,
        oddity="Write-offs are booked with a backdated `booked_at`, up to 90 days back. The gateway refuses anything older "
        "than the open accounting period.",
        remark="Audit will not let us backdate any more anyway. Book today and put the original date into the reference.",
        remedy="Write-offs are booked today; the original day goes to `value_date`, which the reports of finance already read, "
        "and into the reference as `WO-<case>-<yyyymmdd>`.",
        test="write_off_keeps_the_original_day_as_value_date",
    ),
    Service(
        name="invoicing",
        language="typescript",
        owner="Lotte",
        entity="invoice",
        operations=("draft", "issue", "settle", "cancel"),
        table="invoice_entries",
        rate=51,
        oddity="Invoice numbers come from a sequence in the ledger database. They have to be gapless for the tax office in "
        "Italy and Poland.",
        remark="Gapless per legal entity, so no plain sequence. There is a numbering service of the tax team, use that.",
        remedy="Numbers are drawn from `numbering/v2` inside the issue step, with the draft id as key: a retry gets the same "
        "number again. The old sequence stays where it is, read-only, for the audit.",
        test="a retried issue gets the same number",
    ),
    Service(
        name="subscriptions",
        language="typescript",
        owner="Anneke",
        entity="subscription charge",
        operations=("renew", "prorate", "pause", "resume"),
        table="subscription_entries",
        rate=128,
        oddity="Renewals all run at 00:00 UTC. The first minute has 7 400 ledger writes, and the gateway's default limit is 1 "
        "200 a second per client.",
        remark="Spread them, nobody cares about the exact minute. But not across the day border of the customer's time zone.",
        remedy="Each renewal gets a fixed offset of 0 to 45 minutes, derived from the subscription id, and is clipped to the "
        "customer's local day. The peak falls to 180 writes a second.",
        test="no renewal leaves its local day",
    ),
    Service(
        name="wallet",
        language="go",
        owner="Ruben",
        entity="wallet transfer",
        operations=("reserve", "transfer", "release", "close"),
        table="wallet_entries",
        rate=340,
        oddity="Balances are computed by summing entries on each request: 40 ms at the median for old wallets. The gateway "
        "keeps balances, but they may be stale by up to two seconds.",
        remark="Two seconds is fine for showing a balance, never for spending from it.",
        remedy="Display reads use `GetBalance` as it is. Spending calls `Reserve`, which checks the balance on the writer, so "
        "a stale read can't overdraw a wallet.",
        test="a stale balance can not be spent twice",
    ),
    Service(
        name="tax-engine",
        language="python",
        owner="Priya",
        entity="tax line",
        operations=("assess", "post_tax", "adjust", "file_return"),
        table="tax_entries",
        rate=61,
        oddity="Tax lines refer to their parent entry by the old bigserial id. The gateway has ULIDs, and 2.3 million open tax "
        "lines point at integers.",
        remark="Tomasz exported a mapping of ids on Friday, s3://halden-migration/id-map/. It should be complete up to 8 "
        "November.",
        remedy="I load the mapping into `entry_id_map`, resolve on read, and rewrite lines when they are adjusted. 418 lines "
        "have no partner in the mapping: all of them belong to test merchants, I listed them in the ticket.",
        test="adjustment_of_an_old_line_writes_the_new_id",
    ),
    Service(
        name="reconciliation",
        language="kotlin",
        owner="Marek",
        entity="statement line",
        operations=("ingest", "match", "split", "park"),
        table="recon_entries",
        rate=22,
        oddity="Matching holds a cursor over the whole ledger for up to 20 minutes. The gateway closes streams after 60 seconds.",
        remark="Then page by booking time. Marek has wanted to get rid of that cursor for years, he will review it today.",
        remedy="The matcher pages by (`booked_at`, `entry_id`) in steps of 2 000 and remembers its place, so a run that is "
        "interrupted goes on instead of starting over.",
        test="an_interrupted_run_continues_where_it_stopped",
    ),
    Service(
        name="merchant-onboarding",
        language="typescript",
        owner="Anneke",
        entity="ledger account",
        operations=("provision", "verify", "freeze", "offboard"),
        table="account_entries",
        rate=2,
        oddity="Onboarding creates ledger accounts with hand-made numbers, `M-` and the merchant's id. Two merchants from an "
        "acquisition have the same id in different regions.",
        remark="Prefix them with the region. There are only the two, so rename those by hand and tell support before you do.",
        remedy="New accounts are `M-<region>-<id>`; the two of the acquisition become `M-eu-88214` and `M-uk-88214`, with an "
        "alias for the old number until their next statement.",
        test="the same merchant id in two regions gives two accounts",
    ),
    Service(
        name="risk-scoring",
        language="python",
        owner="Ifeoma",
        entity="velocity counter",
        operations=("score", "observe", "decay", "block"),
        table="velocity_counters",
        rate=455,
        oddity="Scoring keeps its velocity counters in the ledger database, in a table that a job of ledger01 trims every "
        "minute. The gateway has entries and balances, no place for counters.",
        remark="Counters are no ledger entries, they were only put there because it was easy. Feed them from the event stream.",
        remedy="A small consumer keeps counts and sums per card in Redis from `ledger.entries.v2`, with a window of 60 "
        "minutes. Over the replay of last Friday 99.97 % of the scores are identical, the others differ by timing.",
        test="counts_after_a_replay_equal_the_old_ones",
    ),
    Service(
        name="notifications",
        language="go",
        owner="Silvan",
        entity="receipt",
        operations=("render", "send", "resend", "suppress"),
        table="receipt_outbox",
        rate=190,
        oddity="A trigger in the ledger database fills the outbox of notifications. Nobody in the team knew; it was added "
        "during an incident in 2021.",
        remark="Wow. Subscribe to the events and drop the trigger only when the outbox has been empty for a day.",
        remedy="Receipts are now made from `ledger.entries.v2`, deduplicated by entry id while both sources run. Dropping the "
        "trigger is a follow-up with its own ticket, so that it is not forgotten.",
        test="an entry from both sources gives one receipt",
    ),
    Service(
        name="reporting",
        language="python",
        owner="Priya",
        entity="report row",
        operations=("extract", "aggregate", "publish", "backfill"),
        table="report_snapshots",
        rate=1,
        oddity="Reports query a read replica of the old ledger with 41 hand-written SQL files. Eleven of them join tables that "
        "no other service knows.",
        remark="Don't port SQL by hand. The warehouse gets gateway events since September, point the reports there.",
        remedy="30 of the 41 queries run unchanged against the warehouse views; the other eleven I rewrote against "
        "`ledger_facts` and compared with last month's output, row by row: no difference but the order of rows.",
        test="october_reports_are_equal_row_by_row",
    ),
    Service(
        name="card-vault",
        language="go",
        owner="Silvan",
        entity="token use",
        operations=("tokenize", "charge_token", "rotate", "purge"),
        table="token_entries",
        rate=266,
        oddity="The vault runs in the isolated network segment and has no route to the gateway. Its ledger access goes through "
        "a TCP proxy that only knows Postgres.",
        remark="I asked Luc, he opens the route on the PCI firewall. Mutual TLS with the vault's own client certificate, no "
        "exceptions.",
        remedy="The vault speaks to the gateway directly with mutual TLS, client certificate from the HSM, pinned to the "
        "issuing CA. The TCP proxy is switched off at the end, after a day without connections.",
        test="a client certificate of another issuer is refused",
    ),
    Service(
        name="bank-transfers",
        language="kotlin",
        owner="Marek",
        entity="transfer",
        operations=("initiate", "sign", "submit", "return"),
        table="transfer_entries",
        rate=14,
        oddity="Return files of the banks carry our old entry id in the end-to-end reference. Returns arrive up to 13 months "
        "later.",
        remark="So both id worlds for 13 months. Fine. Put a date on it so that someone removes the code at the end of 2025.",
        remedy="References that are plain integers are resolved through `entry_id_map`, ULIDs directly. A test starts to fail "
        "on 2025-12-31 and says what to remove.",
        test="a_return_with_an_old_reference_finds_its_transfer",
    ),
    Service(
        name="gift-cards",
        language="go",
        owner="Ruben",
        entity="gift card",
        operations=("issue", "redeem", "top_up", "expire"),
        table="giftcard_entries",
        rate=33,
        oddity="Expiry runs as a cron job inside the database (pg_cron), 02:00 every night. It books breakage revenue without "
        "any service being involved.",
        remark="Finance loves that job. It needs an owner and an alert, make it a normal worker of gift-cards.",
        remedy="The worker runs at 02:00 with a lease, books breakage through the gateway with `expiry-<card>-<day>` as key, "
        "and pages the team when it has not finished by 03:00. The pg_cron entry is disabled, not deleted.",
        test="a second run of the same night books nothing",
    ),
    Service(
        name="instalments",
        language="kotlin",
        owner="Jonas",
        entity="instalment plan",
        operations=("plan", "collect_instalment", "reschedule", "write_down"),
        table="instalment_entries",
        rate=27,
        oddity="A plan updates its future entries in place when it is rescheduled. The gateway is append-only: an entry can be "
        "reversed, never changed.",
        remark="Reverse and book again, in one call if the gateway can do that. Customers must not see the intermediate state.",
        remedy="Rescheduling sends one `PostCompound` with the reversals and the new entries. It is atomic on the gateway's "
        "side, and the customer's view is made from the result, so nothing in between is visible.",
        test="a_reschedule_is_one_compound_posting",
    ),
)
