"""A tool that a model may call: its specification, and a call that never raises."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lossless.errors import LosslessError

__all__ = ["RecallTool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallTool:
    """A tool for a model.

    Attributes:
        name: such as ``lcm_grep``.
        description: what it does and when to use it, for the model.
        parameters: JSON Schema of its arguments.
        run: does it; takes the arguments by name, gives text.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[..., str]

    def __call__(self, arguments: str | Mapping[str, Any] | None = None, **named: Any) -> str:
        """Call the tool with a model's arguments: JSON text, a mapping, or by name; bad input is answered in words."""
        try:
            given = {**self._read(arguments), **named}
        except ValueError as error:
            return f"The arguments can't be read: {error}. {self._usage()}"
        known = self.parameters["properties"]
        unknown = sorted(set(given) - set(known))
        missing = [name for name in self.parameters["required"] if given.get(name) in (None, "")]
        wrong = [name for name in given if name in known and not _fits(given[name], known[name])]
        for what, names in (("unknown", unknown), ("missing", missing), ("of a wrong type", wrong)):
            if names:
                return f"{', '.join(names)}: {what}. {self._usage()}"
        try:
            return self.run(**{name: value for name, value in given.items() if value is not None})
        except LosslessError as error:
            return f"{error.message}. {error.hint}".strip()

    def openai(self) -> dict[str, Any]:
        """Give its specification for OpenAI's chat completions."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def anthropic(self) -> dict[str, Any]:
        """Give its specification for Anthropic's messages."""
        return {"name": self.name, "description": self.description, "input_schema": self.parameters}

    def _read(self, arguments: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except RecursionError:
                raise ValueError("they are nested too deeply") from None
        if arguments is None:
            return {}
        if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
            raise ValueError("they must be an object")
        return arguments

    def _usage(self) -> str:
        names = [name if name in self.parameters["required"] else f"{name}?" for name in self.parameters["properties"]]
        return f"Usage: {self.name}({', '.join(names)})"


def _fits(value: object, schema: Mapping[str, Any]) -> bool:
    if value is None:
        return True
    if "enum" in schema:
        return value in schema["enum"]
    if schema["type"] == "integer":
        return isinstance(value, int) and not isinstance(value, bool) and value >= schema.get("minimum", value)
    return isinstance(value, {"string": str, "boolean": bool}[schema["type"]])
