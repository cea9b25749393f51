"""From a scenario and a seed to a plan: integers only, names resolved, everything random drawn.

The same scenario and seed give the same plan, byte for byte. What cannot be resolved (an unknown name, a flow
without a path) is a ScenarioError that names the field and the value.
"""

from .plan import Plan, lower

__all__ = ["Plan", "lower"]
