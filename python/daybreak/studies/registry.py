"""The studies that `daybreak reproduce` knows."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from daybreak.errors import UnknownName

if TYPE_CHECKING:
    from daybreak.studies.protocol import AnyStudy

STUDIES = {
    "etalon": "TCP on a network of packets and short circuits, VOQs that grow, reTCP (NSDI 2020)",
    "lightpath": "An elephant flow that is moved from a routed path to a shorter light-path (AIMS 2009)",
    "migration": "TCP flows that an optical switch moves between two links (CNSM 2022)",
    "space-switch": "VM transfers over a leaf-spine network with direct optical links, by who gets these and when",
}
"""The studies, each with a one-line description; each is a folder here (with _ for -) whose module `study` has
``STUDY``."""


def study(name: str) -> AnyStudy:
    """The study of that name."""
    if name not in STUDIES:
        raise UnknownName(f'study: "{name}" is not known (known are: {", ".join(sorted(STUDIES))})')
    return cast("AnyStudy", import_module(f"daybreak.studies.{name.replace('-', '_')}.study").STUDY)
