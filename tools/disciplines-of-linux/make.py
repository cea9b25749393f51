#!/usr/bin/env python3
"""Writes what queue disciplines of Linux do with ten drawn loads into crates/fabric/tests/of_linux.

    python tools/disciplines-of-linux/make.py /usr/src/linux-source-6.1.tar.xz
    python tools/disciplines-of-linux/make.py /usr/src/linux-source-6.1.tar.xz --print fq_codel 3

Compiles `codel.c`, `fq_codel.c` and `pie.c` with the files of these disciplines from the source of Linux 6.1.192, and
prints, if asked, the fate of every packet of one load instead. Takes as long as unpacking the source does.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
WRITTEN = HERE.parents[1] / "crates" / "fabric" / "tests" / "of_linux"
PIE_FUNCTIONS = r"^(?:bool|void) pie_(?:drop_early|process_dequeue|calculate_probability)\(.*?^}"
FQ_STRUCTS = r"^struct fq_codel_(?:flow|sched_data) \{.*?^\};?"
FQ_FUNCTIONS = (
    r"^static [^;=]*?\b(?:dequeue_head|flow_queue_add|fq_codel_drop|fq_codel_enqueue|dequeue_func|drop_func"
    r"|__fq_codel_dequeue)\(.*?^}"
)
# What is wanted of each file of the source: all of it, or what matches.
WANTED = {
    "include/net/codel.h": [("codel.h", None)],
    "include/net/codel_impl.h": [("codel_impl.h", None)],
    "include/net/codel_qdisc.h": [("codel_qdisc.h", None)],
    "include/net/pie.h": [("pie.h", None)],
    "net/sched/sch_pie.c": [("pie-functions.h", PIE_FUNCTIONS)],
    "net/sched/sch_fq_codel.c": [("fq_codel-structs.h", FQ_STRUCTS), ("fq_codel-functions.h", FQ_FUNCTIONS)],
}
DISCIPLINES = ("codel", "fq_codel", "pie")


def unpack(source: Path, place: Path) -> None:
    """Writes what is wanted of the source to a folder."""
    wanted = dict(WANTED)
    with tarfile.open(source) as archive:
        for member in archive:
            parts = wanted.pop(member.name.partition("/")[2], [])
            for name, pattern in parts:
                text = archive.extractfile(member).read().decode()  # type: ignore[union-attr]
                if pattern is not None:
                    text = "\n".join(re.findall(pattern, text, re.MULTILINE | re.DOTALL)) + ";\n"
                (place / name).write_text(re.sub(r"#include <.*>", "", text))
            if not wanted:
                return
    raise SystemExit(f"{source} has no {', '.join(wanted)}")


def main() -> None:
    """Compiles and runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the source of Linux 6.1.192, a tar file")
    parser.add_argument("--print", nargs=2, metavar=("DISCIPLINE", "LOAD"), help="print what becomes of each packet")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        unpack(arguments.source, place)
        for discipline in [arguments.print[0]] if arguments.print else DISCIPLINES:
            program = place / discipline
            subprocess.run(["gcc", "-O2", f"-I{place}", "-o", program, HERE / f"{discipline}.c"], check=True)
            if arguments.print:
                subprocess.run([program, arguments.print[1]], check=True)
                continue
            printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
            (WRITTEN / f"{discipline}-6.1.192.txt").write_text(printed)


if __name__ == "__main__":
    main()
