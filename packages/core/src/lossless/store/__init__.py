"""The store: tables, opening and group commit, appending, reading, search, migrations."""

from lossless.store.connection import Database, open_database
from lossless.store.pages import Page
from lossless.store.search import Hit

__all__ = ["Database", "Hit", "Page", "open_database"]
