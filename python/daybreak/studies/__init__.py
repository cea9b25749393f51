"""Studies: published experiments as scenarios, with their numbers as data and their statements as code."""

from daybreak.studies.registry import STUDIES, study

__all__ = ["STUDIES", "study"]
