"""The recipe: what it asks for, and that an edit is applied exactly or refused."""

import re
import shutil
from pathlib import Path

import pytest
from kernel_tree import miniature
from ready_files import ROOT

from daybreak.engines.kernel import recipe as recipes
from daybreak.engines.kernel.errors import RecipeError
from daybreak.engines.kernel.recipe import Edit
from daybreak.errors import UsageError

CONGESTION_CONTROLS = ["BBR", "BIC", "CDG", "CUBIC", "DCTCP", "HSTCP", "HTCP", "HYBLA", "ILLINOIS", "LP"]
CONGESTION_CONTROLS += ["NV", "SCALABLE", "VEGAS", "VENO", "WESTWOOD", "YEAH"]


def copy_of_recipe(tmp_path: Path) -> Path:
    home = tmp_path / "recipe"
    (home / recipes.MODULES).mkdir(parents=True)
    for name in (recipes.RECIPE_FILE, recipes.BASE_CONFIG, recipes.LARGE_STATE_CONFIG):
        (home / name).write_bytes((recipes.default_directory() / name).read_bytes())
    shutil.copytree(recipes.default_directory() / recipes.DRIVER, home / recipes.DRIVER)
    return home


def test_base_config_has_every_congestion_control_and_no_host_randomness():
    options = recipes.load().config(large_state=False).splitlines()
    for name in CONGESTION_CONTROLS:
        assert f"CONFIG_TCP_CONG_{name}=y" in options
    assert "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in options
    assert not any(line.startswith("CONFIG_UML_RANDOM") for line in options)


def test_larger_stack_only_with_large_state():
    recipe = recipes.load()
    assert "CONFIG_KERNEL_STACK_ORDER=4" not in recipe.config(large_state=False)
    assert "CONFIG_KERNEL_STACK_ORDER=4" in recipe.config(large_state=True).splitlines()


@pytest.mark.parametrize(
    ("state_bytes", "large"), [(832, False), (2696, False), (2697, True), (11008, True), (12288, True)]
)
def test_large_state_starts_where_the_plain_buffer_ends(state_bytes, large):
    assert recipes.load().needs_large_state(state_bytes) is large


def test_state_beyond_the_recipe_is_refused_with_both_numbers():
    with pytest.raises(RecipeError, match=r"12289 bytes .* at most 12288"):
        recipes.load().needs_large_state(12289)


@pytest.mark.parametrize("large", [False, True])
def test_edits_change_a_fitting_source(tmp_path, large):
    recipe = recipes.load()
    tree = miniature(tmp_path / "source", recipe)
    recipe.apply(tree, large)
    assert "default 1000\n" in (tree / "arch/um/Kconfig").read_text()
    assert "#define TIMER_MULTIPLIER 1\n" in (tree / "arch/um/include/linux/time-internal.h").read_text()
    assert ("12288" in (tree / "arch/x86/um/user-offsets.c").read_text()) is large
    assert (tree / "arch/um/drivers/Makefile").read_text().endswith("obj-y += daybreak/\n")
    assert (tree / "net/ipv4/tcp_input.c").read_text().count("FLAG_UNASKED_ECE") == 3


def test_ticks_change_the_kernel_and_the_digest_but_the_usual_ones_do_not(tmp_path):
    usual, other = recipes.load(), recipes.load(hz=250)
    assert recipes.load(hz=1000).digest == usual.digest != other.digest
    assert other.own_digest == usual.own_digest
    tree = miniature(tmp_path / "source", other)
    other.apply(tree, large_state=False)
    assert (tree / "arch/um/Kconfig").read_text() == "before\nconfig HZ\n\tint\n\tdefault 250\nafter\n"
    assert "1000" not in (tree / "arch/um/include/linux/time-internal.h").read_text()
    with pytest.raises(UsageError, match=r"hz = 500: expected one of 100, 250, 300, 1000"):
        recipes.load(hz=500)


