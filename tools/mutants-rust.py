#!/usr/bin/env python3
"""Changes the core's code in random places and sees whether a test fails: `cargo mutants` on a seeded sample.

    cargo install cargo-mutants@27.1.0 --locked     once
    python tools/mutants-rust.py                   150 mutants of tcp, fabric and engine; an hour or two
    python tools/mutants-rust.py --mutants 20 --packages fabric --out /tmp/trial.toml

A mutant is killed when a test fails, or when the tests do not end. Only tests of `cargo test` judge: first those of the
mutant's own crate, the slow ones last, then, for those that survive them, the tests of the crates above that run it;
none needs a kernel. A copy of the source is mutated, in `target/mutants`, which stays built between one mutant and the
next; nothing else is changed but the result.

Mutants are judged in the order in which they were drawn, some at a time: what has been judged when a run is interrupted
is a random sample as well. `--first 120` writes the result of the first 120 of those that were drawn.

The result has every mutant with its outcome. A survivor needs a reason, written there by hand, or a test that kills it;
reasons are kept when the result is written anew. A run that was interrupted goes on where it was if called again. After
tests were added, and nothing else, `--survivors` asks only for those that survived in the result as it stands.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "docs" / "mutants" / "rust.toml"
WORK = ROOT / "target" / "mutants"


@dataclass(frozen=True)
class Stage:
    """What judges the mutants that have survived the stage before."""

    packages: tuple[str, ...]
    """Whose tests are run."""
    which: tuple[str, ...] = ("--tests",)
    """Which of them; all, if nothing else is said."""
    without: tuple[str, ...] = ()
    """Tests that wait for a later stage."""
    optimised: bool = True
    """What runs for an instant is built without optimisation, which takes a quarter of the time."""


SLOW_OF_TCP = ("connection::fast_path_tests::",)
"""They take five times as long as all others of the package together."""
QUICK_OF_TCP = ("--lib", "--test=dialogues", "--test=kernel_receiver", "--test=kernel_sender")
"""They kill most mutants, in less than a second."""
TESTED_BY = {
    "units": (Stage(("units",)), Stage(("fabric", "tcp", "engine"))),
    "trace": (Stage(("trace",)), Stage(("engine",))),
    "tcp": (
        Stage(("tcp",), QUICK_OF_TCP, without=SLOW_OF_TCP, optimised=False),
        Stage(("tcp",), without=SLOW_OF_TCP),
        Stage(("tcp",), ("--lib",)),
        Stage(("engine",)),
    ),
    "fabric": (Stage(("fabric",)), Stage(("engine",))),
    "engine": (Stage(("engine",)),),
}
"""What judges a mutant of each package, one stage after the other."""
BATCH = 25
"""So many are judged by all stages before the next."""
TEST_SECONDS = 240
TEST_TIMES = 20
"""Tests that take longer than this, and than this multiple of their time without a mutant, count as endless."""
JUDGED = (0, 2, 3)
"""Exit codes of `cargo mutants` after a complete run: all killed, some survived, some timed out."""
MEMORY = 6 << 30
"""Address space of a process: a mutant that allocates without end fails instead of the machine."""
ENVIRONMENT = {
    # A failing test must leave nothing for the next mutant in the same copy, nor draw its cases anew.
    "INSTA_UPDATE": "no",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true",
    "PROPTEST_RNG_SEED": "1",
    "RUST_BACKTRACE": "0",
    # Programs are linked for each mutant: without what a debugger wants that is much faster.
    "CARGO_PROFILE_DEV_DEBUG": "0",
}
FAIL_FAST = ("-Zunstable-options", "--fail-fast")
RUNNER = "target.'cfg(all())'.runner = ['env', 'RUSTC_BOOTSTRAP=1']"
"""The first failure ends a program of tests: others there may never end. Only programs that run may be told so."""
KILLED, SURVIVED, UNVIABLE = "killed", "survived", "unviable"
UNDECIDED = "undecided"
"""Survived so many stages, the number behind the word; others have not run."""
OUTCOMES = {"CaughtMutant": KILLED, "Timeout": KILLED, "MissedMutant": SURVIVED, "Unviable": UNVIABLE}


@dataclass(frozen=True)
class Mutant:
    """One change of the code."""

    package: str
    name: str
    """As `cargo mutants` names it: file, line, column, what is replaced."""
    was: str
    becomes: str

    @property
    def file(self) -> str:
        """Its file."""
        return self.name.split(":")[0]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What stays the same when lines above it come and go."""
        return (self.file, self.name.split(": ", 1)[1], self.was, self.becomes)


