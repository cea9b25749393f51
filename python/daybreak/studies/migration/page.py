"""The page of prose of a reproduction: what was done, what was inferred, and every claim beside its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybreak.studies.migration.settings import FIGURES, SCALES
from daybreak.studies.scoreboard import MISS, NOT_EVALUATED, PASS, SHAPE_MISS, SHAPE_PASS, Claim, Scoreboard, markdown

TITLES = {
    "3": "Figure 3: one flow, no congestion",
    "4": "Figure 4: two CUBIC flows",
    "5": "Figure 5: their windows",
    "6a": "Figure 6(a): CUBIC migrated against BBR, Reno and Westwood, 50 ms",
    "6b": "Figure 6(b): the same, 10 ms",
    "7": "Figure 7: reconfiguration with downtime",
    "table2": "Table II: groups of small flows",
    "kernel": "Beside the real kernel",
}

TEXTS = {
    "3": """One flow of 4 GiB is moved between the two loopback links, which it has for itself. Curves are wire bytes at
the taps in bins of 50 ms. 4 GiB in frames of 9038 bytes with 8948 bytes of payload take 3.470 s at 10 Gb/s, so the
printed 3.47 s leaves no room for any loss by the moves.""",
    "4": """Two CUBIC flows start together. One stays on the green link, the other is moved: a period on the blue link,
where it is alone, then a period on the green one, which is then shared. Curves are wire bytes at the taps, bins of
10 ms (20 ms, both states together, at periods of 10 and 1 ms).""",
    "5": """Bytes in flight of the flows of figure 4, without those that are lost or SACKed, the largest in each
bin, beside a flow alone that is never moved.""",
    "6a": """CUBIC is migrated; the main flow runs another variant. The order of the loss-based ones hangs on the
buffer: the smaller it is, the clearer Westwood leads; with 350 packets it is level with Reno.""",
    "6b": """The paper's period is not readable in the text; 10 ms is an inference.""",
    "7": """As figure 4, but each period begins with a night in which the migrated flow's packets are dropped. The title
of each panel names day and night; together they are the period. A night that is shorter than the time to a tail loss
probe (two round trips, a few milliseconds behind a full queue) is survived by the probe. One of 10 ms outlasts it, and
the sender waits for the retransmission timeout of a little over 200 ms: two periods of 100 ms later, when another night
has just begun. So the migrated flow fares worst at 90+10 ms, where timeouts, not windows, hold it back. The real kernel
does the same (`reference-kernel`).""",
    "table2": """Two groups of at most 20 CUBIC flows, 1 GiB each in total, with sizes of 2^n MiB (n = 0 to 8); a pair
arrives every 10 ms, after an earlier run that is not measured. "Average throughput" is read as the goodput of one flow,
its size over its FCT, averaged over the flows of a group: a group as a whole that ran at 1.4 Gb/s would take 6 s for
its 1 GiB, and its link carries that in 0.9 s; ten flows that share a link do get about 1 Gb/s each. The other readings
are in the notes. That the transfers are HTTP changes little: before its first byte a download crosses the loopback link
with the SYN-ACK, as a sender that opens the connection itself does with its SYN, and the request takes the bypass; the
time that a server takes to answer is not seen at the taps.""",
    "kernel": """Six scenarios at 1 GiB a flow with 350 packets of buffer, beside one run each of the TCP of Linux 6.1
in virtual time (`kernel.toml`). These were made before the study's ports had the jitter that they have now.""",
}

