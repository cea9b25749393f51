#!/usr/bin/env python3
"""Compares a fingerprint of every scenario with the committed one, so that no result changes unnoticed.

    python tools/fingerprints.py            compares, and prints what differs
    python tools/fingerprints.py --write    writes tests/fingerprints.txt anew; the diff is reviewed

A line is one run: totals that a reviewer can judge, and a digest of all tables. Events are beside the digest, since a
faster simulator may need fewer of them for the same result.

The runs are those of SOURCES, with seed 1 on the simulator. Losses and timeline steps are always recorded. Scenario
files and the cases of the agreement suite are run as they are; the settings of a study with transfers of SMALL; a
benchmark for a BENCHMARK_PART of its time.

The plans of some of them, cut short, are kept for crates/engine/tests/fingerprints.rs, which needs no Python.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import polars as pl
from msgspec.structs import replace

from daybreak import Scenario, _native, load
from daybreak.agreement import suite
from daybreak.agreement.scenarios import scenario as scenario_of_case
from daybreak.engines import run_many, simulated
from daybreak.plan import types as plan
from daybreak.plan.applications import is_limited
from daybreak.runs import Run
from daybreak.runs.naming import named
from daybreak.scenario.lowering import Plan, lower
from daybreak.scenario.programs import Programs
from daybreak.studies.etalon import settings as etalon
from daybreak.studies.etalon.testbed import scenario as scenario_of_etalon
from daybreak.studies.lightpath import management
from daybreak.studies.lightpath import settings as lightpath
from daybreak.studies.lightpath.changes import CHANGES
from daybreak.studies.lightpath.testbed import scenario as scenario_of_lightpath
from daybreak.studies.migration import settings as migration
from daybreak.studies.migration.testbed import scenario as scenario_of_migration
from daybreak.studies.space_switch import settings as space_switch
from daybreak.studies.space_switch.testbed import scenario as scenario_of_space_switch

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "fingerprints.txt"
SMALL = dataclasses.replace(migration.SCALES["quick"], single_mib=512, pair_mib=256, group_mib=256, kernel_mib=256)
"""Sizes of the migration study's transfers: each still meets several periods of the slowest timeline."""
BENCHMARK_PART = 20
SEED = 1
PLANS = ROOT / "crates" / "engine" / "tests" / "fingerprints"
PLANNED = (
    "scenarios/03-migration",
    "scenarios/04-downtime",
    "scenarios/05-circuit",
    "scenarios/06-random-arrivals",
    "scenarios/07-leaf-spine",
    "scenarios/08-own-network",
    "agreement/loss-westwood-0.1%",
    "agreement/loss-bbr-1%",
    "agreement/mixed-cubic+bbr-0.5bdp",
    "agreement/downtime-cubic-hold",
    "agreement/circuit-cubic-drain",
    "agreement/downtime-cubic-make_before_break",
    "agreement/reordering-reno",
    "agreement/receiver-bbr",
    "agreement/sender-cubic",
    "agreement/incast-20cubic-10p",
    "migration/groups-cubic-cubic-10ms-256MiB",
)
"""The runs whose plans the engine's own test has: one of each kind of network, rule, policy and limit."""
SHORTER = 2
"""By this factor each transfer has fewer bytes there, and endless ones less time."""
RECORDED = {"records.drops": True, "records.circuits": True}
LATER = ("packets", "control")
"""Tables that are younger than the fingerprints."""
MOST_LISTED = 4
"""Of more flows, or of more places of loss, only a summary is shown."""
HEADER = "# Written by `python tools/fingerprints.py --write`; CONTRIBUTING.md says how a change is reviewed.\n"

_PLANS = msgspec.json.Decoder(plan.Plan)
"""Made here, since two threads that make the first one crash msgspec."""

Tables = Mapping[str, pl.DataFrame]


def ready_scenarios() -> Iterator[tuple[str, Scenario]]:
    """The files of scenarios/ that the simulator runs."""
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        scenario = load(path)
        if not any(isinstance(flow.application, Programs) for flow in scenario.flows):
            yield path.stem, scenario


def agreement_cases() -> Iterator[tuple[str, Scenario]]:
    """The cases of the agreement suite."""
    for case in suite.load():
        yield case.name, scenario_of_case(case)


def migration_settings() -> Iterator[tuple[str, Scenario]]:
    """The settings that the figures of the migration study need."""
    of_figures = [setting for figure in migration.FIGURES for setting in migration.of_figure(figure, SMALL)]
    for setting in dict.fromkeys(of_figures):
        yield setting.name, scenario_of_migration(setting)


