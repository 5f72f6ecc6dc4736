"""``lossless migrate``: bring a database to the schema of this version."""

from __future__ import annotations

from lossless.cli.opening import opened, shown_url
from lossless.cli.options import AsJson, NamespaceOption, UrlOption
from lossless.cli.output import console, styled, write_json

__all__ = ["migrate"]


def migrate(url: UrlOption = None, namespace: NamespaceOption = "default", as_json: AsJson = False) -> None:
    """Bring a database to the schema of this version.

    Opening a database does it as well; this is for those who want to choose when. It is done whole or not at all, and by one
    process at a time. A database of a newer version is left alone, and the exit code is 1.
    """
    from lossless.store.schema import HEAD_REVISION

    with opened(url, namespace) as engine:
        before, now, name = engine.database.schema_before, HEAD_REVISION, shown_url(engine.url)
    if as_json:
        write_json({"database": name, "from": before, "to": now, "changed": before != now})
    elif before == now:
        console().print(styled(("up to date: ", "bold green"), f"{name} has schema {now}"))
    else:
        console().print(styled(("migrated: ", "bold green"), f"{name} from schema {before} to {now}"))
