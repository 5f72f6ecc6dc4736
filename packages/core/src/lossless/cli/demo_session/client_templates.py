"""How the services of the story talk to the old ledger, language by language; ``<<name>>`` is filled in."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CLIENTS", "ClientTemplate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTemplate:
    """The parts of a client file (``kind`` and ``operation`` once for each operation), and what an edit replaces by what."""

    path: str
    head: str
    kind: str
    operation: str
    notes: tuple[str, ...]
    foot: str
    find: str
    replace: str


_PYTHON = ClientTemplate(
    path="services/<<name>>/src/<<snake>>/ledger.py",
    head='''\
"""Ledger access of <<name>>: direct SQL on ledger01, table <<table>>."""

import logging
from decimal import Decimal

from psycopg_pool import ConnectionPool

log = logging.getLogger("<<name>>.ledger")

TABLE = "<<table>>"
<<kinds>>


class LedgerStore:
    def __init__(self, pool: ConnectionPool, metrics) -> None:
        self._pool = pool
        self._metrics = metrics
''',
    kind='KIND_<<upper>> = "<<name>>.<<operation>>"',
    operation='''\
    def <<operation>>(self, subject_id: str, amount: Decimal, currency: str, reference: str) -> int:
        """<<sentence>> one <<entity>>; gives the id of the new entry."""
<<note>>
        with self._pool.connection() as conn, conn.transaction():
            row = conn.execute(
                f"INSERT INTO {TABLE} (kind, subject_id, amount, currency, reference, booked_at) "
                "VALUES (%s, %s, %s, %s, %s, now()) ON CONFLICT (kind, reference) DO NOTHING RETURNING entry_id",
                (KIND_<<upper>>, subject_id, amount, currency, reference),
            ).fetchone()
        if row is None:
            return self._existing(KIND_<<upper>>, reference)
        log.info("<<operation>> booked", extra={"entry_id": row[0], "reference": reference})
        return int(row[0])
''',
    notes=(
        "        # The caller holds no lock here; the unique index on (kind, reference) makes a retry harmless.",
        "        # Amounts are signed: money that leaves the merchant is negative.",
        "        if amount == 0:\n            return self._last_entry(subject_id)",
        '        self._metrics.count("ledger.write", kind=KIND_<<upper>>)',
    ),
    foot="""\
    def _existing(self, kind: str, reference: str) -> int:
        with self._pool.connection() as conn:
            row = conn.execute(f"SELECT entry_id FROM {TABLE} WHERE kind = %s AND reference = %s", (kind, reference)).fetchone()
        if row is None:
            raise LookupError(f"no entry for {kind} {reference}")
        return int(row[0])

    def _last_entry(self, subject_id: str) -> int:
        with self._pool.connection() as conn:
            row = conn.execute(f"SELECT max(entry_id) FROM {TABLE} WHERE subject_id = %s", (subject_id,)).fetchone()
        return int(row[0] or 0)
