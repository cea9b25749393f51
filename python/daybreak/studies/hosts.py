"""Kernels of published testbeds, as far as the model can emulate them."""

UBUNTU_18_04 = ("count_acks", "prr_by_retransmission", "two_tick_slack")
"""Mechanisms in which all of Linux 4.15 to 5.4, the kernels of Ubuntu 18.04, differ from Linux 6.1.192 (`legacy` of a
stack), as the migration study has them. A fourth, "ms_delays", was found after its results were made: how much it
changes is among its inferences."""
LINUX_4_15 = (
    *UBUNTU_18_04, "loss_as_mark", "no_ack_aggregation", "wide_probes", "timer_pacing", "ms_delays", "no_rtt_bursts",
    "tick_bursts", "early_rack",
)  # fmt: skip
"""Those in which Linux 4.15.0-50 of May 2019 does: of CUBIC, DCTCP, BBR, RACK and segmentation bursts besides."""
