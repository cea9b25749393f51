#!/usr/bin/env python3
"""Writes what CoDel of Linux does with ten drawn loads into crates/fabric/tests/codel/linux-6.1.192.txt.

    python tools/codel-of-linux/make.py /usr/src/linux-source-6.1.tar.xz

Compiles `loads.c` with the two headers of CoDel from the source of Linux 6.1.192. Takes a second.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
WRITTEN = HERE.parents[1] / "crates" / "fabric" / "tests" / "codel" / "linux-6.1.192.txt"


def main(source: str) -> None:
    """Compiles and runs."""
    with tempfile.TemporaryDirectory() as place, tarfile.open(source) as archive:
        for member in archive:
            name = Path(member.name).name
            if member.name.endswith(("include/net/codel.h", "include/net/codel_impl.h")):
                text = archive.extractfile(member).read().decode()  # type: ignore[union-attr]
                (Path(place) / name).write_text(re.sub(r"#include <.*>", "", text))
        program = Path(place) / "loads"
        subprocess.run(["gcc", "-O2", f"-I{place}", "-o", program, HERE / "loads.c"], check=True)
        WRITTEN.write_text(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main(sys.argv[1])
