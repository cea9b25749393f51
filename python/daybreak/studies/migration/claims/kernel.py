"""The model beside real Linux TCP: the scenarios of kernel.toml, at 1 GiB a flow."""

from __future__ import annotations

from daybreak.studies.migration.measured import Evidence, fcts
from daybreak.studies.migration.settings import Scale, kernel_rows, kernel_setting
from daybreak.studies.scoreboard import Published, Scoreboard


def judge(board: Scoreboard, evidence: Evidence, scale: Scale) -> None:
    """Both FCTs of every row."""
    for row in kernel_rows():
        setting = kernel_setting(scale, row)
        cycle = (
            f"{row['period_ms']} ms"
            if not row["night_ms"]
            else f"{row['period_ms']} ms with {row['night_ms']} ms dropped"
        )
        for group in ("main", "migrated"):
            key = f"kernel.{setting.migrated}-{setting.main}.{row['period_ms']}ms"
            key += f"-night{row['night_ms']}ms" if row["night_ms"] else ""
            entry = Published(
                key=f"{key}.{group}",
                figure="kernel",
                where="kernel.toml",
                printed=f"FCT of the {group} flow",
                unit="s",
                basis="measured",
                value=row[f"{group}_s"],
                tolerance=row["tolerance"],
                note="Linux 6.1 in virtual time",
            )
            board.published.setdefault(entry.key, entry)
            what = f"FCT of the {group} flow, migrated {setting.migrated} against {setting.main}, {cycle}, 1 GiB"
            board.value(entry.key, what, fcts(evidence[setting], group))
