"""Compares the model with real Linux TCP: the scenarios of kernel.toml, with 1 GiB per flow."""

from __future__ import annotations

from daybreak.metrics import fct
from daybreak.studies.migration.measured import GROUPS, Evidence
from daybreak.studies.migration.settings import Scale, kernel_rows, kernel_setting
from daybreak.studies.published import PublishedEntry
from daybreak.studies.scoreboard import Scoreboard

PROLONGED = "20 %"
"""Tolerance of the prolongation: the larger of the two that were fixed for FCTs before the first run."""


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Both FCTs of every row, and the prolongation, which is small beside them."""
    for row in kernel_rows():
        setting = kernel_setting(scale, row)
        night = f"-night{row['night_ms']}ms" if row["night_ms"] else ""
        cycle = f"{row['period_ms']} ms" + (f" with {row['night_ms']} ms dropped" if night else "")
        name = f"kernel.{setting.migrated}-{setting.main}.{row['period_ms']}ms{night}"
        for group in reversed(GROUPS):
            entry = PublishedEntry(
                key=f"{name}.{group}",
                figure="kernel",
                what=f"FCT of the {group} flow, migrated {setting.migrated} against {setting.main}, {cycle}, 1 GiB",
                where="kernel.toml",
                printed=f"FCT of the {group} flow",
                unit="s",
                kind="own",
                value=row[f"{group}_s"],
                tolerance=row["tolerance"],
                note="one run of Linux 6.1.192 in virtual time",
            )
            board.published.setdefault(entry.key, entry)
            board.value(entry.key, evidence[setting].fcts(group))
        entry = PublishedEntry(
            key=f"{name}.prolongation",
            figure="kernel",
            what=f"FCT prolongation, migrated {setting.migrated} against {setting.main}, {cycle}, 1 GiB",
            where="kernel.toml",
            printed="FCT of the migrated less that of the main flow",
            unit="s",
            kind="own",
            value=round(row["migrated_s"] - row["main_s"], 3),
            tolerance=PROLONGED,
            note="of the two rows above",
        )
        board.published.setdefault(entry.key, entry)
        board.value(entry.key, fct.prolongation(evidence[setting].flows).sort("run")["prolongation_s"].to_list())
