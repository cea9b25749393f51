"""The compact table of Table I's flows."""

import importlib.util
import json
from pathlib import Path

import polars as pl

from daybreak.sweeps import read

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("table1", ROOT / "tools" / "table1.py")
table1 = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(table1)


def flow(group, fct, *, point=0, seed=1, retransmits=0, rtos=0):
    axes = {"migrated_variant": "bbr", "main_variant": "reno", "cycle": "9+1", "load": "2 x 1 MiB"}
    return {"point": point, "seed": seed} | axes | {
        "group": group, "fct_ns": fct, "retransmits": retransmits, "rtos": rtos,
    }  # fmt: skip


def test_a_run_is_a_row_with_means_and_sums_of_its_groups():
    flows = pl.DataFrame([
        flow("main", 5_000_000_000, seed=2), flow("migrated", None, seed=2, retransmits=9),
        flow("migrated", 7_000_000_000, seed=2),
        flow("migrated", 1_000_000_000, retransmits=3, rtos=1), flow("migrated", 2_000_000_000, retransmits=4),
        flow("main", 4_000_000_000, rtos=2), flow("main", 4_000_000_000),
    ])  # fmt: skip
    first, second = table1.compact(flows).rows(named=True)
    assert (first["migrated_fct_s"], first["main_fct_s"]) == (1.5, 4.0)
    assert (first["migrated_retransmits"], first["migrated_rtos"], first["main_rtos"]) == (7, 1, 2)
    # A flow that did not end has no FCT, so the group has no mean.
    assert (second["seed"], second["migrated_fct_s"], second["main_fct_s"]) == (2, None, 5.0)


def test_the_tool_sweeps_a_grid_and_writes_its_table(tmp_path, monkeypatch, capsys):
    whole = read(ROOT / "grids" / "table1.toml").grid.axes
    points = {"9+1": whole["cycle"].points["9+1"]}, {"1 x 1 MiB": whole["load"].points["1 x 1 MiB"]}
    grid = tmp_path / "grid.toml"
    lines = [f'scenario = "{ROOT / "python/daybreak/learn/testbed.toml"}"', "seeds = 2"]
    for name, number in (("migrated_variant", 0), ("main_variant", 1)):
        lines += [f"[axes.{name}]", f'field = "flows.{number}.variant"', 'values = ["bbr", "reno"]']
    for name, choices in zip(("cycle", "load"), points, strict=True):
        for value, changes in choices.items():
            lines += [
                f'[axes.{name}.points."{value}"]',
                *(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in changes.items()),
            ]
    grid.write_text("\n".join(lines))
    out = tmp_path / "of" / "table.parquet"
    given = ["table1.py", "--grid", str(grid), "-o", str(tmp_path / "runs"), "--table", str(out), "--workers", "1"]
    monkeypatch.setattr("sys.argv", given)
    table1.main()
    table = pl.read_parquet(out)
    assert "8 new runs" in capsys.readouterr().out and table.height == 8
    assert table["seed"].to_list() == [1, 2] * 4 and set(table["cycle"]) == {"9+1"}
    # 1 MiB at 10 Gbit/s takes 0.84 ms.
    assert table["main_fct_s"].min() > 8e-4 and table["migrated_fct_s"].null_count() == 0
