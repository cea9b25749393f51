"""Data whose law is known, and models of it that take little time."""

import numpy as np
import polars as pl

from daybreak.learn import design
from daybreak.learn.dataset import COUNTED, Dataset
from daybreak.learn.setting import GROUPS, ideal_s

SETTING = {
    "migrated_variant": "cubic", "migrated_mib": 64.0, "migrated_flows": 1, "main_variant": "reno", "main_mib": 64.0,
    "main_flows": 1, "rate_gbps": 10.0, "rtt_us": 40.0, "buffer_packets": 250, "period_ms": 10.0, "night_ms": 0.0,
    "downtime": "none", "start_ms": 0.0, "hz": 1000,
}  # fmt: skip


def made_up(count=300, runs=1, noise=0.01, settings=None, seed=1):
    """Runs whose prolongation is a part of the ideal time that falls with the period, and grows with the night."""
    draw = np.random.default_rng(seed)
    rows = []
    for number, setting in enumerate(settings or design.learnt(count)):
        ideal = ideal_s(setting)
        truth = (0.5 / setting["period_ms"] + 2 * setting["night_ms"] / setting["period_ms"]) * ideal
        for run in range(runs):
            row = {"scenario": number, "seed": 1 + number * runs + run, "main_fct_s": 1.3 * ideal}
            row["migrated_fct_s"] = row["main_fct_s"] + truth + draw.normal() * noise * ideal
            rows.append(setting | row | {f"{group}_{name}": 0 for group in GROUPS for name in COUNTED})
    return Dataset(pl.DataFrame(rows, infer_schema_length=None))


QUICK = {"members": 1, "folds": 2}
"""Given to `model.fit` by tests that do not ask how good a model is."""

SETTINGS = 600
"""Of the model that tests share."""