def test_edit_refuses_a_source_that_reads_differently():
    edit = Edit(name="ticks", path="arch/um/Kconfig", why="", find="default 100\n", replace="default 1000\n")
    with pytest.raises(
        RecipeError, match=r"arch/um/Kconfig: edit 'ticks' expected 'default 100' once and found it 0 times"
    ):
        edit.apply("default 250\n")
    with pytest.raises(RecipeError, match="found it 2 times"):
        edit.apply("default 100\ndefault 100\n")


def test_a_congestion_module_is_built_in_and_changes_the_digest(tmp_path):
    home = copy_of_recipe(tmp_path)
    bare = recipes.load(home)
    (home / recipes.MODULES / "tcp_retcp.c").write_text("/* ours */\n")
    with_module = recipes.load(home)
    assert with_module.digest != bare.digest
    tree = miniature(tmp_path / "source", with_module)
    with_module.apply(tree, large_state=False)
    assert (tree / recipes.MODULE_HOME / "tcp_retcp.c").read_text() == "/* ours */\n"
    assert (tree / recipes.MODULE_HOME / "Makefile").read_text() == "obj-y += tcp_retcp.o\n"


def test_the_driver_is_built_in_and_changes_the_digest(tmp_path):
    home = copy_of_recipe(tmp_path)
    before = recipes.load(home)
    tree = miniature(tmp_path / "source", before)
    before.apply(tree, large_state=False)
    assert (tree / "arch/um/drivers/Makefile").read_text().endswith("obj-y += daybreak/\n")
    copied = {path.name for path in (tree / recipes.DRIVER_HOME).iterdir() if path.is_file()}
    assert copied == {path.name for path in (home / recipes.DRIVER).iterdir()}
    assert {"Makefile", "nic.c", "control.c", "library_user.c", "switch.h"} <= copied
    with (home / recipes.DRIVER / "nic.c").open("a") as file:
        file.write("/* another */\n")
    assert recipes.load(home).digest != before.digest


def test_a_recipe_without_the_driver_is_refused(tmp_path):
    home = copy_of_recipe(tmp_path)
    shutil.rmtree(home / recipes.DRIVER)
    with pytest.raises(RecipeError, match="driver"):
        recipes.load(home)


def test_digest_follows_the_fragment(tmp_path):
    home = copy_of_recipe(tmp_path)
    before = recipes.load(home).digest
    with (home / recipes.BASE_CONFIG).open("a") as file:
        file.write("CONFIG_TUN=y\n")
    assert recipes.load(home).digest != before


def test_digest_does_not_follow_the_forecast(tmp_path):
    home = copy_of_recipe(tmp_path)
    before = recipes.load(home)
    text = (home / recipes.RECIPE_FILE).read_text()
    forecast = f"expected_objects = {before.expected_objects}"
    assert forecast in text
    (home / recipes.RECIPE_FILE).write_text(text.replace(forecast, "expected_objects = 1"))
    after = recipes.load(home)
    assert after.expected_objects == 1
    assert after.digest == before.digest


def test_unknown_field_of_an_edit_is_refused(tmp_path):
    home = copy_of_recipe(tmp_path)
    text = (home / recipes.RECIPE_FILE).read_text()
    (home / recipes.RECIPE_FILE).write_text(text.replace('append = "obj-y', 'apend = "obj-y'))
    with pytest.raises(RecipeError, match="arch/um/drivers/Makefile: unknown field 'apend'"):
        recipes.load(home)


def test_missing_recipe_names_the_file(tmp_path):
    with pytest.raises(RecipeError, match=r"recipe\.toml"):
        recipes.load(tmp_path)


def test_users_congestion_modules_change_the_digest_but_not_our_own(tmp_path):
    mine = tmp_path / "mine.c"
    mine.write_text("/* mine */\n")
    plain, with_mine = recipes.load(), recipes.load(congestion=[mine])
    assert with_mine.digest != plain.digest
    assert with_mine.own_digest == plain.own_digest == plain.digest
    assert [module.name for module in with_mine.modules] == ["tcp_retcp.c", "mine.c"]
    tree = miniature(tmp_path / "source", with_mine)
    with_mine.apply(tree, large_state=False)
    assert (tree / recipes.MODULE_HOME / "Makefile").read_text() == "obj-y += tcp_retcp.o\nobj-y += mine.o\n"


