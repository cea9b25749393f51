"""Lowers a scenario and a seed to a plan: integers only, names resolved, random values drawn.

Equal scenarios and seeds give equal plans, byte for byte. Anything that cannot be resolved (an unknown name, a flow
without a path) raises a ScenarioError that names the field and the value.
"""

from .plan import Plan, lower

__all__ = ["Plan", "lower"]
