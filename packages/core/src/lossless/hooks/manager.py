"""Plugins of one engine: registered once, asked once, resolved into plain registries."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import pluggy

from lossless.errors import PluginError
from lossless.hooks import specs

if TYPE_CHECKING:
    from lossless.messages.formats import Format
    from lossless.messages.model import Message
    from lossless.policies.model import Policy
    from lossless.tokens.counter import TokenCounter
    from lossless.tokens.models import ModelInfo

__all__ = ["ENTRY_POINT_GROUP", "Plugins"]

ENTRY_POINT_GROUP = "lossless"
"""Entry points of installed packages in this group are loaded as plugins."""

_log = logging.getLogger("lossless")


class Plugins:
    """The plugins of one engine.

    What plugins provide (formats, policies, models, the counter) is collected when asked for the first time after a registration,
    and kept in plain dicts, so that no hook is called on a hot path.
    """

    def __init__(self, plugins: Iterable[object] = (), *, load: bool = True, builtins: Iterable[object] = ()) -> None:
        self._manager = _Manager("lossless")
        self._manager.add_hookspecs(specs)
        self._formats: dict[str, Format] | None = None
        self._policies: dict[str, Policy] | None = None
        for builtin in builtins:
            self.register(builtin)
        if load:
            self._load_installed()
        for plugin in plugins:
            self.register(plugin)

    def register(self, plugin: object) -> Callable[[], None]:
        """Add a plugin; give a function that takes it out again.

        Raises:
            PluginError: it is a class, is registered already, or implements a hook that does not exist or takes other arguments.
        """
        if inspect.isclass(plugin):
            raise PluginError(f"{plugin.__name__} is a class", hint="register an instance of it")
        try:
            name = self._manager.register(plugin)
            self._manager.check_pending()
        except (ValueError, pluggy.PluginValidationError) as error:
            if self._manager.is_registered(plugin):
                self._manager.unregister(plugin)
            raise PluginError(
                f"the plugin does not fit: {error}", hint="see lossless.hookspecs for names and arguments"
            ) from None
        self._forget()
        _log.debug("plugin registered name=%s", name)
        return lambda: self._unregister(plugin)

    def names(self) -> list[str]:
        """Give the names of the plugins, in order of registration."""
        return [name for name, plugin in self._manager.list_name_plugin() if plugin is not None]

    @property
    def formats(self) -> Mapping[str, Format]:
        """Formats by name."""
        if self._formats is None:
            found: dict[str, Format] = {}
            for given in reversed(self._manager.hook.lossless_formats()):
                for format in given:
                    if format.name in found:
                        raise PluginError(f"two plugins provide the format {format.name}", hint="unregister one of them")
                    found[format.name] = format
            self._formats = found
        return self._formats

    def policies(self, counter: TokenCounter) -> Mapping[str, Policy]:
        """Give policies by name; ``counter`` is the engine's."""
        if self._policies is None:
            found: dict[str, Policy] = {}
            for given in reversed(self._manager.hook.lossless_policies(counter=counter)):
                for name, policy in given.items():
                    if name in found:
                        raise PluginError(f"two plugins provide the policy {name}", hint="unregister one of them")
                    found[name] = policy
            self._policies = found
        return self._policies

    def redact(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Give a payload as plugins let it be stored; the same object where none changes it.

        Raises:
            PluginError: a plugin failed: then the message must not be stored.
        """
        found = payload
        for plugin in reversed(self._manager.hook.lossless_redact.get_hookimpls()):
            try:
                given = plugin.function(*([deepcopy(found)] if "message" in plugin.argnames else []))
            except Exception as error:
                said = f"the plugin {plugin.plugin_name} failed to redact a message ({type(error).__name__}); nothing was stored"
                raise PluginError(said, hint="repair or unregister it") from error
            if given is None:
                continue
            if not isinstance(given, Mapping):
                said = f"the plugin {plugin.plugin_name} gave a {type(given).__name__} for a message; nothing was stored"
                raise PluginError(said, hint="lossless_redact gives a dict or None")
            found = dict(given)
        return found

    def models(self) -> Sequence[ModelInfo]:
        """Give the known models, those of plugins that were registered later first."""
        return [model for given in self._manager.hook.lossless_models() for model in given]

    def model(self, name: str) -> Callable[[str], str | Awaitable[str]]:
        """Give what answers a prompt with the model of that name.

        Raises:
            PluginError: no plugin provides it.
        """
        model: Callable[[str], str | Awaitable[str]] | None = self._manager.hook.lossless_model(name=name)
        if model is None:
            hint = "install lossless-langchain[agents] and the provider's package, or register a lossless_model plugin"
            raise PluginError(f"no plugin provides the model {name!r}", hint=hint)
        return model

    def token_counter(self, model: str | None) -> TokenCounter:
        """Give the counter for a model.

        Raises:
            PluginError: no plugin provides one.
        """
        counter: TokenCounter | None = self._manager.hook.lossless_token_counter(model=model)
        if counter is None:
            raise PluginError(f"nothing counts tokens for the model {model}", hint="register a lossless_token_counter")
        return counter

    @property
    def summarizer(self) -> Callable[..., Any] | None:
        """What the plugins summarize with, the last registered first, or None when none does."""
        hook = self._manager.hook.lossless_summarize
        if not hook.get_hookimpls():
            return None
        return _ByPlugins(hook)

    def before_compaction(self, thread_id: str, plan: Mapping[str, Any]) -> None:
        """Tell plugins that a compaction begins."""
        self._tell(self._manager.hook.lossless_before_compaction, thread_id=thread_id, plan=plan)

    def after_compaction(self, thread_id: str, result: object) -> None:
        """Tell plugins what came of a compaction."""
        self._tell(self._manager.hook.lossless_after_compaction, thread_id=thread_id, result=result)

    @property
    def detect_corrections(self) -> bool:
        """Whether plugins beside the built-in one tell what is a correction."""
        return len(self._manager.hook.lossless_correction.get_hookimpls()) > 1

    def correction(self, message: Message, thread_id: str) -> bool | str | None:
        """Ask plugins whether a message corrects something, and what; None where none of them can tell."""
        found: bool | str | None = self._manager.hook.lossless_correction(message=message, thread_id=thread_id)
        return found

    def event(self, name: str, **facts: Any) -> None:
        """Log an event and tell plugins of it."""
        if _log.isEnabledFor(logging.INFO):
            _log.info("%s %s", name, " ".join(f"{key}={value}" for key, value in facts.items()))
        self._tell(self._manager.hook.lossless_event, event={"name": name, **facts})

    def _tell(self, hook: pluggy.HookCaller, **facts: Any) -> None:
        """Call a hook that only takes note, plugin by plugin: one that fails is logged, and the others are told all the same."""
        for plugin in reversed(hook.get_hookimpls()):
            try:
                plugin.function(*(facts[name] for name in plugin.argnames))
            except Exception:
                _log.exception("plugin failed name=%s hook=%s", plugin.plugin_name, hook.name)

    def _load_installed(self) -> None:
        try:
            for found in _installed():
                if not self._manager.has_plugin(found.name):
                    self._manager.register(found.load(), name=found.name)
            self._manager.check_pending()
        except Exception as error:
            raise PluginError(
                f"an installed plugin can't be loaded: {error}", hint="uninstall it, or use Engine(load_plugins=False)"
            ) from error
        self._forget()

    def _unregister(self, plugin: object) -> None:
        if self._manager.is_registered(plugin):
            self._manager.unregister(plugin)
            self._forget()

    def _forget(self) -> None:
        self._formats = None
        self._policies = None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())


def _installed() -> tuple[EntryPoint, ...]:
    """Find the plugins of installed packages, anew only when something was installed: it takes longer than opening a database."""
    return _found(tuple((folder, _changed_at(folder)) for folder in sys.path))


@lru_cache(maxsize=4)
def _found(_places: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=ENTRY_POINT_GROUP))


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


class _Manager(pluggy.PluginManager):
    """A manager that looks at no more names than it must: every engine has one, and most names are Python's own."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        return None if name.startswith("__") else super().parse_hookimpl_opts(plugin, name)

    def parse_hookspec_opts(self, module_or_class: Any, name: str) -> pluggy.HookspecOpts | None:
        return super().parse_hookspec_opts(module_or_class, name) if name.startswith("lossless_") else None


class _ByPlugins:
    """The summarizer that plugins make up together."""

    route = "plugins"

    def __init__(self, hook: pluggy.HookCaller) -> None:
        self._hook = hook

    def __call__(self, request: Any) -> Any:
        return self._hook(request=request)
