"""The file of a model: the same model again, and one sentence when it is broken."""

import copy
import dataclasses
import io
import shutil
import zipfile

import numpy as np
import pytest
import skops.io
from made_up import SETTING, SETTINGS
from ready_files import ROOT

from daybreak.errors import OutputError
from daybreak.learn import features, files, measured, trees
from daybreak.learn.conformal import ConformalRegressor


def test_a_file_has_the_trees_and_the_settings_that_were_learnt_to_the_last_bit(small):
    """Nodes, thresholds and branches are built anew from what an archive has of them."""
    (whole, *_) = small.regressor.quantiles_
    again = trees.unpacked(*trees.packed(whole))
    assert len(again._predictors) == len(whole._predictors)
    for (before,), (after,) in zip(whole._predictors, again._predictors, strict=True):
        ends = before.nodes["is_leaf"] == 1
        assert (after.nodes["is_leaf"] == ends).all() and (
            after.nodes["value"][ends] == before.nodes["value"][ends]
        ).all()
        for name in ("feature_idx", "num_threshold", "bin_threshold", "left", "right"):
            assert (after.nodes[name][~ends] == before.nodes[name][~ends]).all(), name
    assert measured.unpacked(measured.packed(small.settings)).equals(small.settings)


def test_the_shipped_model_is_a_small_file():
    """A wheel has at most 7 MB, and half of it are libraries."""
    assert (ROOT / "python" / "daybreak" / "learn" / "networks.skops").stat().st_size < 3_700_000


def broken(path, change):
    """A copy of a model file with one array changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def arrays(members, wanted):
    for name, content in members.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(content), allow_pickle=False)
            if wanted(array):
                yield name, array


def put(members, name, array):
    content = io.BytesIO()
    np.save(content, array)
    members[name] = content.getvalue()


def of_layers(array):
    return array.ndim == 2 and array.shape[0] == len(features.NAMES)


def of_inputs(array):
    return array.dtype == np.int16


def of_values(array):
    return array.dtype == np.float32 and array.ndim == 1 and len(array) > 200


def of_thresholds(array):
    return array.dtype == np.uint8 and array.ndim == 1 and len(array) != SETTINGS


def of_settings(array):
    return array.dtype == np.uint8 and array.ndim == 2


def truncated(members):
    name = max((name for name in members if name.endswith(".npy")), key=lambda name: len(members[name]))
    members[name] = members[name][:-40]


def garbage(members):
    members[next(name for name in members if name.endswith(".npy"))] = b"garbage"


def without(members):
    del members[next(name for name in members if name.endswith(".npy"))]


def of_another_shape(members):
    name, array = next(arrays(members, of_layers))
    put(members, name, array[:-1])


def of_texts(members):
    name, array = next(arrays(members, of_layers))
    put(members, name, array.astype(str))


def not_finite(members):
    name, array = next(arrays(members, of_layers))
    array[0, 0] = np.nan
    put(members, name, array)


def a_tree_without_end(members):
    name, array = next(arrays(members, of_inputs))
    array[-1] = 0
    put(members, name, array)


def of_an_unknown_input(members):
    name, array = next(arrays(members, of_inputs))
    array[0] = len(features.NAMES)
    put(members, name, array)


def of_an_unknown_threshold(members):
    name, array = max(arrays(members, of_thresholds), key=lambda found: len(found[1]))
    put(members, name, np.full_like(array, 255))


def a_leaf_without_value(members):
    name, array = next(arrays(members, of_values))
    put(members, name, array[:-1])


def an_infinite_leaf(members):
    name, array = next(arrays(members, of_values))
    array[3] = np.inf
    put(members, name, array)


def too_few_settings(members):
    name, array = next(arrays(members, of_settings))
    put(members, name, array[:, :-1])


def names_from_the_end(members):
    """A variant or a policy would silently be another one."""
    name, array = next(arrays(members, lambda array: array.dtype == np.uint8 and array.shape == (SETTINGS,)))
    put(members, name, np.full_like(array, -1, dtype=np.int8))


def thresholds_from_the_end(members):
    name, array = max(arrays(members, of_thresholds), key=lambda found: len(found[1]))
    put(members, name, np.full_like(array, -1, dtype=np.int8))


def settings_of_three_bytes(members):
    name, array = next(found for found in arrays(members, of_settings) if len(found[1]) == 4)
    put(members, name, array[:3])


@pytest.mark.parametrize(
    "change",
    [
        truncated,
        garbage,
        without,
        of_another_shape,
        of_texts,
        not_finite,
        a_tree_without_end,
        of_an_unknown_input,
        of_an_unknown_threshold,
        a_leaf_without_value,
        an_infinite_leaf,
        too_few_settings,
        names_from_the_end,
        thresholds_from_the_end,
        settings_of_three_bytes,
    ],
)
def test_a_broken_part_is_one_sentence(small, tmp_path, change):
    place = tmp_path / "m.skops"
    files.save(small, place)
    broken(place, change)
    with pytest.raises(OutputError, match=r"m\.skops is not a model: ") as error:
        files.load(place)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["classes_", "shares_", "widened_"])
def test_a_file_whose_classes_do_not_fit_is_refused_before_it_predicts(small, tmp_path, name):
    regressor = copy.copy(small.regressor)
    setattr(regressor, name, getattr(regressor, name)[:-1])
    files.save(dataclasses.replace(small, regressor=regressor), tmp_path / "m.skops")
    with pytest.raises(OutputError, match="is not a model: "):
        files.load(tmp_path / "m.skops")


def test_a_cut_or_flipped_file_is_one_sentence(small, tmp_path):
    files.save(small, tmp_path / "m.skops")
    whole = (tmp_path / "m.skops").read_bytes()
    for place in range(0, len(whole), len(whole) // 25):
        (tmp_path / "cut.skops").write_bytes(whole[:place])
        with pytest.raises(OutputError, match="is not a model"):
            files.load(tmp_path / "cut.skops")
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        (tmp_path / "flipped.skops").write_bytes(flipped)
        try:
            found = files.load(tmp_path / "flipped.skops")
        except OutputError:
            continue
        # What is said twice in an archive, or not at all, may be flipped.
        assert found.predict([SETTING]) == small.predict([SETTING])


def test_what_is_not_a_model_is_refused(tmp_path, small):
    (tmp_path / "text.skops").write_text("no")
    with pytest.raises(OutputError, match="is not a model"):
        files.load(tmp_path / "text.skops")
    with pytest.raises(OutputError, match="is not a model"):
        files.load(tmp_path)
    skops.io.dump({"regressor": pytest.approx, "features": []}, tmp_path / "code.skops")
    with pytest.raises(OutputError, match="it has parts of type"):
        files.load(tmp_path / "code.skops")
    skops.io.dump({"regressor": ConformalRegressor(), "features": ["day"]}, tmp_path / "old.skops")
    with pytest.raises(OutputError, match="of another version: make it anew"):
        files.load(tmp_path / "old.skops")
    skops.io.dump({"features": list(features.NAMES)}, tmp_path / "part.skops")
    with pytest.raises(OutputError, match="is not a model"):
        files.load(tmp_path / "part.skops")
    shutil.rmtree(tmp_path)
    with pytest.raises(OutputError, match="cannot be written"):
        files.save(small, tmp_path / "m.skops")
