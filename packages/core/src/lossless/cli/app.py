"""The application: its commands, and how every way to end becomes an exit code and at most one line on stderr.

Exit codes: 0 fine; 1 a problem was found; 2 wrong use; 130 interrupted.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from lossless.cli.backup import backup
from lossless.cli.branch import branch
from lossless.cli.compact import compact
from lossless.cli.context import context
from lossless.cli.delete import delete
from lossless.cli.demo import demo
from lossless.cli.describe import describe
from lossless.cli.doctor import doctor
from lossless.cli.erase import erase
from lossless.cli.expand import expand
from lossless.cli.export import export
from lossless.cli.grep import grep
from lossless.cli.hints import program, typed
from lossless.cli.import_ import import_
from lossless.cli.keys import with_key_file
from lossless.cli.messages import messages
from lossless.cli.migrate import migrate
from lossless.cli.output import complain
from lossless.cli.plugins import plugins
from lossless.cli.restore import restore
from lossless.cli.snapshot import snapshot
from lossless.cli.threads import threads
from lossless.cli.undo import undo
from lossless.cli.verify import verify
from lossless.cli.views import views
from lossless.errors import ConfigError, LosslessError, MessageError, PluginError, QueryError, UrlError

__all__ = ["app", "main"]

PROBLEM, WRONG_USE, INTERRUPTED = 1, 2, 130
_WRONG = (ConfigError, QueryError, MessageError, UrlError)
_UsageError = typer.BadParameter.__mro__[1]  # typer names only its subclasses
_ShownError = typer.BadParameter.__mro__[2]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
for _name, _command in (
    ("demo", demo),
    ("import", import_),
    ("export", export),
    ("threads", threads),
    ("messages", messages),
    ("context", context),
    ("grep", grep),
    ("expand", expand),
    ("describe", describe),
    ("compact", compact),
    ("undo", undo),
    ("delete", delete),
    ("erase", erase),
    ("snapshot", snapshot),
    ("branch", branch),
    ("restore", restore),
    ("views", views),
    ("verify", verify),
    ("doctor", doctor),
    ("backup", backup),
    ("migrate", migrate),
    ("plugins", plugins),
):
    app.command(_name)(with_key_file(_command))


def _version(wanted: bool) -> None:
    if wanted:
        from lossless import __version__

        typer.echo(f"lossless {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback ends the program
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Context memory for long-running agents that never loses its sources.

    Options come after the command. Data goes to stdout, talk to stderr; --json gives one JSON document. New here? `lossless demo`
    shows what it does.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(WRONG_USE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: what comes after the program's name; None: as the process was given them.

    Returns:
        The exit code: 0 fine, 1 a problem was found, 2 wrong use, 130 interrupted.
    """
    _prepare_streams()
    code = _ended(None if arguments is None else list(arguments))
    try:
        sys.stdout.flush()
    except OSError as error:
        return _lost_output(error) or code
    if code == INTERRUPTED:
        complain("interrupted")
    return code


def _ended(arguments: list[str] | None) -> int:
    """Run a command; give the exit code, whatever happens."""
    try:
        code = app(args=arguments, prog_name=" ".join(program()), standalone_mode=False)
        return code if isinstance(code, int) else 0
    except LosslessError as error:
        complain(typed(error))
        return WRONG_USE if isinstance(error, _WRONG) and not isinstance(error, PluginError) else PROBLEM
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        return _silenced(end.code if isinstance(end.code, int) else PROBLEM)
    except OSError as error:
        return _lost_output(error)
    except Exception as error:
        return _unforeseen(error)


def _unforeseen(error: Exception) -> int:
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else " ".join(program())
        complain(f"{error.format_message()} (see {path} --help)")  # type: ignore[attr-defined]
        return WRONG_USE
    if isinstance(error, _ShownError):
        complain(error.format_message())  # type: ignore[attr-defined]
        return PROBLEM
    if isinstance(error, typer.Abort):
        return INTERRUPTED
    if os.environ.get("LOSSLESS_TRACEBACK"):
        raise error
    complain(f"{type(error).__name__}: {error} (this should not happen; set LOSSLESS_TRACEBACK=1 to see where it does)")
    return PROBLEM


def _lost_output(error: OSError) -> int:
    """End when the output can't be written: silently when its reader has gone."""
    if error.errno not in (errno.EPIPE, errno.EINVAL):
        complain(f"{error.filename}: {error.strerror}" if error.filename else f"can't go on: {error.strerror or error}")
    return _silenced(PROBLEM)


def _silenced(code: int) -> int:
    """Drop what can't be written any more, so that the interpreter does not fail over it at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            except (OSError, ValueError):
                code = code or PROBLEM
    return code


def _prepare_streams() -> None:
    """Make sure that any character can be written, and that log records are lines like ours."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open until the process ends
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    logger = logging.getLogger("lossless")
    if not logger.handlers:
        logger.addHandler(_Lines(logging.WARNING))


class _Lines(logging.Handler):
    """Writes log records to stderr, each in a line, an exception as its message."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        error = record.exc_info[1] if record.exc_info else None
        complain(record.getMessage() if error is None else f"{record.getMessage()}: {error}")