def etalon_settings() -> Iterator[tuple[str, Scenario]]:
    """Some settings of the Etalon study: every variant, both kinds of VOQ, marks, both clocks."""
    scale = dataclasses.replace(etalon.SCALES["quick"], weeks=20)
    variants = [setting for variant in etalon.VARIANTS for setting in etalon.of_variant(scale, variant)]
    marked = [etalon.static(scale, "retcp", 16), etalon.dynamic(scale, "retcp", 150)]
    for setting in [*variants, *marked, *map(etalon.undilated, marked)]:
        yield setting.name, scenario_of_etalon(setting)


def lightpath_settings() -> Iterator[tuple[str, Scenario]]:
    """Some settings of the lightpath study at 100 Mb/s: both stacks, all limits, every change, every managed case."""
    cells = [
        lightpath.Setting(limit, 100, 100, stack=stack, move="5", after_s=5)
        for stack in lightpath.STACKS
        for limit in lightpath.SCENARIOS
    ]
    of_d = [one for one in cells if one.scenario == "D"]
    changed = [one.changed(change) for one in of_d for change in CHANGES if change != "large-buffer"]
    for setting in [*cells, *changed]:
        yield setting.name, scenario_of_lightpath(setting)
    for managed in management.settings(lightpath.SCALES["quick"]):
        yield managed.name, management.scenario(managed)


def space_switch_settings() -> Iterator[tuple[str, Scenario]]:
    """Some settings of the space-switch study with a hundredth of the bytes: every scheme, every broker, every gap."""
    scale = dataclasses.replace(space_switch.SCALES["quick"], divisor=100)
    cells = [space_switch.one(scale, 24, scheme) for scheme in (*space_switch.SCHEMES, space_switch.ECMP)]
    gaps = [dataclasses.replace(cells[1], night_us=100_000, downtime=one) for one in ("hold", "drop")]
    for setting in [*cells, *gaps, *space_switch.brokers(scale).values()]:
        yield setting.name, scenario_of_space_switch(setting)


SOURCES: dict[str, Callable[[], Iterable[tuple[str, Scenario]]]] = {
    "scenarios": ready_scenarios,
    "agreement": agreement_cases,
    "migration": migration_settings,
    "etalon": etalon_settings,
    "lightpath": lightpath_settings,
    "space-switch": space_switch_settings,
}
"""Where runs come from; a study adds its settings by a line here."""


def runs() -> dict[str, Scenario]:
    """Every run of SOURCES by its name."""
    return {
        f"{source}/{name}": scenario.with_(RECORDED)
        for source, scenarios in SOURCES.items()
        for name, scenario in scenarios()
    }


def fingerprints(scenarios: Mapping[str, Scenario]) -> dict[str, str]:
    """The line of every run and of every benchmark, by its name."""
    lines = run_many([(scenario, SEED) for scenario in scenarios.values()], reduce=_of_run)
    with ThreadPoolExecutor() as pool:
        names = [name for name, _ in _native.benchmarks() if "-" not in name]
        shortened = dict(zip(names, pool.map(_of_benchmark, names), strict=True))
    return dict(zip(scenarios, lines, strict=True)) | {f"benchmarks/{name}": line for name, line in shortened.items()}


def plans(scenarios: Mapping[str, Scenario]) -> dict[Path, str]:
    """The files of the engine's own test."""
    return {PLANS / f"{name.partition('/')[2]}.json": _short_plan(scenarios[name]) for name in PLANNED}