def test_each_version_has_the_edits_and_options_that_are_for_it(tmp_path):
    home = copy_of_recipe(tmp_path)
    text = (home / recipes.RECIPE_FILE).read_text()
    text += '[[option]]\nname = "CONFIG_DEBUG_INFO_NONE"\nsince = "6.2"\n'
    (home / recipes.RECIPE_FILE).write_text(text)
    older, newer = recipes.load(home, version="6.1.55"), recipes.load(home, version="6.12.117")
    assert "no-getpid" in older.names(False) and "no-getpid" not in newer.names(False)
    assert "CONFIG_DEBUG_INFO_NONE=y" not in older.config(False) and "CONFIG_DEBUG_INFO_NONE=y" in newer.config(False)
    # What is for another version is no change of this one; 6.9 is before 6.12.
    assert recipes.load(home, version="6.9").names(False) == older.names(False)
    changed = text.replace('until = "6.12"', 'until = "6.11"')
    (home / recipes.RECIPE_FILE).write_text(changed)
    assert recipes.load(home, version="6.1.55").digest == older.digest
    (home / recipes.RECIPE_FILE).write_text(text.replace('until = "6.12"', 'until = "soon"'))
    with pytest.raises(RecipeError, match=r"process\.c: until is 'soon': expected two numbers such as 6.12"):
        recipes.load(home)


@pytest.mark.parametrize("version", ["5.10", "6.1", "6.12", "7.3"])
def test_every_tested_version_has_each_edit_once(version):
    recipe = recipes.load(version=version)
    assert version in recipe.tested_versions
    # A place that reads otherwise in another version has an edit for each, and a version takes one of them.
    places = [(edit.path, edit.find or edit.append) for edit in recipe.edits]
    assert len(set(places)) == len(places)
    whys = [edit.why for edit in recipe.edits if edit.name == "compressed-acks"]
    assert len(whys) == 1
    assert sum("#define FLAG_UNASKED_ECE" in (edit.replace or "") for edit in recipe.edits) == 1


def test_a_version_has_the_edits_that_its_source_needs():
    names = {version: set(recipes.load(version=version).names(True)) for version in ("5.10", "6.1", "6.12", "7.3")}
    assert names["5.10"] - names["6.1"] == {"randomness-of-the-host", "window-of-later-versions"}
    assert names["6.1"] - names["5.10"] == set()
    assert names["6.1"] - names["6.12"] == {"no-getpid"}
    assert names["6.12"] - names["7.3"] == {"large-cpu-state"}
    assert names["7.3"] <= names["6.12"] <= names["6.1"]


def test_the_flag_of_an_ack_takes_no_bit_of_the_versions_own():
    for version, bit in (("5.10", "0x40000"), ("6.1", "0x40000"), ("6.12", "0x40000"), ("7.3", "0x80000")):
        defined = [
            edit.replace for edit in recipes.load(version=version).edits if "UNASKED_ECE\t" in (edit.replace or "")
        ]
        assert len(defined) == 1 and f"FLAG_UNASKED_ECE\t{bit} " in defined[0]


def test_a_version_without_an_option_does_not_ask_for_it():
    asked = {version: recipes.load(version=version).config(False).split() for version in ("5.10", "6.1", "7.3")}
    assert "CONFIG_BLOCK=y" in asked["5.10"] and "CONFIG_BLOCK=y" not in asked["6.1"]
    assert "CONFIG_DEBUG_INFO_NONE=y" not in asked["5.10"] and "CONFIG_DEBUG_INFO_NONE=y" in asked["6.1"]
    assert "CONFIG_PROC_SYSCTL=y" in asked["6.1"] and "CONFIG_PROC_SYSCTL=y" not in asked["7.3"]
    assert all("CONFIG_SYSCTL=y" in options for options in asked.values())


