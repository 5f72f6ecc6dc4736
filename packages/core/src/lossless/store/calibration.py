"""Calibration: what providers reported for contexts that were counted here, by model. Operational data."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select, update

from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import CalibrationRow

__all__ = ["add_report", "reported"]

_CALIBRATION = CalibrationRow.__table__  # type: ignore[attr-defined]
_INSERT_NEW = Prepared(insert_new(_CALIBRATION))
_REPORTED = Prepared(
    select(_CALIBRATION.c.counted, _CALIBRATION.c.reported).where(
        _CALIBRATION.c.namespace == bindparam("namespace"), _CALIBRATION.c.model == bindparam("model")
    )
)
_MOST = 4_000_000
"""Counted tokens from which on older reports weigh less: half, each time."""


def add_report(connection: Connection, namespace: str, model: str, counted: int, prompt_tokens: int) -> tuple[int, int]:
    """Add a report; give the sums of what was counted and what was reported."""
    _INSERT_NEW.run(connection, {"namespace": namespace, "model": model, "counted": 0, "reported": 0})
    place = (_CALIBRATION.c.namespace == namespace, _CALIBRATION.c.model == model)
    connection.execute(
        update(_CALIBRATION)
        .where(*place)
        .values(counted=_CALIBRATION.c.counted + counted, reported=_CALIBRATION.c.reported + prompt_tokens)
    )
    connection.execute(
        update(_CALIBRATION)
        .where(*place, _CALIBRATION.c.counted > _MOST)
        .values(counted=_CALIBRATION.c.counted // 2, reported=_CALIBRATION.c.reported // 2)
    )
    return reported(connection, namespace, model)


def reported(connection: Connection, namespace: str, model: str) -> tuple[int, int]:
    """Give the sums of what was counted and what was reported for a model; (0, 0) where nothing was."""
    row = _REPORTED.first(connection, {"namespace": namespace, "model": model})
    return (0, 0) if row is None else (int(row.counted), int(row.reported))