def mutants(packages: Iterable[str]) -> list[Mutant]:
    """All mutants of these packages, in the order of their names."""
    options = [f"--package=daybreak-{package}" for package in packages]
    listed = subprocess.run(
        ["cargo", "mutants", "--list", "--json", *options], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found = [_mutant(entry) for entry in json.loads(listed.stdout)]
    return sorted(found, key=lambda mutant: mutant.name)


def _mutant(entry: dict[str, str]) -> Mutant:
    lines = entry["diff"].splitlines()[2:]
    changed = {sign: " ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+"}
    becomes = changed["+"].replace(" /* ~ changed by cargo-mutants ~ */", "")
    return Mutant(entry["package"].removeprefix("daybreak-"), entry["name"], changed["-"], becomes)


class Outcomes:
    """What is known of the mutants of this very source, kept in a directory that is named by its digest."""

    def __init__(self) -> None:
        self._source = source_digest()
        self.directory = WORK / self._source[:16]
        self.directory.mkdir(parents=True, exist_ok=True)
        self.copy = self.directory / "copy"
        self._file = self.directory / "outcomes.json"
        self.known: dict[str, str] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def learn(self, written: Path, survivors: str) -> None:
        """Takes over what a run of `cargo mutants` has written, also one that was interrupted."""
        if not written.exists():
            return
        for outcome in json.loads(written.read_text())["outcomes"]:
            found = _outcome(outcome)
            if found is None:
                continue
            name = outcome["scenario"]["Mutant"]["name"]
            found, before = survivors if found == SURVIVED else found, self.known.get(name, UNDECIDED)
            # What was found in an earlier stage is read again when a run goes on: what came of later ones stays.
            is_earlier = found.startswith(UNDECIDED) and found < before
            if before.startswith(UNDECIDED) and not is_earlier:
                self.known[name] = found
        if source_digest() != self._source:
            sys.exit("the source has changed meanwhile: what was found is of neither the old nor the new one")
        self._file.write_text(json.dumps(self.known, indent=1))


def decided_before(path: Path, sample: list[Mutant]) -> dict[str, str]:
    """What the result says of the mutants that its tests have killed, and of those that do not compile."""
    result = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {name: outcome for outcome in (KILLED, UNVIABLE) for name in result["names"][outcome]}
    judged = {*known, *(entry["mutant"] for entry in result.get("survivor", []))}
    if other := [mutant.name for mutant in sample if mutant.name not in judged]:
        sys.exit(f"{path} does not know {other[0]}: the code has changed since; judge the whole sample")
    return known


def _outcome(entry: dict[str, Any]) -> str | None:
    """What a line of the log says of a mutant, if it is one that was judged: a build that was too slow says nothing."""
    was_tested = any(phase["phase"] == "Test" for phase in entry["phase_results"])
    if entry["scenario"] == "Baseline" or (entry["summary"] == "Timeout" and not was_tested):
        return None
    return OUTCOMES.get(entry["summary"])


def _source(*under: str) -> list[str]:
    """The names of the files that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *under],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted({name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()})


def source_digest() -> str:
    """Of all that the tests of the core depend on."""
    found = hashlib.sha256()
    for name in _source("crates", "Cargo.toml", "Cargo.lock"):
        found.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return found.hexdigest()


def refresh(copy: Path) -> None:
    """Makes the copy what the source is. What is the same stays, with its time: cargo builds only what differs.

    A run that was interrupted has left a mutant in it, and a test that failed may have left a file.
    """
    names = _source()
    for name in names:
        there = copy / name
        content = (ROOT / name).read_bytes()
        if not there.is_file() or there.read_bytes() != content:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(content)
    kept = set(names)
    for folder in ("crates", "tests"):
        for path in (copy / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(copy)) not in kept:
                path.unlink()


def judge(directory: Path, copy: Path, stage: Stage, chosen: list[Mutant], every: list[Mutant]) -> bool:
    """Runs the tests of a stage on mutants of one package; logs go to the directory. False if it ends early.

    `cargo mutants` 27.1 tries the mutants that delete a field of a struct whether or not they are examined: those that
    are not in the sample are said to have been caught before, which `--iterate` leaves out.
    """
    said = directory / "mutants.out"
    # What an earlier run has logged is known. What it has found last, and not logged when interrupted, is asked again.
    shutil.rmtree(directory, ignore_errors=True)
    said.mkdir(parents=True)
    names = {mutant.name for mutant in chosen}
    others = [m.name for m in every if "delete field" in m.name and m.name not in names]
    (said / "caught.txt").write_text("".join(f"{name}\n" for name in others))
    config = directory / "config.toml"
    wanted = {
        "examine_globs": sorted({mutant.file for mutant in chosen}),
        "examine_re": [_exactly(name) for name in sorted(names)],
    }
    config.write_text("".join(f"{option} = {_quoted(values)}\n" for option, values in wanted.items()))
    command = [
        "cargo", "mutants", "--in-place", f"--config={config}", f"--output={directory}", "--iterate",
        "--colors=never", f"--package=daybreak-{chosen[0].package}",
        *(f"--test-package=daybreak-{package}" for package in stage.packages),
        *_limits(directory.with_suffix(".seconds")), *(f"--cargo-arg={which}" for which in stage.which),
        f"--cargo-arg=--config={RUNNER}", "--", "--", *FAIL_FAST, *(f"--skip={name}" for name in stage.without),
    ]  # fmt: skip
    refresh(copy)
    environment = os.environ | ENVIRONMENT | ({} if stage.optimised else {"CARGO_PROFILE_DEV_OPT_LEVEL": "0"})
    done = subprocess.run(command, cwd=copy, env=environment, preexec_fn=_limit_memory, check=False)
    _keep_seconds(said / "outcomes.json", directory.with_suffix(".seconds"))
    return done.returncode in JUDGED


def _limits(seconds: Path) -> tuple[str, ...]:
    """Tests pass without a mutant and take so long: that is seen once for each source, and not again for each batch."""
    if not seconds.exists():
        return (f"--minimum-test-timeout={TEST_SECONDS}", f"--timeout-multiplier={TEST_TIMES}")
    return ("--baseline=skip", f"--timeout={max(TEST_SECONDS, TEST_TIMES * float(seconds.read_text()))}")


def _keep_seconds(written: Path, seconds: Path) -> None:
    if not written.exists():
        return
    for outcome in json.loads(written.read_text())["outcomes"]:
        if outcome["scenario"] == "Baseline" and outcome["summary"] == "Success":
            seconds.write_text(str(outcome["phase_results"][-1]["duration"]))


def _exactly(name: str) -> str:
    special = set("\\.+*?()|[]{}^$")
    return "^" + "".join(f"\\{letter}" if letter in special else letter for letter in name) + "$"


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def write(path: Path, asked: argparse.Namespace, sample: list[Mutant], known: dict[str, str]) -> list[Mutant]:
    """Writes the result; returns the survivors without a reason."""
    before = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    reasons = {tuple(entry["key"]): entry["reason"] for entry in before.get("survivor", [])}
    of = {outcome: [m for m in sample if known[m.name] == outcome] for outcome in (KILLED, SURVIVED, UNVIABLE)}
    viable = len(of[KILLED]) + len(of[SURVIVED])
    first = "" if asked.first is None else f" --first {asked.first}"
    options = f"--packages {asked.packages} --mutants {asked.mutants} --seed {asked.seed}{first}"
    lines = [
        f"# Made by tools/mutants-rust.py {options}",
        "# A killed mutant makes a test fail, or run without end; an unviable one does not compile and does not count.",
        f"killed = {len(of[KILLED])}",
        f"survived = {len(of[SURVIVED])}",
        f"unviable = {len(of[UNVIABLE])}",
        f"killed_percent = {100 * len(of[KILLED]) / viable if viable else 0:.1f}",
        "",
    ]
    for mutant in of[SURVIVED]:
        # TOML's basic strings are JSON's.
        lines += ["[[survivor]]", f"mutant = {_quoted(mutant.name)}", f"key = {_quoted(list(mutant.key))}"]
        lines += [f"reason = {_quoted(reasons.get(mutant.key, ''))}", ""]
    for outcome in (KILLED, UNVIABLE):
        lines += ["[names]"] if outcome == KILLED else []
        lines += [f"{outcome} = [", *(f"  {_quoted(mutant.name)}," for mutant in of[outcome]), "]"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [mutant for mutant in of[SURVIVED] if not reasons.get(mutant.key)]


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _judge_all(batch: list[Mutant], every: list[Mutant], outcomes: Outcomes) -> bool:
    """Judges some mutants by all stages, as far as they are not known. False if it ends early."""
    for package in sorted({mutant.package for mutant in batch}):
        stages = TESTED_BY[package]
        for index, stage in enumerate(stages):
            directory = outcomes.directory / f"{package}-{index + 1}"
            of_survivors = SURVIVED if index + 1 == len(stages) else f"{UNDECIDED} {index + 1}"
            written = directory / "mutants.out" / "outcomes.json"
            outcomes.learn(written, of_survivors)
            asks = f"{UNDECIDED} {index}" if index else None
            if left := [m for m in batch if m.package == package and outcomes.known.get(m.name) == asks]:
                went_well = judge(directory, outcomes.copy, stage, left, every)
                outcomes.learn(written, of_survivors)
                if not went_well:
                    return False
    return True


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", default="tcp,fabric,engine", help="crates, with commas between")
    parser.add_argument("--mutants", type=int, default=150, help="size of the sample (150)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--survivors", action="store_true", help="only those that survived in the result")
    parser.add_argument("--first", type=int, help="only so many of the sample, in the order they were drawn")
    parser.add_argument("--out", type=Path, default=RESULT, help=f"the result ({RESULT.relative_to(ROOT)})")
    asked = parser.parse_args()
    packages = asked.packages.split(",")
    if unknown := [package for package in packages if package not in TESTED_BY]:
        parser.error(f"--packages: {unknown[0]} is not one of {', '.join(TESTED_BY)}")
    if subprocess.run(["cargo", "mutants", "--version"], capture_output=True, check=False).returncode != 0:
        parser.error("cargo-mutants is not installed: run `cargo install cargo-mutants@27.1.0 --locked`")
    every = mutants(packages)
    if not 1 <= asked.mutants <= len(every):
        parser.error(f"--mutants: {asked.mutants} is not from 1 to {len(every)}")
    drawn = random.Random(asked.seed).sample(every, asked.mutants)[: asked.first]
    sample = sorted(drawn, key=lambda mutant: mutant.name)
    outcomes = Outcomes()
    if asked.survivors:
        outcomes.known = decided_before(asked.out, sample) | outcomes.known
    for start in range(0, len(drawn), BATCH):
        if not _judge_all(drawn[start : start + BATCH], every, outcomes):
            break
    if unjudged := [m.name for m in sample if outcomes.known.get(m.name, UNDECIDED).startswith(UNDECIDED)]:
        print(f"{len(unjudged)} mutants have not been judged, such as {unjudged[0]}: call again", file=sys.stderr)
        return 1
    unexplained = write(asked.out, asked, sample, outcomes.known)
    counts = {o: sum(outcomes.known[m.name] == o for m in sample) for o in (KILLED, SURVIVED, UNVIABLE)}
    print(f"{asked.out}: {', '.join(f'{count} {outcome}' for outcome, count in counts.items())}")
    for mutant in unexplained:
        print(f"survived, without a reason: {mutant.name}\n    - {mutant.was}\n    + {mutant.becomes}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
