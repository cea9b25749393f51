#!/usr/bin/env python3
"""Builds Daybreak's wheel, with everything that the real-kernel engine needs: the guest's program, its switch, the
recipe and the driver of the kernel image.

    .venv/bin/python tools/wheel.py [--out dist]

maturin makes the wheel of the Python package and the simulator. The programs of the guest are no part of a Python
module, so they are added to it here, beside the modules that look for them.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parents[1]
HOME = "daybreak/engines/kernel"
GUEST = ("daybreak-guest", "libdaybreak_switch.so")
RECIPE = ROOT / "kernel-image"
BUILT = ROOT / "target" / "release"
# 1980, the first year that zip knows: the same files give the same wheel.
_TIME = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Builds the wheel and prints where it is."""
    parser = argparse.ArgumentParser(description="Builds Daybreak's wheel.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheel")
    out = parser.parse_args().out
    run("cargo", "build", "--release", "--quiet", "-p", "daybreak-guest", "-p", "daybreak-guest-switch")
    with tempfile.TemporaryDirectory() as place:
        run(sys.executable, "-m", "maturin", "build", "--release", "--strip", "--quiet", "--out", place)
        (plain,) = Path(place).glob("*.whl")
        for name in GUEST:
            # Its symbols are half of a program, and nothing reads them.
            run("strip", "--strip-unneeded", "-o", str(Path(place) / name), str(BUILT / name))
        out.mkdir(parents=True, exist_ok=True)
        write(plain, out / plain.name, Path(place))
    print(f"{out / plain.name}: {(out / plain.name).stat().st_size / 1e6:.1f} MB")


def run(*command: str) -> None:
    """Runs a program in the working copy; its failure is ours."""
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"wheel: {' '.join(command)} ended with {done.returncode}")


def added(stripped: Path) -> Iterator[tuple[str, Path]]:
    """Every file that is added: its name in the wheel, and where it is."""
    for name in GUEST:
        yield f"{HOME}/{name}", stripped / name
    for file in sorted(RECIPE.rglob("*")):
        if file.is_file():
            yield f"{HOME}/recipe_data/{file.relative_to(RECIPE)}", file


def write(plain: Path, complete: Path, stripped: Path) -> None:
    """Copies a wheel and adds the files, the programs as they are in `stripped`, also to its RECORD."""
    with ZipFile(plain) as source, ZipFile(complete, "w", ZIP_DEFLATED) as target:
        record = next(name for name in source.namelist() if name.endswith(".dist-info/RECORD"))
        lines = []
        ours = ((of(name), file.read_bytes()) for name, file in added(stripped))
        for entry, content in chain(contents(source, record), ours):
            target.writestr(entry, content, ZIP_DEFLATED, 9)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{entry.filename},sha256={digest},{len(content)}")
        target.writestr(of(record), "\n".join([*lines, f"{record},,", ""]), ZIP_DEFLATED, 9)


def contents(source: ZipFile, record: str) -> Iterator[tuple[ZipInfo, bytes]]:
    """What maturin has put into the wheel, but its RECORD."""
    for entry in source.infolist():
        if entry.filename != record:
            content = source.read(entry)
            yield entry, stored(content) if entry.filename.endswith(".skops") else content


def stored(archive: bytes) -> bytes:
    """The same archive without compression: many small files are compressed better together, by the wheel, and those of
    one size, which are much alike, better beside each other."""
    plain = io.BytesIO()
    with ZipFile(io.BytesIO(archive)) as source, ZipFile(plain, "w", ZIP_STORED) as target:
        for entry in sorted(source.infolist(), key=lambda entry: (entry.file_size, entry.filename)):
            target.writestr(entry, source.read(entry), ZIP_STORED)
    return plain.getvalue()


def of(name: str) -> ZipInfo:
    """The entry of a file that is added."""
    entry = ZipInfo(name, _TIME)
    entry.external_attr = (0o100755 if name.endswith(GUEST) else 0o100644) << 16
    return entry


if __name__ == "__main__":
    main()
