"""The model beside real Linux TCP: the scenarios of kernel.toml, at 1 GiB a flow."""

from __future__ import annotations

from daybreak.studies.migration.measured import GROUPS, Evidence
from daybreak.studies.migration.settings import Scale, kernel_rows, kernel_setting
from daybreak.studies.published import Published
from daybreak.studies.scoreboard import Scoreboard


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Both FCTs of every row."""
    for row in kernel_rows():
        setting = kernel_setting(scale, row)
        night = f"-night{row['night_ms']}ms" if row["night_ms"] else ""
        cycle = f"{row['period_ms']} ms" + (f" with {row['night_ms']} ms dropped" if night else "")
        for group in reversed(GROUPS):
            entry = Published(
                key=f"kernel.{setting.migrated}-{setting.main}.{row['period_ms']}ms{night}.{group}",
                figure="kernel",
                what=f"FCT of the {group} flow, migrated {setting.migrated} against {setting.main}, {cycle}, 1 GiB",
                where="kernel.toml",
                printed=f"FCT of the {group} flow",
                unit="s",
                kind="own",
                value=row[f"{group}_s"],
                tolerance=row["tolerance"],
                note="Linux 6.1 in virtual time",
            )
            board.published.setdefault(entry.key, entry)
            board.value(entry.key, evidence[setting].fcts(group))