""",
    find="        with self._pool.connection() as conn, conn.transaction():\n            row = conn.execute(",
    replace="""\
        if self._mode is not WriteMode.OLD:
            posted = self._gateway.post(
                PostRequest(kind=KIND_<<upper>>, subject=subject_id, minor=to_minor(amount, currency), key=reference)
            )
            if self._mode is WriteMode.NEW:
                return posted.entry_id
        with self._pool.connection() as conn, conn.transaction():
            row = conn.execute(""",
)

_KOTLIN = ClientTemplate(
    path="services/<<name>>/src/main/kotlin/pay/halden/<<flat>>/LedgerClient.kt",
    head="""\
package pay.halden.<<flat>>

import java.math.BigDecimal
import java.time.Duration
import java.util.Currency
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate

/** Writes each <<entity>> to ledger01, table <<table>>. */
enum class Kind(val code: String) {
<<kinds>>
}

class LedgerClient(private val jdbc: NamedParameterJdbcTemplate, private val timers: MeterRegistry) {
""",
    kind='    <<upper>>("<<name>>.<<operation>>"),',
    operation='''\
    fun <<camel>>(subjectId: String, amount: BigDecimal, currency: Currency, reference: String): Long {
<<note>>
        val sql = """
            INSERT INTO <<table>> (kind, subject_id, amount, currency, reference, booked_at)
            VALUES (:kind, :subject, :amount, :currency, :reference, now())
            ON CONFLICT (kind, reference) DO UPDATE SET reference = excluded.reference
            RETURNING entry_id
        """
        return jdbc.queryForObject(
            sql,
            mapOf(
                "kind" to Kind.<<upper>>.code,
                "subject" to subjectId,
                "amount" to amount,
                "currency" to currency.currencyCode,
                "reference" to reference,
            ),
            Long::class.java,
        ) ?: throw LedgerException("<<entity>> $subjectId: nothing was returned for $reference")
    }
''',
    notes=(
        "        // Same transaction as the caller's: see TransactionTemplate in Wiring.kt.",
        '        require(amount.signum() != 0) { "an entry of zero is not booked" }',
        "        // Retried by the caller, hence the ON CONFLICT.",
        '        timers.timer("ledger.<<operation>>").record(Duration.ZERO)',
    ),
    foot="""\
    fun entriesOf(subjectId: String): List<Entry> =
        jdbc.query("SELECT * FROM <<table>> WHERE subject_id = :s ORDER BY entry_id", mapOf("s" to subjectId)) { row, _ ->
            Entry(row.getLong("entry_id"), row.getString("kind"), row.getBigDecimal("amount"), row.getString("reference"))
        }
}
""",
    find="    fun <<camel>>(subjectId: String, amount: BigDecimal, currency: Currency, reference: String): Long {",
    replace="""\
    fun <<camel>>(subjectId: String, amount: BigDecimal, currency: Currency, reference: String): EntryId {
        if (mode.writesGateway) {
            val posted = gateway.post(Kind.<<upper>>.code, subjectId, amount.toMinor(currency), key = reference)
            if (mode == WriteMode.NEW) return posted.id
        }""",
)

_GO = ClientTemplate(
    path="services/<<name>>/internal/ledger/store.go",
    head="""\
// Package ledger writes to ledger01, table <<table>>.
package ledger

import (
\t"context"
\t"database/sql"
\t"errors"
\t"fmt"
\t"time"
)

const (
<<kinds>>
)

// ErrZeroAmount is returned for an entry that would move nothing.
var ErrZeroAmount = errors.New("ledger: zero amount")

// Store writes entries of <<name>>.
type Store struct {
\tdb      *sql.DB
\ttimeout time.Duration
\tobserve func(operation string, started time.Time)
}
""",
    kind='\tkind<<pascal>> = "<<name>>.<<operation>>"',
    operation="""\
// <<pascal>> books one <<entity>> and returns the id of its entry.
func (s *Store) <<pascal>>(ctx context.Context, subject string, amount int64, currency, reference string) (int64, error) {
<<note>>
\tvar id int64
\terr := s.db.QueryRowContext(ctx, `
\t\tINSERT INTO <<table>> (kind, subject_id, amount, currency, reference, booked_at)
\t\tVALUES ($1, $2, $3, $4, $5, now())
\t\tON CONFLICT (kind, reference) DO UPDATE SET reference = excluded.reference
\t\tRETURNING entry_id`, kind<<pascal>>, subject, amount, currency, reference).Scan(&id)
\tif err != nil {
\t\treturn 0, fmt.Errorf("<<operation>> %s: %w", reference, err)
\t}
\treturn id, nil
}
""",
    notes=(
        "\t// A second call with the same reference is a no-op and returns the first entry.",
        "\tif amount == 0 {\n\t\treturn 0, ErrZeroAmount\n\t}",
        '\tdefer s.observe("<<operation>>", time.Now())',
        "\tctx, cancel := context.WithTimeout(ctx, s.timeout)\n\tdefer cancel()",
    ),
    foot="""\
// Balance sums all entries of a subject. Slow for old ones.
func (s *Store) Balance(ctx context.Context, subject string) (int64, error) {
\tvar sum sql.NullInt64
\terr := s.db.QueryRowContext(ctx, `SELECT sum(amount) FROM <<table>> WHERE subject_id = $1`, subject).Scan(&sum)
\treturn sum.Int64, err
}
""",
    find="""\
func (s *Store) <<pascal>>(ctx context.Context, subject string, amount int64, currency, reference string) (int64, error) {""",
    replace="""\
func (s *Store) <<pascal>>(ctx context.Context, subject string, amount int64, currency, reference string) (EntryID, error) {
\tif s.mode.WritesGateway() {
\t\trequest := &gw.PostRequest{Kind: kind<<pascal>>, Subject: subject, Minor: amount, Key: reference}
\t\tposted, err := s.gateway.Post(ctx, request)
\t\tif err != nil || s.mode == ModeNew {
\t\t\treturn posted.GetId(), err
\t\t}
\t}""",
)

_TYPESCRIPT = ClientTemplate(
    path="services/<<name>>/src/ledger/client.ts",
    head="""\
import type { Pool } from "pg";
import type { Logger } from "pino";
import { tracer } from "../telemetry";

/** Kinds of entries that <<name>> writes to ledger01, table <<table>>. */
export const Kind = {
<<kinds>>
} as const;

export class LedgerClient {
  constructor(private readonly pool: Pool, private readonly log: Logger, private readonly guard: AccountGuard) {}
""",
    kind='  <<camel>>: "<<name>>.<<operation>>",',
    operation="""\
  /** <<sentence>> one <<entity>>; resolves to the id of its entry. */
  async <<camel>>(subjectId: string, amount: number, currency: string, reference: string): Promise<number> {
<<note>>
    const { rows } = await this.pool.query(
      `INSERT INTO <<table>> (kind, subject_id, amount, currency, reference, booked_at)
       VALUES ($1, $2, $3, $4, $5, now())
       ON CONFLICT (kind, reference) DO UPDATE SET reference = excluded.reference
       RETURNING entry_id`,
      [Kind.<<camel>>, subjectId, amount, currency, reference],
    );
    this.log.info({ reference, entryId: rows[0].entry_id }, "<<operation>> booked");
    return Number(rows[0].entry_id);
  }
""",
    notes=(
        "    // amounts arrive in major units; the column is numeric(18, 2)",
        "    if (amount === 0) return this.latest(subjectId);",
        "    await this.guard.ensureOpen(subjectId);",
        '    const span = tracer.startSpan("ledger.<<operation>>");\n    span.end();',
    ),
    foot="""\
  private async latest(subjectId: string): Promise<number> {
    const sql = "SELECT max(entry_id) AS id FROM <<table>> WHERE subject_id = $1";
    const { rows } = await this.pool.query(sql, [subjectId]);
    return Number(rows[0]?.id ?? 0);
  }
}
""",
    find="  async <<camel>>(subjectId: string, amount: number, currency: string, reference: string): Promise<number> {",
    replace="""\
  async <<camel>>(subjectId: string, amount: number, currency: string, reference: string): Promise<EntryId> {
    if (this.mode !== "old") {
      const minor = toMinor(amount, currency);
      const posted = await this.gateway.post({ kind: Kind.<<camel>>, subjectId, minor, key: reference });
      if (this.mode === "new") return posted.entryId;
    }""",
)

CLIENTS: dict[str, ClientTemplate] = {"python": _PYTHON, "kotlin": _KOTLIN, "go": _GO, "typescript": _TYPESCRIPT}
