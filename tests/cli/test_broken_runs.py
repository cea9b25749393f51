"""Folders that are no runs, or runs that something has happened to: one sentence that names it, never a traceback."""

import json
import os
import shutil

import polars as pl
import pytest

import daybreak as package
from daybreak.cli.main import main

SCENARIO = {
    "name": "small", "duration": "20 ms", "stop": "duration", "topology": {"kind": "migration_testbed"},
    "flows": [
        {"name": "main", "from": "sender-main", "to": "receiver-main", "size": "100 kB", "via": "green"},
        {"name": "moved", "from": "sender-migrated", "to": "receiver-migrated", "size": "unlimited"},
    ],
    "timelines": [
        {"kind": "migrate", "flows": ["moved"], "between": ["blue", "green"], "period": "3 ms", "night": "1 ms"}
    ],
    "records": {"bins": "1 ms", "window": "1 ms", "queues": "1 ms"},
}  # fmt: skip
WRONG = (None, "x", "", -1, 2**70, 1.5, True, [], {}, [1], {"x": []}, float("nan"))
ABSENT = object()


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return package.run(package.Scenario.parse(SCENARIO)).write(tmp_path_factory.mktemp("sound") / "run")


@pytest.fixture
def broken(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "run")


def say(capsys, *arguments):
    """The exit code, and the sentence if it is not 0; whatever is no sentence fails here."""
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    said = capsys.readouterr().err
    code = ended.value.code
    if code:
        assert code == 1 and said.startswith("daybreak: ") and said.count("\n") == 1, said
    return code or 0, said


def commands(folder, other, out):
    return {
        "plot": ("plot", folder, "--what", "throughput", "-o", out / "f.png", "--force"),
        "report": ("report", folder, "-o", out / "r.html", "--force"),
        "compare": ("compare", folder, other),
        "explain": ("explain", folder),
    }


def places(document, prefix=()):
    """The fields of a manifest, those of the scenario as far as its own keys."""
    for key, value in document.items():
        yield (*prefix, key)
        if isinstance(value, dict) and not prefix:
            yield from places(value, (key,))


def changed(document, path, value):
    copy = json.loads(json.dumps(document))
    *outer, last = path
    inner = copy
    for key in outer:
        inner = inner[key]
    if value is ABSENT:
        del inner[last]
    else:
        inner[last] = value
    return copy


@pytest.mark.parametrize("changed_scenario", [
    lambda scenario: scenario["timelines"][0].update(name="another"),
    lambda scenario: scenario["flows"].pop(0),
])  # fmt: skip
def test_a_scenario_that_is_not_that_of_the_tables_says_nothing_about_them(broken, tmp_path, capsys, changed_scenario):
    manifest = broken / "manifest.json"
    document = json.loads(manifest.read_text())
    changed_scenario(document["scenario"])
    manifest.write_text(json.dumps(document))
    figure = tmp_path / "figure.png"
    code, said = say(capsys, "plot", broken, "--what", "throughput", "-o", figure)
    assert (code, figure.exists()) == (0, True), said


def test_every_field_of_a_manifest_may_be_anything(sound, broken, tmp_path, capsys):
    document = json.loads((sound / "manifest.json").read_text())
    refused = 0
    for number, path in enumerate(places(document)):
        for at, value in enumerate((*WRONG, ABSENT)):
            (broken / "manifest.json").write_text(json.dumps(changed(document, path, value)))
            of = list(commands(broken, sound, tmp_path).values())
            code, said = say(capsys, *of[(number + at) % len(of)])
            refused += code
            if code and path[0] != "scenario" and "is not a run" in said:
                assert ".".join(path) in said or path[0] in said, (path, value, said)
    assert refused > 200


