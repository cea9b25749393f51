"""Programs of this machine as applications, run at the two hosts of a flow."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from daybreak.errors import ScenarioError, reason

from .model import Model, Names, Tagged
from .quantities import Span, reject

MOST_CONTENT = 16 * 2**20
"""Limit on the total size of a program's files in bytes."""


class Command(Model):
    """A program of this machine, with its arguments and environment. A list of strings is short for its `run`."""

    run: tuple[str, ...] = Field(min_length=1)
    """The program and its arguments. The program is a name in the standard folders, an absolute path, or `./NAME` of
    `files`. `{server}` and `{client}` stand for the names of the flow's hosts, `{python}` for the Python that runs
    Daybreak."""
    stop: Span | None = Field(default=None, gt=0)
    """Time of SIGTERM; by default it ends by itself, or a server when all clients have ended."""
    environment: dict[str, str] = {}
    """Variables of its environment, besides PATH, HOME, USER, LANG and TZ."""
    files: Names = ()
    """Files, relative to the scenario's, that are copied to its private folder."""
    contents: dict[str, str] = {}
    """Content of these files in Base64, which replaces `files` when a scenario is loaded from a file."""
    folder: str = "."
    """Working directory: its private folder, or an absolute path of the machine, where it cannot write."""

    @model_validator(mode="after")
    def _has_contents(self) -> Self:
        if self.files:
            raise reject(
                f'has files = "{self.files[0]}": expected contents; files are read when a scenario file is loaded'
            )
        for name, content in self.contents.items():
            try:
                b64decode(content, validate=True)
            except (binascii.Error, ValueError):
                raise reject(f'has contents of "{name}" that are not Base64') from None
        return self


def _words(value: Any) -> Any:
    return {"run": value} if isinstance(value, list | tuple) else value


Run = Annotated[Command, BeforeValidator(_words, json_schema_input_type=Command | tuple[str, ...])]
"""A command, or its argument list."""


class Programs(Tagged):
    """Unmodified programs of this machine at the flow's hosts; kernel engine only.

    Their connections are discovered by their packets and take the flow's paths; each is a flow of its own in the
    tables, named after this one. A server at `to` is up before the run begins. A client at `from` starts at `start`.
    """

    kind: Literal["program"] = "program"
    """The kind of application."""
    client: Run | None = None
    """The program at `from`."""
    server: Run | None = None
    """The program at `to`."""

    @model_validator(mode="after")
    def _runs_something(self) -> Self:
        if self.client is None and self.server is None:
            raise reject("expected a client, a server or both")
        return self


def put_contents(flows: Any, folder: Path) -> None:
    """Replaces names of programs' files by their contents; invalid entries are left for validation.

    Raises ScenarioError for a file that cannot be read.
    """
    for i, flow in enumerate(flows if isinstance(flows, list) else ()):
        application = flow.get("application") if isinstance(flow, dict) else None
        if not isinstance(application, dict) or application.get("kind") != "program":
            continue
        for end in ("client", "server"):
            command = application.get(end)
            if not isinstance(command, dict) or "contents" in command or "files" not in command:
                continue
            names = [command["files"]] if isinstance(command["files"], str) else command["files"]
            if isinstance(names, list) and all(isinstance(name, str) for name in names):
                command["contents"] = _contents(names, folder, f"flows[{i}].application.{end}.files")
                del command["files"]


def _contents(names: list[str], folder: Path, field: str) -> dict[str, str]:
    contents, size = {}, 0
    for name in names:
        try:
            content = (folder / name).read_bytes()
        except (OSError, ValueError) as error:
            raise ScenarioError(f'{field} = "{name}" cannot be read: {reason(error)}', field) from None
        size += len(content)
        if size > MOST_CONTENT:
            raise ScenarioError(
                f'{field} = "{name}": the files have more than {MOST_CONTENT >> 20} MiB: expected less',
                field,
            )
        contents[Path(name).name] = b64encode(content).decode()
    return contents
