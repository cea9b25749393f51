"""Circles of Rust modules are found however a module is named, and what is no circle is none."""

import importlib.util
import subprocess
import sys

import pytest
from ready_files import ROOT

SPEC = importlib.util.spec_from_file_location("rust_modules", ROOT / "tools" / "rust-modules.py")
TOOL = importlib.util.module_from_spec(SPEC)
sys.modules["rust_modules"] = TOOL
SPEC.loader.exec_module(TOOL)


@pytest.fixture
def crates(tmp_path):
    def make(files, name="made-up", dependencies=""):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "Cargo.toml").write_text(f"[package]\nname = '{name}'\n[dependencies]\n{dependencies}")
        for path, text in files.items():
            file = tmp_path / name / "src" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    return make


TWO = {"lib.rs": "mod one;\nmod two;\n", "one.rs": "use crate::two::Two;\npub struct One(Two);\n"}
CIRCLE = "modules name each other in a circle: in made-up: one -> two; two -> one"


@pytest.mark.parametrize(
    "named",
    [
        "use crate::one::One;",
        "use super::one;",
        "use super::{one::{self, One as Other}};",
        "use crate::{three, one::*};",
        "pub fn f() -> crate::one::One { todo!() }",
        "fn f() { let x = super::one::One::default(); }",
        "mod inner { use super::super::one::One; }",
        "fn f() { mac!(crate::one::One) }",
    ],
)
def test_a_circle_is_found(crates, named):
    assert TOOL.problems(crates(TWO | {"two.rs": f"{named}\npub struct Two;\n"})) == [CIRCLE]


@pytest.mark.parametrize(
    "other",
    [
        "",
        "// use crate::one::One;",
        "/* crate::one::One */",
        'const TEXT: &str = "\\" crate::one::One";',
        'const TEXT: &str = r#"crate::one::One "quoted""#;',
        "const LETTERS: [char; 2] = ['\\'', '\"']; fn f<'a>(x: &'a str) {}",
        "#[cfg(test)]\nmod tests { use crate::one::One; }",
        "#[cfg(test)]\nuse crate::one::One;",
        "#[cfg(test)]\nfn f() -> Vec<crate::one::One> { vec![] }",
        "use std::one::One;",
        "use three::one::One;",
        "fn f() -> impl Fn() + use<> { || one::two() }",
    ],
)
def test_what_is_no_arrow_makes_no_circle(crates, other):
    assert TOOL.problems(crates(TWO | {"two.rs": f"{other}\npub struct Two;\n"})) == []


def test_a_name_that_is_passed_on_is_that_of_its_module(crates):
    root = "mod one;\nmod two;\npub use one::One;\npub use one::*;\npub struct Root;\n"
    two = "use crate::{};\npub struct Two;\n"
    for name, found in (("One", [CIRCLE]), ("Free", [CIRCLE]), ("Root", [])):
        folder = crates(
            {"lib.rs": root, "one.rs": TWO["one.rs"] + "pub fn Free() {}\n", "two.rs": two.replace("{}", name)},
            name=f"by-{name.lower()}",
        )
        sentences = [one for one in TOOL.problems(folder) if f"by-{name.lower()}" in one]
        assert sentences == [one.replace("made-up", f"by-{name.lower()}") for one in found]


def test_a_circle_of_folders_through_files_below_them(crates):
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a/mod.rs": "mod deep;\n", "a/deep.rs": "use crate::b::B;\n",
        "b.rs": "use crate::c::C;\npub struct B;\n",
        "c/mod.rs": "mod far;\npub struct C;\n", "c/far.rs": "use crate::a;\n",
    }  # fmt: skip
    assert TOOL.problems(crates(files)) == ["modules name each other in a circle: in made-up: a -> b; b -> c; c -> a"]


def test_parents_and_children_are_one_unit(crates):
    files = {
        "lib.rs": "mod a;\n",
        "a/mod.rs": "mod b;\npub use b::B;\npub struct A;\n",
        "a/b.rs": "use super::A;\npub struct B(A);\n",
    }
    assert TOOL.problems(crates(files)) == []


def test_crates_know_only_those_above_them(crates):
    crates({"lib.rs": ""}, name="low")
    crates({"lib.rs": ""}, name="beside", dependencies="daybreak-low.workspace = true\nserde = '1'\n")
    folder = crates({"lib.rs": ""}, name="high", dependencies="daybreak-beside.workspace = true\n")
    assert TOOL.wrong_dependencies(folder, (("low",), ("beside",), ("high",))) == []
    assert TOOL.wrong_dependencies(folder, (("low",), ("beside", "high"))) == [
        "crate high depends on beside, which is not above it in LAYERS"
    ]
    assert TOOL.wrong_dependencies(folder, (("low",), ("high",))) == [
        "crate beside is in no line of LAYERS", "crate high depends on beside, which is not above it in LAYERS",
    ]  # fmt: skip


def test_modules_know_only_those_above_them(crates):
    folder = crates(TWO | {"two.rs": "pub struct Two;\n"})
    above = ("made-up",)
    assert TOOL.wrong_arrows(folder, {above: (("two",), ("one",))}) == []
    beside = ["module one of made-up names two, which is not above it in ROOMS"]
    assert TOOL.wrong_arrows(folder, {above: (("one",), ("two",))}) == beside
    assert TOOL.wrong_arrows(folder, {above: (("one", "two"),)}) == beside
    assert TOOL.wrong_arrows(folder, {above: (("two",), ("three",))}) == [
        "module one of made-up is in no line of ROOMS", "ROOMS knows module three, which made-up has not",
    ]  # fmt: skip


def test_our_crates_have_none_of_these():
    done = subprocess.run([sys.executable, TOOL.__file__], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
