"""Writes docs/kernels/suite-6.12.csv from the kernels.json of `daybreak agree --kernels 6.1,6.12`.

The command needs its options --segments and --receivers.
"""

import argparse
import csv
import json
from pathlib import Path

COLUMNS = ("scenario", "flow", "side", "segments", "identical_to_model", "first_difference", "fct_ns", "fct_6.1_ns")


def rows(document: dict, kernel: str, other: str) -> list[list]:
    """A row for each end of a flow: what `kernel` sends beside what the model sends on the same input."""
    found = []
    for end in document["ends"]:
        replayed, fcts = end["model"][kernel], end["fct_ns"]
        identical = replayed["is_identical"]
        first = "" if identical else replayed["same"]
        which = [end["scenario"], end["flow"], end["side"]]
        found.append([*which, replayed["segments"], int(identical), first, fcts[kernel], fcts[other]])
    return found


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="kernels.json")
    parser.add_argument("table", type=Path, help="the CSV file to write")
    arguments = parser.parse_args()
    document = json.loads(arguments.results.read_text(encoding="utf-8"))
    other, kernel = document["kernels"]
    with arguments.table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows(document, kernel, other))


if __name__ == "__main__":
    main()
