"""Reads a guest's tables from their file: a line of JSON, then the columns as little-endian numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from .errors import GuestFailed

FORMAT = 1

Tables = dict[str, dict[str, np.ndarray[Any, Any]]]


def read(path: Path) -> tuple[Tables, dict[str, int]]:
    """The tables and the totals; GuestFailed if the file is incomplete."""
    try:
        content = path.read_bytes()
        head, _, body = content.partition(b"\n")
        described = json.loads(head)
        if described["format"] != FORMAT:
            raise GuestFailed(f"{path.name} has format {described['format']}: expected {FORMAT}")
        tables = _columns(described["tables"], body, path)
        totals = described["totals"]
        counts = {
            "packet_hops": totals["packet_hops"],
            "events": totals["events"],
            "ended_ns": totals["ended_ps"] // 1000,
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GuestFailed(f"the guest left no tables that can be read: {error}") from error
    return tables, counts


def _columns(described: list[dict[str, Any]], body: bytes, path: Path) -> Tables:
    tables: Tables = {}
    at = 0
    for table in described:
        columns = tables.setdefault(table["name"], {})
        for name, kind in table["columns"]:
            dtype = np.dtype(kind)
            columns[name] = np.frombuffer(body, dtype, table["rows"], at)
            at += dtype.itemsize * table["rows"]
    if at != len(body):
        raise GuestFailed(f"{path.name} has {len(body)} bytes of columns: expected {at}")
    return tables
