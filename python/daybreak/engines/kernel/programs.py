"""Programs of this machine in a run: whether they are there, their files, and what they have written."""

from __future__ import annotations

import re
import shutil
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import msgspec

from daybreak.errors import PlanError
from daybreak.plan import types

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for, as in the guest."""
FOLDER = "programs"
PRIVATE = ("/tmp", "/dev")
"""Folders of which each program has its own instead of the machine's."""
MEMORY_MIB = 512
"""Memory of the guest for each program."""
_PYTHON = "{python}"
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


def commands(plan: types.Plan) -> Iterator[tuple[int, str, types.Command]]:
    """The programs of a plan: index of the flow, "client" or "server", and the command."""
    for index, flow in enumerate(plan.flows):
        if isinstance(flow.application, types.Program):
            for end, command in (("client", flow.application.client), ("server", flow.application.server)):
                if command is not None:
                    yield index, end, command


def with_python(plan: types.Plan) -> types.Plan:
    """The plan with the Python that runs this in the place of `{python}`."""
    if not any(_PYTHON in word for _, _, command in commands(plan) for word in command.arguments):
        return plan

    def named(command: types.Command | None) -> types.Command | None:
        if command is None:
            return None
        words = [word.replace(_PYTHON, sys.executable) for word in command.arguments]
        return msgspec.structs.replace(command, arguments=words)

    def flow(one: types.Flow) -> types.Flow:
        match one.application:
            case types.Program(client=client, server=server):
                runs = types.Program(client=named(client), server=named(server))
                return msgspec.structs.replace(one, application=runs)
            case _:
                return one

    return msgspec.structs.replace(plan, flows=[flow(one) for one in plan.flows])


def refuse_missing(plan: types.Plan) -> None:
    """Raises PlanError for a program, or a folder to start in, that is not on this machine."""
    for index, end, command in commands(plan):
        field = f"flows[{index}].application.{end}"
        program = command.arguments[0]
        if "/" not in program:
            if shutil.which(program, path=PATH) is None:
                raise PlanError(f'{field}.run: there is no program "{program}" on this machine, in {PATH}')
        elif program.startswith("/"):
            _refuse_private(f"{field}.run", program)
            if shutil.which(program) is None:
                is_file = Path(program).is_file()
                what = f'"{program}" is not executable' if is_file else f'there is no program "{program}"'
                raise PlanError(f"{field}.run: {what} on this machine")
        elif program.removeprefix("./") not in command.files:
            raise PlanError(
                f'{field}.run: "{program}" is not among the files of the program: expected a name or a path'
            )
        if command.folder.startswith("/"):
            _refuse_private(f"{field}.folder", command.folder)
            if not Path(command.folder).is_dir():
                raise PlanError(f'{field}.folder: "{command.folder}" is not a folder of this machine')


def _refuse_private(field: str, name: str) -> None:
    """Raises PlanError for a path that leads to another place in the guest than on this machine."""
    for path in (Path(name), Path(name).resolve()):
        private = next((folder for folder in PRIVATE if path.is_relative_to(folder)), None)
        if private:
            raise PlanError(
                f'{field}: "{name}" lies in {private}, of which each program has its own: expected a file of `files` '
                "with a relative path, or another place"
            )


def put_files(plan: types.Plan, run: Path) -> None:
    """Makes a folder a program in `run`, with its files in it."""
    for index, end, command in commands(plan):
        place = run / FOLDER / f"{index}-{end}"
        (place / "in").mkdir(parents=True)
        (place / "out" / "files").mkdir(parents=True)
        for name, content in command.files.items():
            (place / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (place / "in" / name).write_bytes(b64decode(content))


def written(plan: types.Plan, run: Path) -> dict[str, bytes]:
    """What the programs have written, by its path in the folder of a run."""
    files = {}
    for index, end, _ in commands(plan):
        name = plan.flows[index].name
        folder = f"{name}-{end}" if _PLAIN.fullmatch(name) else f"flow-{index}-{end}"
        out = run / FOLDER / f"{index}-{end}" / "out"
        for path in sorted(out.rglob("*")):
            if path.is_file() and not path.is_symlink():
                files[f"{FOLDER}/{folder}/{path.relative_to(out)}"] = path.read_bytes()
    return files
