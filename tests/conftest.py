"""Small scenarios that the tests start from."""

import os

import pytest
from golden import golden

from daybreak.scenario import Scenario

__all__ = ["golden", "migration", "one_flow", "pytest_addoption"]

# Workers of pytest-xdist have it, and commands make their tables that narrow.
os.environ.pop("COLUMNS", None)


def pytest_addoption(parser):
    parser.addoption("--update-goldens", action="store_true", help="write the files that texts are compared with")


@pytest.fixture
def one_flow() -> Scenario:
    """A flow of 1 MB over a dumbbell."""
    return Scenario.parse(
        {
            "name": "one flow",
            "duration": "1 s",
            "topology": {"kind": "dumbbell", "rate": "10 Gbit/s", "delay": "20 us", "queue": "350 packets"},
            "flows": [{"from": "sender-0", "to": "receiver-0", "size": "1 MB"}],
        }
    )


@pytest.fixture
def migration() -> Scenario:
    """Two flows on the migration testbed, one of them moved every 10 ms."""
    return Scenario.parse(
        {
            "name": "migration",
            "duration": "2 s",
            "topology": {"kind": "migration_testbed"},
            "stack": {"mtu": 9000},
            "flows": [
                {"name": "main", "from": "sender-main", "to": "receiver-main", "size": "32 MiB", "via": "green"},
                {"name": "moved", "from": "sender-migrated", "to": "receiver-migrated", "size": "32 MiB"},
            ],
            "timelines": [{"kind": "migrate", "flows": ["moved"], "between": ["blue", "green"], "period": "10 ms"}],
        }
    )
