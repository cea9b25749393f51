"""A study of its own: settings, claims from CSV, two engines, figures and a page, without a line in the others."""

import json
from dataclasses import dataclass, replace

import matplotlib.pyplot as plt
import polars as pl
import pytest
from executors import Serial, simulated

from daybreak.engines import kernel
from daybreak.errors import ScenarioError
from daybreak.metrics import confidence, fct
from daybreak.scenario import Scenario
from daybreak.studies import page
from daybreak.studies.protocol import Experiment, Study
from daybreak.studies.published import load_published
from daybreak.studies.reproduce import reproduce
from daybreak.sweeps import Job, Reduction, StoredRun

CSV = """\
key,figure,what,where,printed,unit,kind,value,tolerance,note,quick
fct.1MB,1,"FCT of 1 MB, {engine}",table 1,0.0013,s,number,0.0013,50 %,,
fct.2MB,1,"FCT of 2 MB, {engine}",table 1,0.0021,s,number,0.0021,50 %,,
fct.4MB,1,"FCT of 4 MB, {engine}",table 1,0.0037,s,number,0.0037,50 %,two packets more,false
grows,2,growth of the FCT,section 1,the FCT grows with the size,ratio,statement,,,,
"""
PAGE = """\
title = "A little study"
network = "A link."
about = "One flow"
sizes = "{runs} runs, up to {largest} MB."
main = "fcts"
summary = "All is well."
changed = "- nothing"
[figure.1]
title = "Figure 1"
text = "FCTs"
[figure.2]
title = "Figure 2"
text = "Growth"
"""


@dataclass(frozen=True)
class Setting:
    megabytes: int
    engine: str = ""

    @property
    def name(self):
        return f"{self.megabytes}MB{self.engine}"


@dataclass(frozen=True)
class Scale:
    largest: int
    runs: int

    def runs_of(self, setting):
        # The kernel repeats itself exactly.
        return 1 if setting.engine else self.runs

    def with_runs(self, runs):
        return replace(self, runs=runs)


@dataclass(frozen=True)
class Measurements:
    flows: pl.DataFrame


def job(setting, seed, engine):
    scenario = Scenario.parse(
        {
            "name": setting.name,
            "duration": "1 s",
            "topology": {"kind": "dumbbell", "rate": "10 Gbit/s", "delay": "20 us", "queue": "350 packets"},
            "flows": [{"name": "f", "from": "sender-0", "to": "receiver-0", "size": f"{setting.megabytes} MB"}],
        }
    )
    return Job(scenario, seed, setting.engine or engine)


def flows(run):
    return {"flows": run.flows}


def sizes(scale):
    return [size for size in (1, 2, 4) if size <= scale.largest]


def both(scale):
    return [Setting(size, engine) for size in sizes(scale) for engine in ("", "kernel")]


def mean(measured):
    return measured.flows["fct_s"].mean()


def judge_fcts(board, evidence, scale):
    for setting in both(scale):
        fcts = evidence[setting].flows.sort("run")["fct_s"].to_list()
        engine = setting.engine or board.engine
        board.value(f"fct.{setting.megabytes}MB", fcts, suffix=engine, engine=engine)


def judge_growth(board, evidence, scale):
    first, *_, last = (mean(evidence[Setting(size)]) for size in sizes(scale))
    board.shape("grows", last > first, last / first)


def draw(name):
    def figure(evidence, scale, published):
        drawn, axes = plt.subplots()
        axes.plot([mean(one) for one in evidence.values()])
        plt.close(drawn)
        return {name: drawn}

    return figure


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel, "program", lambda plan=None: "a stand-in")
    folder = tmp_path / "little"
    folder.mkdir()
    (folder / "published.csv").write_text(CSV)
    (folder / "page.toml").write_text(PAGE)
    return Study(
        name="little",
        folder=folder,
        scales={"quick": Scale(largest=2, runs=2), "full": Scale(largest=4, runs=3)},
        experiments={
            "1": Experiment(both, judge_fcts, draw("fcts")),
            "2": Experiment(lambda scale: [Setting(size) for size in sizes(scale)], judge_growth, draw("growth")),
        },
        job=job,
        reduction=Reduction("little", 1, flows),
        measured=lambda _, runs: Measurements(fct.table(confidence.stack((s, runs[s]["flows"]) for s in sorted(runs)))),
        cost=lambda setting: setting.megabytes,
    )


