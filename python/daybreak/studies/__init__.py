"""Studies: published experiments as scenarios, with their numbers as data and their statements as code."""

from daybreak.studies.registry import STUDIES, Study, study

__all__ = ["STUDIES", "Study", "study"]
