#!/usr/bin/env python3
"""Changes the Python package at random places, one at a time, and says which changes no test notices.

    .venv/bin/python tools/mutants-python.py                 160 mutants; an hour or two
    .venv/bin/python tools/mutants-python.py --survivors     after tests were added: only what has survived
    .venv/bin/python tools/mutants-python.py --count 30 --seed 2 --out /tmp/unseen.toml
    .venv/bin/python tools/mutants-python.py --packages learn --count 60 --out docs/mutants/python-learn.toml

The packages are taken in turn, and so are mutmut's operators and those of tools/mutations.py, each of which is drawn as
often as the others. The same seed draws the same mutants of the same sources. The result says how many were killed, and
has every survivor. A survivor keeps the reason that the result gives for it; a new one has none, and
tests/test_mutants_python.py fails until it has. `--only TEXT` judges those of the sample whose file or change has the
text, and writes nothing. With `--packages` all mutants are of these, and tests of other packages are not measured.

All tests of these packages run once with coverage, in a copy of the working tree, to learn which run which lines; then
a mutant is judged by the tests that run its lines, those of its own package first, and by all in the files of its
package that have such a test. What a mutant changes while it is imported is judged by all that run something of the
file, and by its package's. A mutant whose tests take ten times as long as without it is killed. Tests that press Ctrl-C
are left out, and those in a browser, which needs more memory than a mutant gets. The real kernel is, too: the copy has
none.

What is known is kept in target/mutants-python: an interrupted run goes on where it was, a test file that has changed is
measured anew, and a mutant of a file that has changed since is judged by all tests that ran something of it.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import libcst as cst
import tomli_w
from coverage import CoverageData
from coverage.exceptions import DataError
from mutations import OURS, Mutation, mutations

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "docs" / "mutants" / "python.toml"
WORK = ROOT / "target" / "mutants-python"
PACKAGE = Path("python") / "daybreak"
PACKAGES = ("scenario", "metrics", "runs", "learn", "sweeps", "studies", "explain", "report", "agreement")
"""Without the command line and plots: tests of those take minutes, and are about what is above these packages."""
MEMORY = 12 << 30
"""Address space of each process: a mutant that allocates without end fails instead of the machine."""
KILLED, SURVIVED = "killed", "survived"
COVERAGE = """
[run]
data_file = {data}
source = {package}
concurrency = thread, multiprocessing
patch = subprocess, _exit
context = ${{PYTEST_CURRENT_TEST-}}
disable_warnings = module-not-imported, no-data-collected, context-changed
"""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: str
    mutation: Mutation
    source: str
    """The file with the change."""
    change: str
    """The lines that differ, "-" before and "+" after."""

    @property
    def package(self) -> str:
        """The package that it is in."""
        return Path(self.path).relative_to(PACKAGE).parts[0]

    @cached_property
    def key(self) -> str:
        """Names it among all mutants of all versions of its file."""
        return hashlib.sha256(f"{self.path}\n{self.source}".encode()).hexdigest()[:16]


def drawn(size: int, seed: int, packages: Sequence[str] = PACKAGES) -> tuple[list[Mutant], int]:
    """A sample, and how many it is drawn from. What is drawn of a file changes only if the file does."""
    left: dict[tuple[str, bool], dict[str, list[tuple[bytes, str, cst.Module, Mutation]]]] = {}
    candidates = 0
    for package in packages:
        for path in sorted((ROOT / PACKAGE / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            module, found = mutations(path.read_text(encoding="utf-8"))
            candidates += len(found)
            seen: Counter[str] = Counter()
            for one in found:
                seen[one.kind] += 1
                lot = hashlib.sha256(f"{seed} {name} {one.kind} {seen[one.kind]}".encode()).digest()
                is_ours = one.kind in OURS
                kinds = left.setdefault((package, is_ours), defaultdict(list))
                kinds[one.kind if is_ours else ""].append((lot, name, module, one))
    for kinds in left.values():
        for some in kinds.values():
            some.sort(key=lambda one: one[0], reverse=True)
    generator, sample = random.Random(seed), dict[str, Mutant]()
    for number in count():
        if len(sample) >= size:
            break
        kinds = left[packages[number % len(packages)], number // len(packages) % 2 == 0]
        some = kinds[generator.choice(sorted(kinds))]
        if some and (mutant := _mutant(*some.pop()[1:])) is not None:
            sample[mutant.key] = mutant
    return list(sample.values()), candidates


def _mutant(path: str, module: cst.Module, mutation: Mutation) -> Mutant | None:
    """The mutant, unless it is no other program."""
    after = module.deep_replace(mutation.old, mutation.new)
    try:
        compile(after.code, path, "exec")
    except SyntaxError:
        return None
    if after.code == module.code:
        return None
    lines = difflib.unified_diff(module.code.splitlines(), after.code.splitlines(), lineterm="", n=0)
    change = [line[0] + line[1:].strip() for line in lines if not line.startswith(("---", "+++", "@@"))]
    return Mutant(path, mutation, after.code, "\n".join(change))


class Tree:
    """A copy of the working tree in which one mutant at a time is tested."""

    def __init__(self, directory: Path):
        self.directory = directory
        shutil.rmtree(directory, ignore_errors=True)
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        native = [str(path.relative_to(ROOT)) for path in (ROOT / PACKAGE).glob("_native*.so")]
        for name in [*files, *native]:
            if (ROOT / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, directory / name)

    def pytest(
        self, *arguments: str, under: tuple[str, ...] = (), timeout_s: float | None = None, **variables: str
    ) -> int | None:
        """The exit code of pytest; None if it took too long."""
        # Hypothesis draws the same examples each time when it is in CI. Compiled files would hide a mutant that is as
        # long as its original.
        variables |= {"PYTHONPATH": f"{self.directory / 'python'}", "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
        command = [
            sys.executable,
            *under,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "which_tests",
            "-k",
            "not ctrl_c",
            "-m",
            "not browser",
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(
            [*command, *arguments], cwd=self.directory, env=os.environ | variables,
            start_new_session=True, **quiet,
        )  # fmt: skip
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()

    def test(self, mutant: Mutant, tests: list[str], timeout_s: float) -> str:
        """What the tests say of a mutant."""
        path = self.directory / mutant.path
        original = path.read_text(encoding="utf-8")
        path.write_text(mutant.source, encoding="utf-8")
        asked = self.directory / "target" / "tests.json"
        asked.parent.mkdir(exist_ok=True)
        asked.write_text(json.dumps(tests), encoding="utf-8")
        files = dict.fromkeys(map(_file, tests))
        try:
            code = self.pytest("-x", *files, timeout_s=timeout_s, MUTANTS_TESTS=str(asked))
        finally:
            path.write_text(original, encoding="utf-8")
        return SURVIVED if code == 0 else KILLED


class Record:
    """Which tests run which lines of the package, and how long they take."""

    def __init__(self, tree: Tree, packages: Sequence[str] = PACKAGES) -> None:
        self._tree, self._facts, self._lines = tree, WORK / "record.json", CoverageData(str(WORK / "coverage"))
        known = json.loads(self._facts.read_text(encoding="utf-8")) if self._facts.exists() else {}
        place = str(tree.directory)
        if known.get("directory") != place:
            # The lines are those of files in that directory: in a checkout that was copied or moved they are of others.
            self._lines.erase()
            self._facts.unlink(missing_ok=True)
            known = {"directory": place}
        self._lines.read()
        self.files: dict[str, Any] = known.setdefault("files", {})
        """By test file its digest, and those of the files of the package that it has run."""
        self.seconds: dict[str, float] = known.setdefault("seconds", {})
        folders = [tree.directory / "tests" / package for package in sorted(packages)]
        for file in sorted(path for folder in folders for path in folder.glob("test_*.py")):
            name = str(file.relative_to(tree.directory))
            if self.files.get(name, {}).get("digest") != _digest(file):
                self._measure(name)
                self._facts.write_text(json.dumps(known), encoding="utf-8")

    def _measure(self, file: str) -> None:
        print(f"measuring {file}", flush=True)
        for test in [test for test in self.seconds if test.startswith(f"{file}::")]:
            del self.seconds[test]
        ran: set[str] = set()
        with tempfile.TemporaryDirectory(prefix="measured-", dir=WORK) as place:
            config, seconds = Path(place, "config"), Path(place, "seconds.json")
            text = COVERAGE.format(data=Path(place, "coverage"), package=self._tree.directory / PACKAGE)
            config.write_text(text, encoding="utf-8")
            under = ("-m", "coverage", "run", f"--rcfile={config}")
            if self._tree.pytest(file, under=under, MUTANTS_SECONDS=str(seconds)) != 0:
                sys.exit(f"mutants-python: {file} fails without any mutant")
            self.seconds |= json.loads(seconds.read_text(encoding="utf-8"))
            for part in Path(place).glob("coverage*"):
                found = CoverageData(str(part))
                try:
                    found.read()
                except DataError:
                    # Of a process that its test has killed while it wrote.
                    continue
                ran |= found.measured_files()
                self._lines.update(found)
        names = sorted(str(Path(path).relative_to(self._tree.directory)) for path in ran)
        digests = {name: _digest(self._tree.directory / name) for name in names}
        self.files[file] = {"digest": _digest(self._tree.directory / file), "ran": digests}

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that judge a mutant: those of its package first, and the quick files before the slow ones."""
        path = self._tree.directory / mutant.path
        found = self._lines.contexts_by_lineno(str(path))
        first, last = mutant.mutation.judged_by
        now = _digest(path)

        def may_run(test: str, line: int) -> bool:
            # What was measured of another version of the file says nothing of its lines.
            return first <= line <= last or self.files[_file(test)]["ran"].get(mutant.path) != now

        ran = {(test, line) for line, labels in found.items() for test in map(_test, labels) if test in self.seconds}
        direct = {test for test, line in ran if may_run(test, line)}
        files = set(map(_file, direct))
        own = f"tests/{mutant.package}/"
        around = {
            test for test in self.seconds
            if test.startswith(own) and (mutant.mutation.is_imported or _file(test) in files or not ran)
        }  # fmt: skip
        cost: defaultdict[str, float] = defaultdict(float)
        for test in direct | around:
            cost[_file(test)] += self.seconds[test]

        def order(test: str) -> tuple[bool, float, str, bool, float, str]:
            file = _file(test)
            return not file.startswith(own), cost[file], file, test not in direct, self.seconds[test], test

        return sorted(direct | around, key=order)


