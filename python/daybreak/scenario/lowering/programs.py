"""Lowers the programs of a flow, with placeholders replaced by the names of its hosts."""

from __future__ import annotations

import re

from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from ..programs import Command, Programs

_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_LONGEST_NAME = 63


def programs(runs: Programs, client: str, server: str) -> plan.Program:
    """The programs of a flow at its two hosts. Raises ScenarioError for host names that no resolver accepts."""
    for host in (client, server):
        if not _HOST_NAME.fullmatch(host) or len(host) > _LONGEST_NAME:
            raise ScenarioError(
                f'"{host}" runs programs, which look it up by its name: expected letters, digits, ".", "-" and "_", at '
                f"most {_LONGEST_NAME}"
            )
    return plan.Program(client=_command(runs.client, client, server), server=_command(runs.server, client, server))


def _command(command: Command | None, client: str, server: str) -> plan.Command | None:
    if command is None:
        return None
    return plan.Command(
        arguments=[word.replace("{server}", server).replace("{client}", client) for word in command.run],
        stop_ps=None if command.stop is None else int(command.stop),
        folder=command.folder,
        environment=dict(sorted(command.environment.items())),
        files=dict(sorted(command.contents.items())),
    )
