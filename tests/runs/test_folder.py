"""Who may write where: what a folder holds already, what of it counts as finished, and what is refused."""

import json
from functools import partial

import pytest

import daybreak
from daybreak.engines import lowered, program
from daybreak.errors import OutputError
from daybreak.runs import folder, identity

MANIFEST = "manifest.json"


def of(scenario, engine="simulated"):
    """The identity of a scenario's runs, by seed."""
    return lambda seed: identity(lowered(scenario, seed, engine), engine, program(engine))


@pytest.fixture
def write(one_flow, tmp_path):
    def write(name, seed, scenario=one_flow, /, **changes):
        place = tmp_path / name if name else tmp_path
        daybreak.run(scenario, seed=seed).write(place)
        manifest = json.loads((place / MANIFEST).read_text())
        (place / MANIFEST).write_text(json.dumps(manifest | changes))
        return place

    return write


@pytest.fixture
def claim(one_flow, tmp_path):
    return partial(folder.claim, tmp_path, one_flow, identity=of(one_flow))


def test_a_seed_has_the_folder_and_several_have_one_each(claim, tmp_path):
    assert claim(seeds=[4]).places == {4: tmp_path}
    both = claim(seeds=[4, 5])
    assert both.places == {4: tmp_path / "seed-4", 5: tmp_path / "seed-5"} and both.finished == {}


def test_what_is_there_is_not_run_again(claim, write, tmp_path):
    place = write("seed-5", 5)
    found = claim(seeds=[4, 5])
    assert (found.finished, found.others) == ({5: place}, [])
    # One more seed of the same experiment goes beside it.
    assert claim(seeds=[6]).places == {6: tmp_path / "seed-6"}


def test_a_run_whose_tables_are_gone_is_not_finished(claim, write):
    place = write("seed-5", 5)
    for table in place.glob("flows.*"):
        table.unlink()
    assert claim(seeds=[5, 6]).finished == {}


@pytest.mark.parametrize(("changes", "why"), [
    ({"engine": "kernel"}, "it holds a run on engine kernel"),
    ({"versions": {"daybreak": "0", "plan": 1, "program": "another"}}, "it holds a run by another build of Daybreak"),
])  # fmt: skip
def test_what_is_otherwise_is_refused_with_what_it_is(claim, write, changes, why):
    place = write("seed-5", 5, **changes)
    for seeds in ([5, 6], [6, 7]):
        with pytest.raises(OutputError, match=why):
            claim(seeds=seeds)
        forced = claim(seeds=seeds, force=True)
        assert (forced.finished, forced.others) == ({}, [place])


def test_another_seed_is_refused_and_words_are_no_difference(claim, write, one_flow):
    write("", 5, one_flow.with_({"description": "in other words"}))
    assert list(claim(seeds=[5]).places) == [5]
    with pytest.raises(OutputError, match="it holds the run of seed 5"):
        claim(seeds=[6])
    with pytest.raises(OutputError, match="it holds one run, not one a seed"):
        claim(seeds=[5, 6])


def test_another_scenario_is_refused_by_its_name(claim, write, one_flow):
    write("", 5, one_flow.with_({"name": "other", "flows.0.size": "2 MB"}))
    with pytest.raises(OutputError, match='it holds a run of another scenario, "other"'):
        claim(seeds=[5])


def test_only_what_is_not_ours_is_removed(claim, write, tmp_path):
    ours, other = write("seed-5", 5), write("seed-9", 9, engine="kernel")
    mine = tmp_path / "notes.txt"
    mine.write_text("mine")
    forced = claim(seeds=[5, 6], force=True)
    assert (forced.finished, forced.others) == ({5: ours}, [other])
    forced.remove_others()
    assert (ours / MANIFEST).exists() and mine.exists() and not (other / MANIFEST).exists()


def test_what_is_finished_may_be_read_only_and_what_is_not_yet_has_to_be_writable(claim, write, tmp_path):
    """A user's file in the way of a run that is not there is named before anything is run, and only then."""
    place = write("seed-5", 5)
    (place / "capture.pcapng").write_text("mine")
    assert list(claim(seeds=[5, 6]).finished) == [5]
    (tmp_path / "seed-6").write_text("mine")
    with pytest.raises(OutputError, match="seed-6 cannot be written: it exists and is not a run"):
        claim(seeds=[5, 6])
    (tmp_path / "seed-7").symlink_to("nowhere")
    with pytest.raises(OutputError, match="seed-7 cannot be written: it is a link to a place that does not exist"):
        claim(seeds=[5, 7])


