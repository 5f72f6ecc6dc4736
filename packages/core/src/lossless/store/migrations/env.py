"""Runs the migrations on the connection that the store hands over, inside its transaction."""

from alembic import context

from lossless.store.schema import VERSION_TABLE
from lossless.store.tables import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA, version_table=VERSION_TABLE, render_as_batch=True)
context.run_migrations()
