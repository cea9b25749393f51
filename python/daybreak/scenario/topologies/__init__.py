"""Ready networks, one file each: a model of the parameters that builds nodes and links. Add new ones to the union
here."""

from typing import Annotated

from pydantic import Field

from ..model import members
from .dumbbell import Dumbbell
from .hybrid import Hybrid
from .leaf_spine import LeafSpine
from .light_path import LightPath
from .migration_testbed import MigrationTestbed
from .parallel_links import ParallelLinks
from .ready import ReadyNetwork

Topology = Annotated[
    Dumbbell | ParallelLinks | MigrationTestbed | LeafSpine | Hybrid | LightPath, Field(discriminator="kind")
]
REGISTRY: tuple[type[ReadyNetwork], ...] = members(Topology)
"""Every topology."""