def test_a_study_of_two_engines_is_reproduced(study, tmp_path):
    executor = Serial()
    board = reproduce(study, mode="full", out=tmp_path / "out", executor=executor)
    # The longest first; each setting's runs on its engine, and what two figures need once.
    assert [ran[:2] for ran in executor.ran[:4]] == [("simulated", "4MB")] * 3 + [("kernel", "4MBkernel")]
    assert len(executor.ran) == 3 * 3 + 3
    assert [claim.id for claim in board.claims] == [
        "fct.1MB.simulated", "fct.1MB.kernel", "fct.2MB.simulated", "fct.2MB.kernel", "fct.4MB.simulated",
        "fct.4MB.kernel", "grows",
    ]  # fmt: skip
    assert board.counts()["pass"] == 6 and board.counts()["shape-pass"] == 1
    assert board.claims[1].what == "FCT of 1 MB, kernel" and board.claims[1].ci95 is None
    assert json.loads((tmp_path / "out" / "scoreboard.json").read_text())["seeds"] == 3
    text = (tmp_path / "out" / "results.md").read_text()
    assert text.startswith(
        "# A little study\n\nA link.\n\n"
        "**3 of 3 printed numbers within the tolerance and 1 of 1 printed statement held.** \n\n"
        "![A little study](figures/fcts.png)\n\nAll is well.\n"
    )
    assert "| Figure 1 | 3 of 3 |  |\n| Figure 2 |  | 1 of 1 |\n" in text
    made = "Made by `daybreak reproduce little --full`."
    assert f"One flow, engine `simulated`, mode `full`. 3 runs, up to 4 MB. {made}" in text
    assert "## Figure 2\n\nGrowth\n![Figure 2](figures/growth.png)" in text
    settings = pl.read_parquet(tmp_path / "out" / "tables" / "flows.parquet")["setting"].unique().to_list()
    assert sorted(settings) == ["1MB", "1MBkernel", "2MB", "2MBkernel", "4MB", "4MBkernel"]


def test_the_page_says_the_command_that_makes_it_again(study, tmp_path):
    board = reproduce(study, figures=["2"], seeds=5, out=tmp_path / "out", executor=Serial())
    assert page.command(study, board, ["2"]) == "daybreak reproduce little --quick --seeds 5 --figure 2"
    text = (tmp_path / "out" / "results.md").read_text()
    assert "5 runs, up to 2 MB" in text and "## Figure 1" not in text
    # The summary is of the full reproduction.
    assert "All is well" not in text


INFERENCES = """\
[ticks]
what = "Ticks"
value = "250"
source = "other"
why = "a distribution"
of_hosts = true
field = "runs"
values = ["2"]
[delay]
what = "Delay"
value = "20 us"
source = "text"
why = "one rack"
fixed = "arithmetic"
"""


def on_a_kernel(task):
    kept = simulated(task)
    return StoredRun({**kept.manifest, "kernel": {"version": "5.10.262", "ticks": 250}}, kept.tables)


