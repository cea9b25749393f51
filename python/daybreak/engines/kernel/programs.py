"""Programs of this machine in a run: whether they are there, their files, and what they have written."""

from __future__ import annotations

import itertools
import re
import shutil
import sys
from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from daybreak.errors import PlanError, shown
from daybreak.plan import types

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for, as in the guest."""
FOLDER = "programs"
ENDING = "ending"
"""File of the guest with the exit code or signal of a program."""
PRIVATE = ("/tmp", "/dev")
"""Folders of which each program has its own instead of the machine's."""
MEMORY_MIB = 512
"""Memory of the guest for each program."""
_PYTHON = "{python}"
_NOT_PLAIN = re.compile(r"[^\w.-]+")
_LONGEST = 50
"""Most letters of a flow's name in that of its programs' folders."""


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
                raise PlanError(f"{field}.run: there is no program {shown(program)} on this machine, in {PATH}")
        elif program.startswith("/"):
            _refuse_private(f"{field}.run", program)
            if shutil.which(program) is None:
                is_file = Path(program).is_file()
                what = f"{shown(program)} is not executable" if is_file else f"there is no program {shown(program)}"
                raise PlanError(f"{field}.run: {what} on this machine")
        elif program.removeprefix("./") not in command.files:
            raise PlanError(
                f"{field}.run: {shown(program)} is not among the files of the program: expected a name or a path"
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


def written(plan: types.Plan, run: Path, *, endings: bool = False) -> dict[str, bytes]:
    """What the programs have written, by its path in the folder of a run; with `endings` also a file with the exit code
    or signal of each that has ended by itself."""
    files = {}
    names = _folders([flow.name for flow in plan.flows])
    for index, end, _ in commands(plan):
        folder, place = f"{FOLDER}/{names[index]}-{end}", run / FOLDER / f"{index}-{end}"
        for path in sorted((place / "out").rglob("*")):
            if path.is_file() and not path.is_symlink():
                files[f"{folder}/{path.relative_to(place / 'out')}"] = path.read_bytes()
        if endings and (place / ENDING).is_file():
            files[f"{folder}/{ENDING}"] = (place / ENDING).read_bytes()
    return files


def _folders(names: Sequence[str]) -> list[str]:
    """A name for the folder of each flow, its own as far as that is possible."""
    wanted = [_NOT_PLAIN.sub("-", name).lstrip(".-")[:_LONGEST] or "flow" for name in names]
    taken = {name for name, plain in zip(names, wanted, strict=True) if name == plain}
    found = []
    for name, plain in zip(names, wanted, strict=True):
        folder = plain
        if name != plain:
            others = (f"{plain}-{number}" for number in itertools.count(2))
            folder = next(one for one in itertools.chain([plain], others) if one not in taken)
            taken.add(folder)
        found.append(folder)
    return found
