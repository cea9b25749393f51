"""Agreement: how far the simulator's TCP is from Linux's, scenario by scenario.

The same scenarios with the same seeds run on both engines. Both use the same network, with the same random draws on
each link, so what differs is TCP.
"""

from .agree import KERNEL, MODEL, Agreement, agree

__all__ = ["KERNEL", "MODEL", "Agreement", "agree"]
