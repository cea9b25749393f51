"""The tables of docs/kernels: from what `daybreak kernel dialogues --kernels` and `daybreak agree --kernels` found."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

Document = dict[str, Any]
Row = list[Any]

MODELLED = "6.1"
"""The version that the model is of, beside which the others are put."""
SUITE = ("scenario", "flow", "side", "segments", "identical_to_model", "first_difference", "fct_ns", "fct_6.1_ns")
SUMMARY = ("kernel", "version", "senders", "identical_senders", "sender_segments", "same_sender_segments", "receivers",
           "identical_receivers", "identical_senders_to_6.1", "identical_receivers_to_6.1", "flows", "median_fct_ratio",
           "flows_within_1_percent", "flows_over_1.1", "flows_under_0.9")  # fmt: skip


def engine(kernel: str) -> str:
    """What `daybreak agree` calls a kernel."""
    return f"kernel:{kernel}"


def dialogues(found: Document) -> Iterator[Row]:
    """A row a dialogue that applies to some kernel: its name, what it shows, and what came of it with each kernel."""
    yield ["dialogue", "mechanism", *found["kernels"]]
    for one in found["dialogues"]:
        cells = [_cell(verdict) for verdict in one["verdicts"].values()]
        if any(cell != "does not apply" for cell in cells):
            yield [one["name"], one["mechanism"], *cells]


def _cell(verdict: Document) -> str:
    return verdict["verdict"] if verdict["verdict"] != "differs" else f"differs at line {verdict['line']}"


def with_ticks(text: str, hz: int) -> str | None:
    """A dialogue that says no ticks, for a kernel with `hz` of them: in place of its first empty line, so that all
    others keep their numbers. None for one that says its own."""
    if "\nconfig jiffy " in text or "\n\n" not in text:
        return None
    return text.replace("\n\n", f"\nconfig jiffy {1000 // hz}ms\n", 1)


def ticks(usual: Document, other: Document) -> Iterator[Row]:
    """A row a kernel: how many of the dialogues that 6.1 plays alike with both ticks it does.

    `usual` and `other` have the same kernels in the same order, the default one among them.
    """
    yield ["kernel", "dialogues_alike_with_6.1", "alike_with_it", "not_alike"]
    kernels = list(usual["kernels"])
    alike = [
        {name for name, one, two in zip(_names(usual), _verdicts(usual, at), _verdicts(other, at), strict=True)
         if one == two} for at in range(len(kernels))
    ]  # fmt: skip
    of_the_model = alike[kernels.index(MODELLED)]
    for kernel, own in zip(kernels, alike, strict=True):
        yield [kernel, len(of_the_model), len(of_the_model & own), " ".join(sorted(of_the_model - own))]


def _names(found: Document) -> list[str]:
    return [one["name"] for one in found["dialogues"]]


def _verdicts(found: Document, at: int) -> list[str]:
    return [_cell(list(one["verdicts"].values())[at]) for one in found["dialogues"]]


def suite(found: Document, kernel: str) -> Iterator[Row]:
    """A row an end of a flow: what `kernel` sends beside what the model sends on the same input."""
    yield list(SUITE)
    here, there = engine(kernel), engine(MODELLED)
    for end in replayed_ends(found):
        replayed, fcts = end["model"][here], end["fct_ns"]
        identical = replayed["is_identical"]
        first = "" if identical else replayed["same"]
        which = [end["scenario"], end["flow"], end["side"]]
        yield [*which, replayed["segments"], int(identical), first, fcts[here], fcts[there]]


def replayed_ends(found: Document) -> list[Document]:
    """The ends that have sent something with every kernel."""
    return [end for end in found["ends"] if all("segments" in end["model"].get(name, {}) for name in found["kernels"])]


def summary(found: Document) -> Iterator[Row]:
    """A row a kernel: how far its ends are those of the model and of 6.1, and what its flows take beside 6.1."""
    yield list(SUMMARY)
    for name in found["kernels"]:
        kernel = name.partition(":")[2]
        ends = replayed_ends(found)
        senders, receivers = ([end for end in ends if end["side"] == side] for side in ("sender", "receiver"))
        replayed = [end["model"][name] for end in senders]
        ratios = [fct[name] / fct[engine(MODELLED)] for fct in (end["fct_ns"] for end in senders)
                  if fct[name] and fct[engine(MODELLED)]]  # fmt: skip
        yield [
            kernel, found["programs"][name].split(",")[0].removeprefix("Linux ").split()[0], len(senders),
            sum(one["is_identical"] for one in replayed), sum(one["segments"] for one in replayed),
            sum(one["segments"] if one["is_identical"] else one["same"] for one in replayed), len(receivers),
            sum(end["model"][name]["is_identical"] for end in receivers),
            _like_6_1(senders, name), _like_6_1(receivers, name), len(ratios), f"{statistics.median(ratios):.4f}",
            sum(abs(ratio - 1) < 0.01 for ratio in ratios), sum(ratio > 1.1 for ratio in ratios),
            sum(ratio < 0.9 for ratio in ratios),
        ]  # fmt: skip


def _like_6_1(ends: Sequence[Document], name: str) -> int:
    """How many ends send the same segments as those of 6.1 in its own run."""
    if name == engine(MODELLED):
        return len(ends)
    return sum(
        pair["is_identical"] for end in ends for pair in end["between"]
        if {pair["first"], pair["second"]} == {name, engine(MODELLED)}
    )  # fmt: skip