INFERENCES = """The paper prints the testbed's shape: two servers, 10 Gb/s ports, a green and a blue loopback
link, ACKs that bypass them, two states that alternate with the period, 30 runs with means and 95 % confidence
intervals. What it does not print is inferred, here and in every claim that rests on it:

- frames are jumbo (9000-byte MTU, 38 bytes of framing) and GB means GiB, since only so 4 GB take 3.47 s;
- each loopback port buffers 250 packets (2.25 MB). The buffer is not printed. Of the 41 claims of figures 4 to 7, with
  ten runs, 36 hold with 200 packets, 35 with 100, 150 and 250, and 33 or 34 with 300 to 400; of the first four 250
  comes closest to the printed numbers of figures 4 and 5 (`python -m daybreak.studies.migration.sweep`, its tables are
  in `python/daybreak/studies/migration/buffer`). It was chosen after the results were seen: a claim that holds with
  every buffer says more than one that does not;
- a window is what is in flight, without what is lost or SACKed. How the paper took its windows is not printed. What is
  outstanding was taken at first, and given up after the results were seen: it is largest where senders wait for
  timeouts. The note of `fig5.peaks` has it;
- the printed window without loss of about 3000 KB is no bound of it: it ends at half of Linux's default receive buffer
  of 6 MiB, since a flow alone comes from a port of the same rate, so that its queue stands in the server. TCP small
  queues are off, since they would end it at 1 MB;
- packets leave a server's port up to the time of one packet late: with less, two senders of one rate keep in step, so
  that one flow gets all of a full queue and the other may lose its whole window at once;
- the base RTT is 40 us plus serialisation;
- each flow has one 10 Gb/s port of server 1, as the two ports for two flows suggest;
- starts are drawn evenly from the first 5 ms: flows "start at the same time", and runs differ;
- the TCP is that of Linux 6.1 with default sysctls but one; the paper's kernel is not known. Its iPerf, 2.0.10, is that
  of Ubuntu 18.04, whose kernels (4.15 to 5.4) let a flow start with the slow-start threshold that the last one to the
  same address has left; 6.1 has a switch for it (`tcp_no_ssthresh_metrics_save`), and it is off here. It matters in
  Table II only, where many flows share a pair of ports;
- the shorter period of figure 6(b) is 10 ms;
- in Table II each group draws its own sizes, anew in every run, and a run follows another with other draws; there are
  more runs than the paper's 30, since two sets of 30 draws differ by more than the printed periods do."""


@dataclass(frozen=True)
class Section:
    """One figure of the page: its key, the names of its image files, and its claims."""

    figure: str
    images: tuple[str, ...]
    claims: tuple[Claim, ...]


def command(board: Scoreboard, sections: Sequence[Section]) -> str:
    """The command that makes this result again."""
    words = ["daybreak", "reproduce", "migration", f"--{board.mode}"]
    if board.engine != "simulated":
        words += ["--engine", board.engine]
    if board.seeds != SCALES[board.mode].runs:
        words += ["--seeds", str(board.seeds)]
    if len(sections) < len(FIGURES):
        words += [word for section in sections for word in ("--figure", section.figure)]
    return " ".join(words)


def write(board: Scoreboard, sections: Sequence[Section], runs: Mapping[str, int]) -> str:
    """The page in markdown; ``runs`` has the number of runs of each kind of setting."""
    scale, counts = SCALES[board.mode], board.counts()
    judged = sum(counts.values()) - counts[NOT_EVALUATED]
    held = counts[PASS] + counts[SHAPE_PASS]
    parts = [
        "# The migration study, reproduced\n",
        f"Made by `{command(board, sections)}`.\n",
        f"TCP flows that an optical switch moves between two links, engine `{board.engine}`, mode `{board.mode}`. "
        f"Figure 3: flows of {scale.single_mib} MiB, runs of each setting: {runs['single']}. Figures 4 to 7: "
        f"{scale.pair_mib} MiB, runs: {runs['pair']}. Table II: groups of {scale.group_mib} MiB, runs: "
        f"{runs['groups']}. Kernel: {scale.kernel_mib} MiB, runs: {runs['pair']}.\n",
        f"**{held} of {judged} claims hold**: {counts[PASS]} numbers within their tolerance and "
        f"{counts[MISS]} outside, {counts[SHAPE_PASS]} statements that hold and {counts[SHAPE_MISS]} that do not; "
        f"{counts[NOT_EVALUATED]} not evaluated. Tolerances were fixed before the first run.\n",
        "## What was inferred\n",
        INFERENCES + "\n",
    ]
    for section in sections:
        parts += [f"## {TITLES[section.figure]}\n", TEXTS[section.figure] + "\n"]
        parts += [f"![{TITLES[section.figure]}](figures/{name}.png)\n" for name in section.images]
        parts.append(markdown(section.claims))
        notes = [f"- `{claim.id}` ({claim.verdict}): {claim.note}" for claim in section.claims if claim.note]
        if notes:
            parts.append("<details><summary>Notes</summary>\n\n" + "\n".join(dict.fromkeys(notes)) + "\n\n</details>\n")
    return "\n".join(parts)
