"""Agreement: how far the simulator's TCP is from Linux's, scenario by scenario.

The same scenarios with the same seeds run on both engines. Both have the same network, link by link and draw by draw,
so what differs is TCP.
"""

from .agree import KERNEL, MODEL, Agreement, agree

__all__ = ["KERNEL", "MODEL", "Agreement", "agree"]
