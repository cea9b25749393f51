"""Numbers in the words of a page are those of the tables beside it: a new run changes the tables, and not the words."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def table(place, name, **chosen):
    return pl.read_csv(RESULTS / place / "tables" / f"{name}.csv").filter(**chosen)


def claims(place):
    document = json.loads((RESULTS / place / "scoreboard.json").read_text(encoding="utf-8"))
    return {claim["id"]: claim for claim in document["claims"]}


def rounded(digits, values):
    return [f"{value:.{digits}f}" for value in values]


def ticks():
    of_cycle = [
        table("migration", "ticks", hosts="TCP of Linux 4.15 to 5.4", hz=1000, cycle=cycle).select("low_s", "high_s")
        for cycle in ("90+10 ms", "45+5 ms")
    ]
    return rounded(2, (value for one in of_cycle for value in one.row(0)))


def beside_the_kernel():
    claim = claims("migration")["kernel.westwood-cubic.50ms.prolongation"]
    return rounded(3, (claim["ours"], claim["published"]))


def from_run_to_run():
    claim = claims("migration")["kernel.cubic-cubic.50ms.prolongation"]
    low, high = claim["ci95"]
    return rounded(3, (claim["ours"], (high - low) / 2))


def lost_in_a_move():
    cases = ("old path goes on (as in the study)", "no move at all")
    found = [
        table("lightpath", "remedies", stack=stack, case=case)["missing_s"].item()
        for stack in ("linux", "ns2-2009")
        for case in cases
    ]
    return rounded(1, found)


def same_side():
    moves = table("lightpath", "shifts")
    return [str(moves.height), str(moves.filter((pl.col("ns2") > 0.5) == (pl.col("ours") > 0.5)).height)]


def managed():
    def mean(case, *kinds):
        some = table("lightpath", "management", stack="linux", case=case)
        some = some.filter(pl.col("flows_of").is_in([f"{kind}, all" for kind in kinds]))
        return (some["flows"] * some["mean_fct_s"]).sum() / some["flows"].sum()

    elephants = [mean(case, "elephant", "favoured") for case in ("unmanaged", "managed")]
    parts = [mean("managed", kind) / mean("unmanaged", kind) for kind in ("middle", "mouse")]
    return rounded(1, elephants) + rounded(2, parts)


def effects_of_one_turn():
    some = table("space_switch", "gap-effects", shares=1, scheme="dt", metric="throughput")
    return rounded(0, some.filter(pl.col("transfers") > 24)["change_percent"])


def unevenness_of_bbr():
    (row,) = table("space_switch", "variants", hosts="BBR", scheme="no_direct_link", vm_class="mouse").to_dicts()
    return rounded(2, [row["mean_mbps"] * row["mean_s"] / (250 * 2**20 * 8 / 1e6)])


def policies():
    return rounded(1, table("space_switch", "policies")["mean_s"])


def delays():
    some = table("etalon", "delays", variant="cubic", small_packets=16).filter(pl.col("large_packets").is_null())
    means = some.group_by("host_delay_ns").agg(pl.col("p50_packet").mean()).sort("host_delay_ns")["p50_packet"]
    return rounded(0, [*means, claims("etalon")["5.p50_packet.16p"]["published"]])


def curves():
    some = [claim for name, claim in claims("etalon").items() if ".curve." in name and not claim["fitted"]]
    return [str(sum(claim["verdict"] == "pass" for claim in some)), str(len(some))]


def without_dilation():
    def of(dilation, **chosen):
        return table("etalon", "values-dilation", timer_dilation=dilation, **chosen)["utilisation"]

    by_variant = [
        table("etalon", "values-dilation", timer_dilation=dilation, tau_us=1200)
        .group_by("variant")
        .agg(pl.col("utilisation").mean())["utilisation"]
        .mean()
        for dilation in (1, 20)
    ]
    retcp = [of(dilation, variant="retcp", tau_us=150).mean() for dilation in (1, 20)]
    return rounded(1, retcp + by_variant)


def low_medians():
    some = [claim for name, claim in claims("etalon").items() if ".p50_circuit." in name]
    found = []
    for has_eight in (False, True):
        mine = [claim for claim in some if claim["id"].startswith("8racks") == has_eight]
        found += [str(sum(claim["ours"] < claim["published"] for claim in mine)), str(len(mine))]
    return found


NUMBER = r"(-?\d+(?:\.\d+)?)"
SENTENCES = [
    ("migration", "not apart from 45+5 ms (# to # and # to # s, older hosts)", ticks),
    ("migration", "Westwood's is # s here and # s on the kernel", beside_the_kernel),
    ("migration", "ours differ from run to run by as much (# +- # s)", from_run_to_run),
    (
        "lightpath", "Linux loses # s, less than without a move, where an ordinary loss is due (# s). The TCP of ns-2 "
        "loses # s, and # s without a move.", lost_in_a_move,
    ),
    ("lightpath", "Of the # moves of all cells # are on the same side of the line in both.", same_side),
    ("lightpath", "(# s to # s in the mean), the 5 MB flows, nearly all of which stay, # of it, mice #,", managed),
    ("space_switch", "with one turn and 1.5 s # and # % (section", effects_of_one_turn),
    ("space_switch", "BBR does it a little (# for the same mice", unevenness_of_bbr),
    (
        "space_switch", "falls from # s to # s first come, first served (# s largest first, # s earliest deadline "
        "first, # s fair share)", policies,
    ),
    ("etalon", "(VOQ of 16 packets: #, #, #, # and # us, published #)", delays),
    ("etalon", "# of # curves that nothing was fitted to agree", curves),
    ("etalon", "reTCP at 150 us # % and not #, the mean of 17 variants at 1200 us # and not #", without_dilation),
    ("etalon", "medians of the circuit in # of # rows with 25 racks and in # of # with 8", low_medians),
]  # fmt: skip


@pytest.mark.parametrize(("place", "sentence", "numbers"), SENTENCES, ids=[row[2].__name__ for row in SENTENCES])
def test_a_sentence_has_the_numbers_of_the_tables(place, sentence, numbers):
    page = " ".join((RESULTS / place / "results.md").read_text(encoding="utf-8").split())
    found = re.findall(re.escape(sentence).replace(r"\#", NUMBER), page)
    assert found, "the page has no such sentence any more"
    expected = numbers()
    assert {one if isinstance(one, tuple) else (one,) for one in found} == {tuple(expected)}
