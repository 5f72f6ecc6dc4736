"""Alembic migrations, run from code by ``lossless.store.schema``."""