def test_captures_are_written_where_their_run_will_be_on_the_same_disk(claim, tmp_path):
    """Beside a folder that is a run itself, and in one that holds a run for each seed; the folder is made."""
    assert claim(seeds=[4]).staging() == tmp_path
    assert claim(seeds=[4, 5]).staging() == tmp_path
    new, other = tmp_path / "new" / "deep", tmp_path / "other" / "deep"
    one, several = folder.Folder(new, {4: new}, {}, []), folder.Folder(other, {4: other / "seed-4"}, {}, [])
    assert (one.staging(), new.exists()) == (new.parent, False)
    assert several.staging() == other and other.is_dir()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "runs"
    with pytest.raises(OutputError) as caught:
        folder.Folder(place, {4: place / "seed-4"}, {}, []).staging()
    assert str(caught.value) == f"{place} cannot be written: Not a directory"


REFUSED = "; choose another folder, or --force to replace the run"


@pytest.mark.parametrize(("name", "written", "changes", "seeds", "sentence"), [
    ("", 5, {}, [6], "{root} cannot be used: it holds the run of seed 5"),
    ("", 5, {}, [5, 6], "{root} cannot be used: it holds one run, not one a seed"),
    ("seed-5", 6, {}, [5, 6], "{root}/seed-5 cannot be used: it holds the run of seed 6"),
    ("seed-5", 5, {"plan_hash": "ab"}, [5, 6], "{root}/seed-5 cannot be used: it holds a run of another plan"),
    ("seed-5", 5, {"plan_hash": "ab", "scenario": {}, "name": "x"}, [5, 6],
     '{root}/seed-5 cannot be used: it holds a run of another scenario, "x"'),
    ("seed-5", 5, {"scenario": {}, "name": "x"}, [6, 7],
     '{root}/seed-5 cannot be used: it holds a run of another scenario, "x"'),
])  # fmt: skip
def test_what_is_in_the_way_is_said_whole(claim, write, tmp_path, name, written, changes, seeds, sentence):
    place = write(name, written, **changes)
    with pytest.raises(OutputError) as caught:
        claim(seeds=seeds)
    assert str(caught.value) == sentence.format(root=tmp_path) + REFUSED
    assert claim(seeds=seeds, force=True).others == [place]


def test_only_folders_that_are_named_after_a_seed_are_those_of_seeds(claim, write, tmp_path):
    write("seed-x", 5, engine="kernel")
    write("seed-5-old", 5, engine="kernel")
    assert claim(seeds=[5, 6]).others == []
    # One seed has the whole folder, which has to be empty, unless runs of seeds are in it already.
    with pytest.raises(OutputError, match=r"cannot be written: it exists and is not a run$"):
        claim(seeds=[5])
    write("seed-7", 7)
    assert claim(seeds=[5]).places == {5: tmp_path / "seed-5"}


def test_the_first_of_several_others_is_named_and_all_are_removed(claim, write, tmp_path):
    first, second = write("seed-5", 5, engine="kernel"), write("seed-6", 6, engine="kernel")
    with pytest.raises(OutputError, match=r"seed-5 cannot be used: it holds a run on engine kernel;"):
        claim(seeds=[7, 8])
    forced = claim(seeds=[6, 7], force=True)
    assert forced.others == [first, second]
    forced.remove_others()
    # What is in the place of a run of ours is replaced by it, not removed.
    assert not first.exists() and second.exists()


def test_a_folder_that_is_a_link_to_nowhere_is_named_before_anything_is_run(one_flow, tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(OutputError) as caught:
        folder.claim(tmp_path / "link", one_flow, [4, 5], of(one_flow))
    assert str(caught.value) == f"{tmp_path}/link cannot be written: it is a link to a place that does not exist"
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "notes").write_text("mine")
    (tmp_path / "good").symlink_to("real")
    assert list(folder.claim(tmp_path / "good", one_flow, [4, 5], of(one_flow)).places) == [4, 5]