def test_a_pure_image_leaves_headers_of_the_network_as_well(tmp_path):
    usual, pure = recipes.load(version="5.10"), recipes.load(version="5.10", pure=True)
    assert any(edit.path == "include/net/tcp.h" for edit in usual.edits)
    tree = miniature(tmp_path / "source", usual)
    header = (tree / "include/net/tcp.h").read_text()
    pure.apply(tree, large_state=False)
    assert (tree / "include/net/tcp.h").read_text() == header


def test_the_edits_of_an_older_version_change_a_fitting_source(tmp_path):
    recipe = recipes.load(version="5.10")
    tree = miniature(tmp_path / "source", recipe)
    recipe.apply(tree, large_state=False)
    # What the version lacks is added first, and then edited as in later ones.
    randomness = (tree / "arch/um/os-Linux/util.c").read_text()
    assert "DAYBREAK_SEED" in randomness and "os_getrandom" in randomness
    assert "daybreak_failed_call();" in (tree / "arch/um/kernel/skas/syscall.c").read_text()


def test_a_pure_image_edits_nothing_of_the_network_and_has_no_retcp(tmp_path):
    usual, pure = recipes.load(), recipes.load(pure=True)
    tree = miniature(tmp_path / "source", usual)
    before = {path: path.read_bytes() for path in (tree / "net").rglob("*") if path.is_file()}
    assert before
    pure.apply(tree, large_state=False)
    assert {path: path.read_bytes() for path in (tree / "net").rglob("*") if path.is_file()} == before
    assert pure.modules == () and pure.own_digest != usual.own_digest
    assert "unasked-ece" in usual.names(False) and "unasked-ece" not in pure.names(False)


def test_options_of_a_user_come_last_and_change_the_digest(tmp_path):
    fragment = tmp_path / "mine.config"
    fragment.write_text("# a comment\nCONFIG_TUN=y\n# CONFIG_NET_SCH_RED is not set\n")
    plain, mine = recipes.load(), recipes.load(config=fragment)
    assert mine.config(False).endswith(fragment.read_text()) and mine.digest != plain.digest
    assert mine.own_digest == plain.own_digest


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("TUN=y", "line 2 is 'TUN=y': expected an option such as CONFIG_TUN=y"),
        ("CONFIG_TUN=m", "line 2 asks for a module, CONFIG_TUN=m: give =y, since all is built in"),
    ],
)
def test_a_line_that_is_no_option_is_named(tmp_path, line, why):
    fragment = tmp_path / "mine.config"
    fragment.write_text(f"CONFIG_VETH=y\n{line}\n")
    with pytest.raises(RecipeError, match=why):
        recipes.load(config=fragment)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mine.txt", "expected a C file with a name such as mine.c"),
        ("7 of mine.c", "expected a C file"),
        ("tcp_retcp.c", "the recipe has a congestion module of this name"),
        ("nowhere/mine.c", r"not readable \(No such file or directory\)"),
    ],
)
def test_a_file_that_cannot_be_a_module_is_refused_by_name(tmp_path, name, why):
    file = tmp_path / name
    if file.parent == tmp_path:
        file.write_text("")
    with pytest.raises(RecipeError, match=f"{file.name}.*: .*{why}" if "nowhere" not in name else why):
        recipes.load(congestion=[file])


def test_two_modules_of_one_name_are_refused(tmp_path):
    files = [tmp_path / folder / "mine.c" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        file.write_text("")
    with pytest.raises(RecipeError, match=r"b/mine.c: another --congestion has a congestion module of this name"):
        recipes.load(congestion=files)


def test_the_driver_and_the_guest_agree_on_which_users_are_programs():
    driver = (recipes.default_directory() / recipes.DRIVER / "pace.h").read_text()
    guest = (ROOT / "crates" / "guest" / "src" / "discover.rs").read_text()
    first = re.search(r"#define DAYBREAK_FIRST_PROGRAM (\d+)", driver)
    user = re.search(r"const FIRST_USER: u32 = ([\d_]+);", guest)
    assert first and user and int(first[1]) == int(user[1])
