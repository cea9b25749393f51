"""Ready networks, one file each: a model of the parameters that builds nodes and links. Add new ones to the list
here."""

from typing import Annotated

from pydantic import Field

from .dumbbell import Dumbbell
from .hybrid import Hybrid
from .leaf_spine import LeafSpine
from .light_path import LightPath
from .migration_testbed import MigrationTestbed
from .parallel_links import ParallelLinks

REGISTRY = (Dumbbell, ParallelLinks, MigrationTestbed, LeafSpine, Hybrid, LightPath)
"""Every topology."""

Topology = Annotated[
    Dumbbell | ParallelLinks | MigrationTestbed | LeafSpine | Hybrid | LightPath, Field(discriminator="kind")
]

__all__ = ["REGISTRY", "Dumbbell", "Hybrid", "LeafSpine", "LightPath", "MigrationTestbed", "ParallelLinks", "Topology"]
