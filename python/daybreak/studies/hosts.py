"""Kernels of published testbeds, as far as the model can emulate them."""

UBUNTU_18_04 = ("count_acks", "prr_by_retransmission", "two_tick_slack", "ms_delays")
"""Mechanisms in which all of Linux 4.15 to 5.4, the kernels of Ubuntu 18.04, differ from Linux 6.1.192 (`legacy` of a
stack)."""
LINUX_4_15 = (
    *UBUNTU_18_04, "loss_as_mark", "no_ack_aggregation", "wide_probes", "timer_pacing", "no_rtt_bursts", "tick_bursts",
    "early_rack",
)  # fmt: skip
"""Those in which Linux 4.15.0-50 of May 2019 does: of DCTCP, BBR, RACK and segmentation bursts besides."""
