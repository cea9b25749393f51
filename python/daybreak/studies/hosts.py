"""Kernels of published testbeds, as far as the model can emulate them."""

LINUX_4_15 = ("count_acks", "prr_by_retransmission", "two_tick_slack")
"""Mechanisms in which Linux 4.15 to 5.4, the kernels of Ubuntu 18.04, differ from Linux 6.1.192 (`legacy` of a
stack)."""