@pytest.mark.parametrize("command", ["plot", "report", "compare", "explain"])
@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("seed",), "x", 'manifest.json: seed = "x": expected a whole number'),
        (("totals", "ended_ns"), "x", 'totals.ended_ns = "x": expected a whole number'),
        (("tables", "flows"), 5, "flows.parquet cannot be read: it has 2 rows, the manifest says 5"),
        (("engine",), 7, "engine = 7: expected text"),
        (("versions", "program"), ABSENT, "versions.program is missing"),
        (("scenario",), "x", 'scenario = "x": expected a table'),
    ],
)
def test_a_wrong_field_is_named_with_its_value(command, path, value, sentence, sound, broken, tmp_path, capsys):
    document = json.loads((sound / "manifest.json").read_text())
    (broken / "manifest.json").write_text(json.dumps(changed(document, path, value)))
    code, said = say(capsys, *commands(broken, sound, tmp_path)[command])
    assert code == 1 and sentence in said


def of_dtype(name, kind):
    return lambda table: table.with_columns(pl.col(name).cast(kind))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda table: table.drop("fct_ns"), "it has no column fct_ns"),
        (lambda table: table.clear(), "it has 0 rows, the manifest says 2"),
        (of_dtype("fct_ns", pl.String), "column fct_ns has values of type String: expected whole numbers"),
        (of_dtype("start_ns", pl.Float64), "column start_ns has values of type Float64: expected whole numbers"),
        (lambda table: table.with_columns(flow_name=pl.lit(3)), "column flow_name has values of type Int32"),
        (lambda table: pl.DataFrame({"x": [1, 2]}), "it has no column flow"),
    ],
)
@pytest.mark.parametrize("command", ["plot", "report", "compare", "explain"])
def test_a_table_of_another_kind_is_named(command, change, sentence, sound, broken, tmp_path, capsys):
    place = broken / "flows.parquet"
    change(pl.read_parquet(place)).write_parquet(place)
    code, said = say(capsys, *commands(broken, sound, tmp_path)[command])
    assert code == 1 and f"flows.parquet cannot be read: {sentence}" in said


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(64) + b"PAR1", None])
@pytest.mark.parametrize("command", ["plot", "report", "compare", "explain"])
def test_a_file_that_is_no_table_is_named(command, content, sound, broken, tmp_path, capsys):
    place = broken / "flows.parquet"
    place.unlink()
    if content is None:
        place.mkdir()
    else:
        place.write_bytes(content)
    code, said = say(capsys, *commands(broken, sound, tmp_path)[command])
    assert code == 1 and "flows.parquet cannot be read" in said


@pytest.mark.parametrize("command", ["plot", "report", "compare", "explain"])
@pytest.mark.parametrize("kind", ["loop", "dangling", "absent", "file", "empty", "manifest is a folder", "binary"])
def test_what_is_no_folder_of_runs_is_said(command, kind, sound, tmp_path, capsys):
    place = tmp_path / "place"
    if kind == "loop":
        place.symlink_to(place)
    elif kind == "dangling":
        place.symlink_to(tmp_path / "nowhere")
    elif kind == "file":
        place.write_bytes(b"\xff\x00")
    elif kind != "absent":
        place.mkdir()
    if kind == "manifest is a folder":
        (place / "manifest.json").mkdir()
    elif kind == "binary":
        (place / "manifest.json").write_bytes(b"\xff\x00{" * 50)
    code, said = say(capsys, *commands(place, sound, tmp_path)[command])
    assert code == 1 and "place" in said


def test_a_loop_inside_of_a_folder_of_runs_is_no_run(sound, tmp_path, capsys):
    shutil.copytree(sound, tmp_path / "runs" / "seed-1")
    (tmp_path / "runs" / "loop").symlink_to(tmp_path / "runs" / "loop")
    (tmp_path / "runs" / "up").symlink_to(tmp_path / "runs")
    of = commands(tmp_path / "runs", tmp_path / "runs", tmp_path)
    for command in ("plot", "report", "compare"):
        assert say(capsys, *of[command]) == (0, "")


def test_a_link_to_a_run_gives_a_figure_the_runs_name(sound, tmp_path, monkeypatch, capsys):
    (tmp_path / "link").symlink_to(sound)
    monkeypatch.chdir(tmp_path)
    assert say(capsys, "plot", "link", "--what", "throughput")[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["link", "run.png"]
