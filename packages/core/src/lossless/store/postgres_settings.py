"""What a connection to PostgreSQL is set to: limits, and durability."""

from __future__ import annotations

from lossless.store.database import BUSY_TIMEOUT_SECONDS, Durability

__all__ = ["STATEMENT_SECONDS", "connection_settings"]

STATEMENT_SECONDS = 120
"""How long one statement may take, unless the database, the role or the URL says otherwise."""


def connection_settings(durability: Durability) -> str:
    """Write the statement that sets a connection's limits and durability, where nobody else has set them."""
    changes = [
        ("statement_timeout", f"{STATEMENT_SECONDS}s", "= '0'"),
        ("lock_timeout", f"{BUSY_TIMEOUT_SECONDS}s", "= '0'"),
        ("idle_in_transaction_session_timeout", "600s", "= '0'"),
        # Any setting but "off" is a promise about the disk.
        ("synchronous_commit", "on", "= 'off'") if durability == "full" else ("synchronous_commit", "off", "<> 'off'"),
    ]
    return ";".join(
        f"SELECT set_config('{name}', '{value}', false) WHERE current_setting('{name}') {unless}"
        for name, value, unless in changes
    )
