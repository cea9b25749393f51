"""Programs of a flow, with the names of its hosts in their words."""

from __future__ import annotations

import re

from daybreak.errors import ScenarioError
from daybreak.plan import types as plan

from ..programs import Command, Programs
from ..traffic import Flow

_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_LONGEST_NAME = 63


def programs(runs: Programs, flow: Flow) -> plan.Program:
    """What a flow runs. Raises ScenarioError for hosts whose names no program could look up."""
    for host in (flow.from_, flow.to):
        if not _HOST_NAME.fullmatch(host) or len(host) > _LONGEST_NAME:
            raise ScenarioError(
                f'"{host}" runs programs, which look it up by its name: expected letters, digits, ".", "-" and "_", at '
                f"most {_LONGEST_NAME}"
            )
    return plan.Program(client=_command(runs.client, flow), server=_command(runs.server, flow))


def _command(command: Command | None, flow: Flow) -> plan.Command | None:
    if command is None:
        return None
    return plan.Command(
        arguments=[word.replace("{server}", flow.to).replace("{client}", flow.from_) for word in command.run],
        stop_ps=None if command.stop is None else int(command.stop),
        folder=command.folder,
        environment=dict(sorted(command.environment.items())),
        files=dict(sorted(command.contents.items())),
    )
