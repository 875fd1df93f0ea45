"""``formalbench check``: check that a plugin satisfies the contract."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from formalbench.contracts.errors import RequestError
from formalbench.host import LocalPlugin, PluginHost
from formalbench.host.loader import PROJECT
from formalbench.host.options import parse_instance
from formalbench.host.plain_class import names_class
from formalbench.host.plugin import plugin_files
from formalbench.ui.terminal import JsonFlag, host_of, offers, print_json


def _names(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    return offers(ctx, "tasks", incomplete) + offers(ctx, "models", incomplete)


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file."""

    @app.command()
    def check(
        ctx: typer.Context,
        what: Annotated[
            str,
            typer.Argument(
                metavar="NAME|PATH",
                help="A task, a model, the path of a plugin, or a class: mine.py:Mine.",
                autocompletion=_names,
            ),
        ],
        as_json: JsonFlag = False,
    ) -> None:
        """Check that a task or a model satisfies the contract.

        It takes less than a minute on a CPU.

        For a path, everything that the plugin provides is checked. Exit code 1 if a check fails.

        \b
        formalbench check regulargpt
        formalbench check 'parity:tag[p=0.3]'
        formalbench check my-language.yaml
        formalbench check mine.py:Mine
        """
        from formalbench.checks import check_plugin, check_spec
        from formalbench.checks.remote import check_remotely
        from formalbench.documents.text import plural

        if not what:  # Path("") would be the working directory
            raise RequestError("check needs a name or a path")
        host = host_of(ctx)
        bare = what.partition("[")[0]  # an option's value may contain a point
        is_path = not names_class(what) and ("/" in bare or "." in bare or Path(what).is_dir())
        if is_foreign(host, what, is_path=is_path):
            checks = check_remotely(host, Path(what) if is_path else what)
        else:
            checks = check_plugin(Path(what), host) if is_path else check_spec(host, what)
        if as_json:
            print_json([{**asdict(item), "passed": item.passed} for item in checks])
        else:
            subject = ""
            for item in checks:
                if item.subject != subject:
                    subject = item.subject
                    print(subject)
                print(f"  {'ok  ' if item.passed else 'FAIL'}  {item.promise}")
                if not item.passed:
                    print(f"        {item.problem}")
            failed = sum(not item.passed for item in checks)
            print(f"{plural(len(checks) - failed, 'check')} passed, {failed} failed")
        if not checks or not all(item.passed for item in checks):
            raise typer.Exit(1)


def is_foreign(host: PluginHost, what: str, *, is_path: bool) -> bool:
    """Return whether code outside formalbench would run."""
    if is_path:
        files = plugin_files(Path(what), "check")
        return host.runs_local_code() or any(LocalPlugin(file, "").is_code for file in files)
    if names_class(what):
        return True
    bare = parse_instance(what)[0].partition(":")[0]
    plugins = [entry.plugin for entry in host.tasks.all() if entry.spec.name == bare]
    plugins += [entry.plugin for entry in host.models.all() if entry.spec.name == bare]
    return host.runs_local_code() or any(plugin.distribution != PROJECT for plugin in plugins)
