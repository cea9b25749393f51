"""Small record tables with the engine's column names and types."""

import polars as pl

FLOW_COUNTS = ("segments", "retransmits", "rtos", "tlps", "fast_recoveries", "spurious", "dup_acks", "reordered")


def flows(*rows: dict) -> pl.DataFrame:
    """Rows of ``flows``; what is left out is zero, flow numbers count up."""
    full = []
    for number, row in enumerate(rows):
        base = {"flow": number, "flow_name": f"f{number}", "group": "main", "variant": "cubic", "bytes": 0}
        base |= {"start_ns": 0, "end_ns": None, "fct_ns": None, "duplicates": 0}
        base |= dict.fromkeys(FLOW_COUNTS, 0) | row
        full.append(base)
    schema = dict.fromkeys(full[0], pl.UInt64) | {"flow": pl.UInt32}
    schema |= {"flow_name": pl.String, "group": pl.String, "variant": pl.String}
    if "run" in full[0]:
        schema["run"] = pl.Int64
    return pl.DataFrame(full, schema=schema)


def bins(*rows: tuple[str, int, int, int]) -> pl.DataFrame:
    """Rows of ``bins``: scope, id, start_ns, bytes."""
    schema = {"scope": pl.String, "id": pl.UInt32, "start_ns": pl.UInt64, "bytes": pl.UInt64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def window(*rows: tuple[int, int, int]) -> pl.DataFrame:
    """Rows of ``window``: flow, time_ns, bytes_in_flight."""
    schema = {"flow": pl.UInt32, "time_ns": pl.UInt64, "bytes_in_flight": pl.UInt64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")