def _file(test: str) -> str:
    return test.partition("::")[0]


def _test(context: str) -> str:
    """The test of a label; processes that a test starts have its phase behind it."""
    return context.rpartition(" (")[0] if context.endswith(")") and " (" in context else context.strip("|")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def judge(sample: list[Mutant], workers: int, packages: Sequence[str]) -> Iterator[tuple[Mutant, str]]:
    """Each mutant with what the tests say of it, as they end."""
    trees: SimpleQueue[Tree] = SimpleQueue()
    made = [Tree(WORK / f"tree-{number}") for number in range(workers)]
    record = Record(made[0], packages)
    for tree in made:
        trees.put(tree)

    def one(mutant: Mutant, tests: list[str]) -> str:
        if not tests:
            return SURVIVED
        tree = trees.get()
        try:
            return tree.test(mutant, tests, 10 * sum(record.seconds[test] for test in tests) + 120)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(one, mutant, record.tests(mutant)): mutant for mutant in sample}
        for done in as_completed(running):
            yield running[done], done.result()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=160, help="size of the sample (160)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (1)")
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=PACKAGES, help="draw from these (all)")
    parser.add_argument("--workers", type=int, default=1, help="mutants tested side by side (1)")
    parser.add_argument("--survivors", action="store_true", help="judge those again that are known to survive")
    parser.add_argument("--only", default="", help="only mutants of the sample with this text; writes nothing")
    parser.add_argument("--list", action="store_true", help="show the sample and test nothing")
    parser.add_argument("--out", type=Path, default=RESULT, help=f"the result ({RESULT.relative_to(ROOT)})")
    asked = parser.parse_args()
    sample, candidates = drawn(asked.count, asked.seed, asked.packages)
    sample = [mutant for mutant in sample if asked.only in f"{mutant.path}\n{mutant.change}"]
    if asked.list:
        for mutant in sample:
            print(f"{mutant.path}:{mutant.mutation.line} {mutant.mutation.kind}\n{mutant.change}")
        return
    WORK.mkdir(parents=True, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    kept = WORK / "outcomes.json"
    known: dict[str, str] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    open_ = (None, SURVIVED) if asked.survivors else (None,)
    left = [mutant for mutant in sample if known.get(mutant.key) in open_]
    for number, (mutant, outcome) in enumerate(judge(left, asked.workers, asked.packages), start=1):
        known[mutant.key] = outcome
        kept.write_text(json.dumps(known, indent=1), encoding="utf-8")
        said = f"SURVIVED\n{mutant.change}" if outcome == SURVIVED else outcome
        print(f"{number} of {len(left)} {mutant.path}:{mutant.mutation.line} {mutant.mutation.kind} {said}", flush=True)
    survivors = [mutant for mutant in sample if known[mutant.key] == SURVIVED]
    print(f"{len(sample) - len(survivors)} of {len(sample)} killed")
    if not asked.only:
        command = f"python tools/mutants-python.py --count {asked.count} --seed {asked.seed}"
        if asked.packages != PACKAGES:
            command += f" --packages {' '.join(asked.packages)}"
        write(asked.out, command, asked.packages, candidates=candidates, tested=len(sample), survivors=survivors)


def write(
    path: Path, command: str, packages: Sequence[str], *, candidates: int, tested: int, survivors: list[Mutant]
) -> None:
    """Writes the result; survivors keep the reasons that the last one gave."""
    reasons: dict[tuple[str, str], str] = {}
    if path.exists():
        known = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
        reasons = {(entry["file"], entry["change"]): entry["reason"] for entry in known}
    document = {
        "command": command,
        "packages": list(packages),
        "candidates": candidates,
        "tested": tested,
        "killed": tested - len(survivors),
        "survivor": [
            {
                "file": mutant.path, "line": mutant.mutation.line, "change": mutant.change,
                "reason": reasons.get((mutant.path, mutant.change), ""),
            }
            for mutant in sorted(survivors, key=lambda mutant: (mutant.path, mutant.mutation.line, mutant.change))
        ],
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tomli_w.dumps(document, multiline_strings=True), encoding="utf-8")


if __name__ == "__main__":
    main()
