#!/usr/bin/env python3
"""Gets the tested versions of Linux, builds their images, and writes what differs among them to docs/kernels.

    python tools/kernels/make.py sources --suites bookworm,bookworm-security,bullseye-security,trixie-backports
    python tools/kernels/make.py images
    python tools/kernels/make.py results

The first step writes the tarballs that are missing to /usr/src, of suites of Debian, and changes nothing else of the
system. The second builds each version with 1000 and with 250 ticks: eight images, five minutes each on two cores. The
third plays all dialogues and runs the suite with every version, some ten minutes; it goes on where it was stopped. What
it finds is in `--out` as a whole, and in docs/kernels as tables.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import sources
import tables

from daybreak.agreement import segments
from daybreak.engines import program
from daybreak.engines.kernel import dialogues, image
from daybreak.engines.kernel import recipe as recipes
from daybreak.engines.kernel.choice import Choice

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "docs" / "kernels"
USUAL, OTHER = 1000, 250
"""Ticks a second that every version is built with."""
PIECES = 8
"""Number of pieces in which the suite is run, each of which spans all of it."""


def get_sources(arguments: argparse.Namespace) -> None:
    """Gets the sources that are missing."""
    for tarball in sources.get(_versions(), arguments.suites.split(","), arguments.into):
        print(tarball)


def build_images(arguments: argparse.Namespace) -> None:
    """Builds the images that are missing, one after the other."""
    for hz in (USUAL, OTHER):
        for version in _versions():
            built = image.build(linux=version, hz=hz, jobs=arguments.jobs)
            print(f"Linux {built.source_version}, {hz} ticks: {built.digest[:8]}", flush=True)


def write_results(arguments: argparse.Namespace) -> None:
    """Plays the dialogues, with other ticks as well, runs the suite, and writes the tables; or a part of this."""
    parts = arguments.part or list(PARTS)
    ticks = {USUAL, OTHER} if "ticks" in parts else {USUAL}
    for version in _versions():
        for hz in ticks:
            image.find(Choice(version, hz))  # says how to get the image that is missing
    arguments.out.mkdir(parents=True, exist_ok=True)
    for part in parts:
        PARTS[part](arguments.out)


def _write_dialogues(out: Path) -> None:
    _write("dialogues.csv", tables.dialogues(_dialogues(_versions(), out / "dialogues.json")))


def _write_ticks(out: Path) -> None:
    """Each version with both ticks: most dialogues say nothing of them, and many do not depend on them."""
    copies = out / f"dialogues-{OTHER}"
    copies.mkdir(exist_ok=True)
    files = [file for file in dialogues.find() if tables.with_ticks(file.read_text(encoding="utf-8"), OTHER)]
    changed = [copies / file.name for file in files]
    for file, copy in zip(files, changed, strict=True):
        copy.write_text(tables.with_ticks(file.read_text(encoding="utf-8"), OTHER) or "", encoding="utf-8")
    usual = _dialogues(_versions(), out / "dialogues-alike.json", files)
    other = _dialogues([f"{version}@{OTHER}" for version in _versions()], out / f"dialogues-{OTHER}.json", changed)
    _write(f"dialogues-{OTHER}.csv", tables.ticks(usual, other))


def _write_suite(out: Path) -> None:
    """Runs every eighth scenario, then the ones behind these, and so on: a run that was ended goes on with what lacks.

    The tables are of all that was run so far.
    """
    ordered = sorted(_versions(), key=lambda version: version != tables.MODELLED)
    names = [case.name for case in segments.replayable(None, quick=False, only=(), hz=None)]
    found: list[tables.Document] = []
    for piece in range(PIECES):
        found.append(_piece(ordered, names[piece::PIECES], out / f"suite-{piece}"))
        together = found[0] | {"ends": [end for one in found for end in one["ends"]]}
        _write("suite.csv", tables.summary(together))
        for version in ordered[1:]:
            _write(f"suite-{version}.csv", tables.suite(together, version))


def _piece(kernels: list[str], scenarios: list[str], out: Path) -> tables.Document:
    """What these scenarios gave, run now unless they were with the same programs."""
    file = out / "kernels.json"
    programs = {name: program(name) for name in (*map(tables.engine, kernels), "simulated")}
    if file.is_file():
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["programs"] == programs:
            return found
    only = [word for name in scenarios for word in ("--only", name)]
    _daybreak("agree", "--kernels", ",".join(kernels), "--segments", "--receivers", *only, "-o", out)
    return json.loads(file.read_text(encoding="utf-8"))


PARTS = {"dialogues": _write_dialogues, "ticks": _write_ticks, "suite": _write_suite}


def _versions() -> list[str]:
    return list(recipes.load().tested_versions)


def _dialogues(kernels: list[str], file: Path, played: Sequence[Path] = ()) -> tables.Document:
    said = _daybreak("kernel", "dialogues", *played, "--kernels", ",".join(kernels), "--json", stdout=subprocess.PIPE)
    file.write_text(said, encoding="utf-8")
    return json.loads(said)


def _daybreak(*words: str | Path, stdout: int | None = None) -> str:
    done = subprocess.run([sys.executable, "-m", "daybreak", *words], cwd=ROOT, stdout=stdout, text=True, check=True)
    return done.stdout or ""


def _write(name: str, rows: Iterable[tables.Row]) -> None:
    with (TABLES / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    print(TABLES / name, flush=True)


def main() -> None:
    """Does one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("sources", help="get the sources")
    step.add_argument("--suites", required=True, help="suites of Debian, with commas between them")
    step.add_argument("--into", type=Path, default=Path("/usr/src"), help="where the tarballs are and go")
    step.set_defaults(do=get_sources)
    step = steps.add_parser("images", help="build the images")
    step.add_argument("--jobs", type=int, help="compilers side by side; one a processor if not given")
    step.set_defaults(do=build_images)
    step = steps.add_parser("results", help="play the dialogues and run the suite")
    step.add_argument("-o", "--out", type=Path, default=ROOT / "results" / "kernels", help="where all results go")
    step.add_argument("--part", action="append", choices=PARTS, help="only this; may be given several times")
    step.set_defaults(do=write_results)
    arguments = parser.parse_args()
    try:
        arguments.do(arguments)
    except sources.NoSource as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
