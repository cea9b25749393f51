"""Runs: the records of one scenario with one seed, in memory or in a folder of Parquet files."""

from .naming import schema
from .run import EngineOutput, Run, identity, read, read_all

__all__ = ["EngineOutput", "Run", "identity", "read", "read_all", "schema"]