def test_a_page_of_a_kernel_has_no_words_of_the_simulators(study, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel, "chosen", lambda which: kernel, raising=False)
    growth = replace(study.experiments["2"], of_model=True)
    study = replace(study, experiments={"1": study.experiments["1"], "2": growth})
    (study.folder / "page.toml").write_text(
        PAGE.replace(
            'text = "FCTs"', 'text = "FCTs"\nfound = "Ours are two thirds."\nsizes = "{runs} runs of figure 1."'
        )
    )
    (study.folder / "inferences.toml").write_text(INFERENCES)
    (study.folder / "explanations.toml").write_text('"fct.2MB.kernel:5.10" = "the model is wrong"')
    (study.folder / "explanations-kernel.toml").write_text('"fct.2MB.kernel:5.10" = "an older kernel"')
    (study.folder / "published.csv").write_text(CSV.replace("0.0021,50 %", "0.0021,1 %"))
    (study.folder / "sensitivity-counts.csv").write_text(
        "inference,value,numbers,numbers_judged,statements,statements_judged\n,,1,2,0,0\nticks,2,1,2,0,0\n"
    )
    out = tmp_path / "out"
    board = reproduce(study, mode="full", engine="kernel:5.10", seeds=1, out=out, executor=Serial(on_a_kernel))
    text = (out / "results.md").read_text()
    assert text.startswith("# A little study: Linux 5.10.262 with 250 ticks a second\n")
    assert board.document()["hosts"] == "Linux 5.10.262 with 250 ticks a second"
    assert "engine `kernel` (Linux 5.10.262 with 250 ticks a second), mode `full`" in text
    assert "Made by `daybreak reproduce little --full --engine kernel --kernel 5.10 --seeds 1`." in text
    assert "1 runs, up to 4 MB. 1 runs of figure 1. Made" in text
    # Neither the summary nor what was found by the simulator, nor its reasons, nor what was varied there.
    assert not [word for word in ("All is well", "2/3", "the model is wrong", "sensitivity") if word in text]
    assert "an older kernel" in text and not (out / "figures" / "sensitivity.png").exists()
    assert "What holds of what is printed:\n\n- FCT of 1 MB, kernel:5.10 (and 1 more): printed 0.0013, ours" in text
    assert "What does not:\n\n- FCT of 2 MB" in text
    assert "| Ticks | Linux 5.10.262 with 250 ticks a second | the engine |  |" in text
    assert "| Delay | 20 us | follows from the text | one rack |" in text
    with pytest.raises(ScenarioError, match='figure: "2" is about the hosts of the simulator'):
        reproduce(study, figures=["2"], engine="kernel:5.10", out=tmp_path / "other", executor=Serial(on_a_kernel))


def test_a_page_says_what_was_not_run(study, tmp_path):
    reproduce(study, figures=["2"], out=tmp_path / "out", executor=Serial())
    text = (tmp_path / "out" / "results.md").read_text()
    assert 'Not run: "Figure 1". What these print is in no count.' in text


def test_quick_leaves_out_what_an_entry_says(study, tmp_path):
    study.scales["quick"] = study.scales["full"]
    board = reproduce(study, figures=["1"], out=tmp_path / "out", executor=Serial())
    verdicts = {claim.id: claim.verdict for claim in board.claims}
    assert verdicts["fct.4MB.simulated"] == "not-evaluated" and verdicts["fct.2MB.simulated"] == "pass"


def test_published_values_come_from_csv(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(CSV)
    found = load_published(path)
    assert list(found) == ["fct.1MB", "fct.2MB", "fct.4MB", "grows"]
    four = found["fct.4MB"]
    assert (four.value, four.tolerance, four.note, four.quick) == (0.0037, "50 %", "two packets more", False)
    assert found["grows"].value is None and found["grows"].quick


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("fct.1MB,1,a,b,c,s,number,1,,,", "published.csv: the key 'fct.1MB' is used twice"),
        ("other,1,a,b,c,s,number,much,,,", "published.csv, line 6: could not convert string to float: 'much'"),
        ("other,1,a,b,c,s,number,1,,,no", "published.csv, line 6: 'no'"),
        ("other,1,a,b,c,s,number,1,,,,more", "published.csv, line 6: .*keywords must be strings"),
    ],
)
def test_what_is_wrong_in_a_csv_is_named_with_its_line(tmp_path, line, sentence):
    path = tmp_path / "published.csv"
    path.write_text(CSV + line + "\n")
    with pytest.raises(ValueError, match=sentence):
        load_published(path)