def _short_plan(scenario: Scenario) -> str:
    content = lower(scenario, SEED).content
    flows = [replace(flow, application=_shorter(flow.application)) for flow in content.flows]
    if not all(is_limited(flow.application) for flow in flows):
        content = replace(content, end_ps=content.end_ps // SHORTER)
    return Plan(replace(content, flows=flows)).json.decode() + "\n"


def _shorter(application: plan.Application) -> plan.Application:
    if isinstance(application, plan.Bulk) and application.bytes is not None:
        return replace(application, bytes=application.bytes // SHORTER)
    return application


def _of_run(run: Run) -> str:
    return line(dict(run.tables()), run.manifest["totals"])


def _of_benchmark(name: str) -> str:
    content = _PLANS.decode(_native.benchmark_plan(name))
    records = replace(content.records, drops=True)
    content = replace(content, end_ps=content.end_ps // BENCHMARK_PART, records=records)
    recorded = simulated.execute(Plan(content), None, Path(tempfile.gettempdir()))
    tables = {table: named(table, columns, content) for table, columns in recorded.tables.items()}
    return line(tables, recorded.totals)


def line(tables: Tables, totals: Mapping[str, int]) -> str:
    """The fingerprint of one run: `field=value` with spaces between."""
    flows = tables["flows"]
    done = flows.filter(pl.col("end_ns").is_not_null())
    fields = {
        "complete": f"{len(done)}/{len(flows)}",
        "fct_s": _times(done["fct_ns"].to_list()),
        "delivered": flows["delivered_bytes"].sum(),
        "segments": flows["segments"].sum(),
        "retransmits": flows["retransmits"].sum(),
        "rtos": flows["rtos"].sum(),
        "drops": _drops(tables["drops"]),
        "packet_hops": totals["packet_hops"],
        "ended_s": _seconds(totals["ended_ns"]),
        "tables": digest(tables),
        "events": totals["events"],
    }
    return " ".join(f"{field}={value}" for field, value in fields.items())


def _times(times_ns: list[int]) -> str:
    if len(times_ns) <= MOST_LISTED:
        return ",".join(map(_seconds, times_ns)) or "-"
    ordered = sorted(times_ns)
    return "..".join(_seconds(time) for time in (ordered[0], ordered[len(ordered) // 2], ordered[-1]))


def _seconds(time_ns: int) -> str:
    return f"{time_ns // 10**9}.{time_ns % 10**9:09}"


def _drops(drops: pl.DataFrame) -> str:
    counts = drops.group_by("place_name", "reason").len().sort("place_name", "reason")
    if len(counts) <= MOST_LISTED:
        shown = [f"{place.replace(' ', '_')}:{reason}:{count}" for place, reason, count in counts.iter_rows()]
    else:
        by_reason = counts.group_by("reason").agg(pl.len().alias("places"), pl.col("len").sum()).sort("reason")
        shown = [f"{places}_places:{reason}:{count}" for reason, places, count in by_reason.iter_rows()]
    return ",".join(shown) or "-"


def digest(tables: Tables) -> str:
    """The first 16 digits of SHA-256 over the names and values of all columns of all tables, written out as text: it
    depends neither on their types' widths nor on how they lie in memory. Of the tables of LATER those with rows count,
    so that none changed when they came. Payload that arrives is younger too, and left to the engine's own test."""
    found = hashlib.sha256()
    for table, all_of_it in tables.items():
        # Made of the plan alone.
        whole = all_of_it.drop("ideal_fct_ns", strict=False)
        content = whole.filter(pl.col("scope") != "arrived") if table == "bins" else whole
        if table in LATER and not content.height:
            continue
        for column in content.iter_columns():
            values = column.cast(pl.String).fill_null("null").str.join("\n").item()
            found.update(f"{table}.{column.name}\n{len(column)}\n{values}\n".encode())
    return found.hexdigest()[:16]


def text(found: Mapping[str, str]) -> str:
    """The file of fingerprints."""
    return HEADER + "".join(f"{name} {fields}\n" for name, fields in found.items())


def parse(content: str) -> dict[str, str]:
    """The lines of the file, by their names."""
    lines = [row for row in content.splitlines() if row and not row.startswith("#")]
    return {name: fields for name, _, fields in (row.partition(" ") for row in lines)}


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What a reviewer reads: for each run that differs, the fields that do."""
    lines = [f"{name}: missing from {FILE.name}" for name in found if name not in expected]
    lines += [f"{name}: no longer run" for name in expected if name not in found]
    for name in expected.keys() & found.keys():
        before, after = (dict(field.split("=", 1) for field in side[name].split()) for side in (expected, found))
        changed = [field for field in (before | after) if before.get(field) != after.get(field)]
        if changed:
            shown = [f"    {field}: {before.get(field)} -> {after.get(field)}" for field in changed]
            lines.append("\n".join([f"{name}:", *shown]))
    return sorted(lines)


def stale_plans(wanted: Mapping[Path, str]) -> list[str]:
    """The files of the engine's own test that are not as they should be."""
    there = {path: path.read_text(encoding="utf-8") for path in PLANS.glob("*.json")}
    return sorted(path.name for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path))


def write(found: Mapping[str, str], wanted: Mapping[Path, str]) -> None:
    """Writes all files anew."""
    FILE.write_text(text(found), encoding="utf-8")
    PLANS.mkdir(exist_ok=True)
    for path in PLANS.glob("*.json"):
        path.unlink()
    for path, content in wanted.items():
        path.write_text(content, encoding="utf-8")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the files anew")
    asked = parser.parse_args()
    scenarios = runs()
    found, wanted = fingerprints(scenarios), plans(scenarios)
    if asked.write:
        write(found, wanted)
        return 0
    lines = differences(parse(FILE.read_text(encoding="utf-8")), found)
    lines += [f"{PLANS.name}/{name}: another plan" for name in stale_plans(wanted)]
    print("\n".join(lines) if lines else f"{len(found)} runs are as they were")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
