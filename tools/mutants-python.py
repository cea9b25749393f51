#!/usr/bin/env python3
"""Changes the Python package at random places, one at a time, and says which changes no test notices.

    .venv/bin/python tools/mutants-python.py

draws 80 mutants of `scenario`, `metrics` and `runs`, runs the tests on each in a copy of the working tree, and writes
docs/mutants/python.toml: how many were killed, and every survivor. A survivor keeps the reason that the file gives for
it; a new one has none, and tests/test_mutants.py fails until it has. The mutation operators are those of mutmut, which
mutates functions only; here the bodies of modules and classes are mutated as well. `--only TEXT` runs those mutants of
the sample whose file or line has the text, and writes nothing.

The same seed draws the same mutants of the same sources. Tests of the command line that press Ctrl-C are left out, as
is the real kernel: the copy has none. A mutant whose tests take ten times as long as without it is killed.
"""

from __future__ import annotations

import argparse
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import libcst as cst
import tomli_w
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "docs" / "mutants" / "python.toml"
PACKAGES = ("scenario", "metrics", "runs")
# The tests that are about these packages come first: a mutant dies with the first test that fails.
TESTS = [
    *(f"tests/{package}" for package in PACKAGES),
    "tests/figures",
    "tests/agreement",
    "tests/studies",
    "tests/cli",
]


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: str
    line: int
    source: str
    """The file with the change."""
    change: str
    """The lines that differ, "-" before and "+" after."""


class Mutations(cst.CSTVisitor):
    """All mutations of a module as pairs of nodes, without what no test can see: annotations, imports, decorators."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Annotation | cst.Decorator | cst.Import | cst.ImportFrom) or _is_all(node):
            return False
        for kind, mutate in mutation_operators:
            if isinstance(node, kind):
                line = self.get_metadata(PositionProvider, node).start.line
                self.found += [(line, node, mutated) for mutated in mutate(node)]
        return True


def _is_all(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Assign) and any(
        isinstance(target.target, cst.Name) and target.target.value == "__all__" for target in node.targets
    )


def mutants(packages: list[str]) -> list[Mutant]:
    """Every mutant of the packages, in the order of the files and lines."""
    found: list[Mutant] = []
    for package in packages:
        for path in sorted((ROOT / "python" / "daybreak" / package).rglob("*.py")):
            wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")))
            mutations = Mutations()
            wrapper.visit(mutations)
            before = wrapper.module.code
            for line, old, new in mutations.found:
                after = wrapper.module.deep_replace(old, new).code
                if after != before:
                    found.append(Mutant(str(path.relative_to(ROOT)), line, after, _change(before, after)))
    return found


def _change(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return "\n".join(line[0] + line[1:].strip() for line in lines if not line.startswith(("---", "+++", "@@")))


class Tree:
    """A copy of the working tree in which one mutant at a time is tested."""

    def __init__(self, directory: Path):
        self.directory = directory
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        native = [str(path.relative_to(ROOT)) for path in (ROOT / "python" / "daybreak").glob("_native*.so")]
        for name in [*files, *native]:
            if (ROOT / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, directory / name)

    def test(self, timeout_s: float | None = None) -> str:
        """What the tests say: "passed", "failed" or "timeout"."""
        # Hypothesis draws the same examples each time when it is in CI. Compiled files would hide a mutant that is as
        # long as its original.
        settings = {"PYTHONPATH": str(self.directory / "python"), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-k", "not ctrl_c", *TESTS]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(
            command, cwd=self.directory, env=os.environ | settings, start_new_session=True, **quiet
        )
        try:
            return "passed" if process.wait(timeout_s) == 0 else "failed"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return "timeout"

    def test_with(self, mutant: Mutant, timeout_s: float) -> str:
        """The same with the mutant in place."""
        path = self.directory / mutant.path
        original = path.read_text(encoding="utf-8")
        path.write_text(mutant.source, encoding="utf-8")
        try:
            return self.test(timeout_s)
        finally:
            path.write_text(original, encoding="utf-8")


def run(sample: list[Mutant], workers: int) -> Iterator[tuple[Mutant, str]]:
    """Each mutant with what the tests say of it, as they end."""
    with tempfile.TemporaryDirectory(prefix="daybreak-mutants-") as place:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for number in range(workers):
            trees.put(Tree(Path(place) / str(number)))
        first = trees.get()
        started = time.monotonic()
        if first.test() != "passed":
            sys.exit("mutants-python: the tests fail without any mutant")
        timeout_s = 10 * (time.monotonic() - started) + 60
        trees.put(first)

        def one(mutant: Mutant) -> tuple[Mutant, str]:
            tree = trees.get()
            try:
                return mutant, tree.test_with(mutant, timeout_s)
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(one, sample)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=80, help="size of the sample (80)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (1)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="mutants tested side by side")
    parser.add_argument("--only", default="", help="only mutants of the sample with this text; writes nothing")
    parser.add_argument("--list", action="store_true", help="show the sample and test nothing")
    asked = parser.parse_args()
    everything = mutants(list(PACKAGES))
    sample = random.Random(asked.seed).sample(everything, min(asked.count, len(everything)))
    sample = [mutant for mutant in sample if asked.only in f"{mutant.path}\n{mutant.change}"]
    if asked.list:
        for mutant in sample:
            print(f"{mutant.path}:{mutant.line}\n{mutant.change}")
        return
    survivors: list[Mutant] = []
    for number, (mutant, outcome) in enumerate(run(sample, asked.workers), start=1):
        if outcome == "passed":
            survivors.append(mutant)
        said = {"passed": f"SURVIVED\n{mutant.change}", "failed": "killed", "timeout": "killed by the time limit"}
        print(f"{number} of {len(sample)} {mutant.path}:{mutant.line} {said[outcome]}", flush=True)
    print(f"{len(sample) - len(survivors)} of {len(sample)} killed")
    if not asked.only:
        command = f"python tools/mutants-python.py --count {asked.count} --seed {asked.seed}"
        write(command, len(everything), len(sample), survivors)


def write(command: str, candidates: int, tested: int, survivors: list[Mutant]) -> None:
    """Writes the result; survivors keep the reasons that the last one gave."""
    reasons: dict[tuple[str, str], str] = {}
    if RESULT.exists():
        known = tomllib.loads(RESULT.read_text(encoding="utf-8")).get("survivor", [])
        reasons = {(entry["file"], entry["change"]): entry["reason"] for entry in known}
    document = {
        "command": command,
        "packages": list(PACKAGES),
        "candidates": candidates,
        "tested": tested,
        "killed": tested - len(survivors),
        "survivor": [
            {
                "file": mutant.path, "line": mutant.line, "change": mutant.change,
                "reason": reasons.get((mutant.path, mutant.change), ""),
            }
            for mutant in sorted(survivors, key=lambda mutant: (mutant.path, mutant.line, mutant.change))
        ],
    }  # fmt: skip
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(tomli_w.dumps(document, multiline_strings=True), encoding="utf-8")


if __name__ == "__main__":
    main()
