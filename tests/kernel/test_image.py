"""Building and finding an image with a make that only pretends: cache, lock, progress, and every way to fail."""

import json
import os
import shutil
import stat
import subprocess
import threading
from pathlib import Path

import pytest
from kernel_tree import miniature

from daybreak import engines
from daybreak.engines.kernel import doctor, host, image, tools, workplace
from daybreak.engines.kernel import recipe as recipes
from daybreak.engines.kernel import source as sources
from daybreak.engines.kernel.choice import Choice
from daybreak.engines.kernel.errors import BuildError, MissingTool, NoGuest, NoImage, RecipeError
from daybreak.errors import UnknownName

PRETENDED_MAKE = """#!/bin/sh
for word in "$@"; do case "$word" in O=*) out="${word#O=}";; esac; last="$word"; done
echo "$last" >> "$PRETENDED_CALLS"
case "$last" in
  *.o)
    echo "  CC      $last"
    case " $* " in *" -j1 "*) ;; *) echo 'fixdep: error opening file: .mine.o.d'; exit 2;; esac
    if [ -n "$MODULE_ERROR" ]; then
      echo "/some/where/arch/um/drivers/daybreak/congestion/mine.c:7:2: error: $MODULE_ERROR"
      echo 'make[1]: *** [mine.o] Error 1'; exit 2
    fi;;
  allnoconfig)
    echo "include $(realpath "$out/../source")/Makefile" > "$out/Makefile"
    grep -v "$REFUSED_OPTION" "$KCONFIG_ALLCONFIG" > "$out/.config";;
  linux)
    echo '  CC      init/main.o'
    echo '  AR      init/built-in.a'
    echo '  CC      net/ipv4/tcp.o'
    cat "$out"/../source/arch/um/drivers/daybreak/congestion/Makefile >> "$PRETENDED_MODULES"
    if [ -n "$PRETENDED_ERROR" ]; then
      echo "net/ipv4/tcp.c:1:1: error: $PRETENDED_ERROR"; echo 'make[1]: *** [tcp.o] Error 1'; exit 2
    fi
    printf '#!/bin/sh\\necho "%s"\\n' "$BOOT_SAYS" > "$out/linux"; chmod +x "$out/linux";;
esac
"""
GOOD_BOOT = """congestion controls: reno cubic retcp
Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000000"""


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A cache, a miniature source directory and a PATH whose make pretends."""
    programs = tmp_path / "bin"
    programs.mkdir()
    make = programs / "make"
    make.write_text(PRETENDED_MAKE)
    make.chmod(make.stat().st_mode | stat.S_IXUSR)
    for tool in tools.NEEDED:
        if tool.header is None and tool.name != "make":
            (programs / tool.name).symlink_to(shutil.which(tool.name) or "/bin/true")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PRETENDED_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("PRETENDED_MODULES", str(tmp_path / "modules"))
    monkeypatch.setenv("REFUSED_OPTION", "^NOTHING")
    monkeypatch.setenv("BOOT_SAYS", GOOD_BOOT)
    monkeypatch.setattr(tools, "missing", lambda: [])
    monkeypatch.setattr(host, "is_supported", lambda: True)
    monkeypatch.setattr(host, "probe_tracing", lambda: host.TraceProbe(2432, None))
    return miniature(tmp_path / "source", recipes.load())


def calls() -> list[str]:
    path = Path(os.environ["PRETENDED_CALLS"])
    return path.read_text().split() if path.exists() else []


def left_behind() -> list[str]:
    return sorted(path.name for path in image.cache_directory().iterdir() if not path.name.endswith(".lock"))


def test_build_makes_an_image_that_find_returns_and_a_second_build_takes(workshop):
    seen = []
    built = image.build(workshop, seen.append)
    assert built.program.is_file() and built.objects == 2 and built.large_cpu_state is False
    assert [step.stage for step in seen] == [
        "unpacking",
        "compiling",
        "compiling",
        "compiling",
        "checking",
        "keeping the objects",
    ]
    assert [step.done for step in seen if step.stage == "compiling"] == [0, 1, 2]
    assert image.find() == built
    assert image.build(workshop) == built
    assert calls() == ["allnoconfig", "linux"]
    assert left_behind() == [built.directory.name]


@pytest.fixture
def mine(tmp_path):
    """A congestion control of a user's."""
    file = tmp_path / "mine.c"
    file.write_text('static struct tcp_congestion_ops mine = { .name = "mine" };')
    return file


def boots_with(monkeypatch, *lines: str) -> None:
    monkeypatch.setenv("BOOT_SAYS", "\n".join([*lines, GOOD_BOOT.splitlines()[-1]]))


def test_an_image_says_which_congestion_controls_it_has(workshop):
    assert image.build(workshop).variants == ("cubic", "reno", "retcp")
    assert "obj-y += tcp_retcp.o" in Path(os.environ["PRETENDED_MODULES"]).read_text()


def test_a_users_congestion_control_makes_an_image_of_its_own(workshop, mine, monkeypatch):
    plain = image.build(workshop)
    with pytest.raises(NoImage, match=r"has the congestion controls mine; .*--congestion FILE"):
        image.find(variants={"mine"})
    boots_with(monkeypatch, "congestion controls: reno cubic retcp mine")
    with_mine = image.build(workshop, congestion=[mine])
    assert with_mine.directory != plain.directory
    assert with_mine.users_modules == ("mine",) and "mine" in with_mine.variants
    assert "obj-y += mine.o" in Path(os.environ["PRETENDED_MODULES"]).read_text()
    assert image.find() == plain
    assert image.find(variants={"mine", "cubic"}) == with_mine
    assert image.build(workshop, congestion=[mine]) == with_mine
    # It is compiled and linked with the objects of the image without it.
    assert calls() == ["allnoconfig", "linux", "prepare", "arch/um/drivers/daybreak/congestion/mine.o", "linux"]
    # Another content is another image; the newer one is taken.
    mine.write_text(mine.read_text() + "\n")
    newer = image.build(workshop, congestion=[mine])
    assert newer.directory != with_mine.directory
    assert image.find(variants={"mine"}) == newer


def test_objects_of_a_cache_that_was_moved_are_not_linked_with(workshop, mine, monkeypatch, tmp_path):
    image.build(workshop)
    Path(os.environ["PRETENDED_CALLS"]).unlink()
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    boots_with(monkeypatch, "congestion controls: reno cubic retcp mine")
    assert image.build(workshop, congestion=[mine]).users_modules == ("mine",)
    assert calls()[0] == "allnoconfig", "the whole is compiled, from its source"
    # A cache behind a symbolic link has been in one place all along.
    Path(os.environ["PRETENDED_CALLS"]).unlink()
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    image.build(workshop, hz=250)
    image.build(workshop, hz=250, congestion=[mine])
    assert calls().count("allnoconfig") == 1


def test_other_ticks_make_an_image_of_their_own(workshop, one_flow):
    usual = image.build(workshop)
    with pytest.raises(
        NoImage, match=r"no kernel image of Linux 6.1 has 250 ticks a second; .*daybreak kernel build --hz 250"
    ):
        engines.check(engines.lowered(one_flow.with_({"stack.hz": 250}), 1, "kernel"), "kernel")
    before = engines.program("kernel")
    other = image.build(workshop, hz=250)
    assert (usual.hz, other.hz) == (1000, 250) and other.directory != usual.directory
    assert image.find() == usual and image.find(hz=250) == other
    assert image.build(workshop, hz=250) == other
    # Each plan's program is the image that it runs on, whichever others there are.
    usual_plan, other_plan = (
        engines.lowered(one_flow.with_({"stack.hz": hz}), 1, "kernel") for hz in (usual.hz, other.hz)
    )
    assert engines.program("kernel") == engines.program("kernel", usual_plan) == before
    assert f" (250 ticks), image {other.digest[:8]}, " in engines.program("kernel", other_plan)
    assert engines.program("kernel:@250") == engines.program("kernel", other_plan)
    found = {finding.name: finding.detail for finding in doctor.doctor(workshop).findings}
    assert "with 250 ticks in" in found["kernel image"] and "with 1000 ticks in" in found["kernel image"]


def test_an_image_that_does_not_say_its_ticks_has_the_usual_ones(workshop):
    built = image.build(workshop)
    description = built.directory / "image.json"
    said = json.loads(description.read_text())
    del said["hz"]
    description.write_text(json.dumps(said))
    assert image.find() == built


def test_a_scenario_may_name_it_on_the_kernel_engine_only(workshop, mine, monkeypatch, one_flow):
    scenario = one_flow.with_({"flows.0.variant": "mine"})
    with pytest.raises(UnknownName, match=r'variant = "mine": there is no such variant'):
        engines.lowered(scenario, 1, "kernel")
    boots_with(monkeypatch, "congestion controls: reno cubic retcp mine")
    image.build(workshop, congestion=[mine])
    assert engines.lowered(scenario, 1, "kernel").content.rules[0].name == "mine"
    with pytest.raises(UnknownName, match=r'variant = "mine": there is no such variant; known are reno, cubic'):
        engines.run(scenario, "simulated")


def test_an_image_with_users_modules_identifies_the_engine_where_it_runs(workshop, mine, monkeypatch, one_flow):
    image.build(workshop)
    before = engines.program("kernel", engines.lowered(one_flow, 1, "kernel"))
    boots_with(monkeypatch, "congestion controls: reno cubic retcp mine")
    with_mine = image.build(workshop, congestion=[mine])
    assert engines.program("kernel", engines.lowered(one_flow, 1, "kernel")) == engines.program("kernel") == before
    plan = engines.lowered(one_flow.with_({"flows.0.variant": "mine"}), 1, "kernel")
    assert f" (modules of a user: mine), image {with_mine.digest[:8]}, " in engines.program("kernel", plan)


def test_a_module_that_does_not_compile_is_reported_by_the_compilers_first_error(workshop, mine, monkeypatch):
    monkeypatch.setenv("MODULE_ERROR", "expected ';' before '}' token")
    with pytest.raises(
        BuildError, match=r"failed: mine.c:7:2: error: expected ';' before '}' token; the whole output is in"
    ):
        image.build(workshop, congestion=[mine])
    assert image.images() == []
    assert "linux" not in calls(), "it is compiled before the kernel"
    # The image without it is not there yet, and comes first: with nothing of the module.
    monkeypatch.delenv("MODULE_ERROR")
    boots_with(monkeypatch, "congestion controls: reno cubic retcp mine")
    image.build(workshop, congestion=[mine])
    assert [found.users_modules for found in image.in_order()] == [(), ("mine",)]
    assert Path(os.environ["PRETENDED_MODULES"]).read_text().splitlines() == [
        "obj-y += tcp_retcp.o", "obj-y += tcp_retcp.o", "obj-y += mine.o",
    ]  # fmt: skip


def test_a_module_whose_name_the_kernel_has_is_refused(workshop, mine, monkeypatch):
    image.build(workshop)
    mine.write_text('.name = "cubic"')
    boots_with(monkeypatch, "TCP: cubic already registered or non-unique key", "congestion controls: reno cubic retcp")
    with pytest.raises(BuildError, match=r'^mine.c: the kernel has a congestion control called "cubic" already; give'):
        image.build(workshop, congestion=[mine])
    assert [found.users_modules for found in image.images()] == [()]


def test_a_module_that_registers_nothing_is_refused(workshop, mine):
    with pytest.raises(BuildError, match=r"^mine.c: registers no congestion control"):
        image.build(workshop, congestion=[mine])


def test_a_kernel_that_does_not_say_what_it_has_is_no_image(workshop, monkeypatch):
    boots_with(monkeypatch)
    with pytest.raises(BuildError, match="does not say which congestion controls it has"):
        image.build(workshop)


def test_users_source_is_not_touched(workshop):
    before = (workshop / "arch/um/Kconfig").read_text()
    image.build(workshop)
    assert (workshop / "arch/um/Kconfig").read_text() == before
    assert not (workshop / "net/ipv4/daybreak").exists()


def test_a_change_of_the_source_makes_a_new_image(workshop):
    first = image.build(workshop)
    (workshop / "net/ipv4/Makefile").write_text("obj-y := tcp.o more.o\n")
    assert image.build(workshop).directory != first.directory


def test_compiler_error_is_quoted_and_leaves_only_the_log(workshop, monkeypatch):
    monkeypatch.setenv("PRETENDED_ERROR", "unknown type name 'u128'")
    with pytest.raises(BuildError, match=r"net/ipv4/tcp.c:1:1: error: unknown type name 'u128'") as caught:
        image.build(workshop)
    assert caught.value.log is not None and "CC      init/main.o" in Path(caught.value.log).read_text()
    assert left_behind() == [Path(caught.value.log).name]
    with pytest.raises(NoImage, match="daybreak kernel build"):
        image.find()


def test_option_that_the_source_does_not_take_is_named(workshop, monkeypatch):
    monkeypatch.setenv("REFUSED_OPTION", "TCP_CONG_BBR")
    with pytest.raises(BuildError, match=r"Linux 6\.1\.7 does not take CONFIG_TCP_CONG_BBR"):
        image.build(workshop)
    assert "linux" not in calls()


def test_kernel_that_does_not_boot_is_not_an_image(workshop, monkeypatch):
    monkeypatch.setenv("BOOT_SAYS", "put_fp_registers failed, errno = 5")
    with pytest.raises(BuildError, match="does not boot here: put_fp_registers failed, errno = 5"):
        image.build(workshop)
    assert image.images() == []


def test_leftovers_of_a_killed_build_are_swept(workshop):
    name = image.key(recipes.load(), sources.locate(workshop, recipes.load()), False)
    stale = image.cache_directory() / f".{name}.building" / "objects"
    stale.mkdir(parents=True)
    (stale / "linux").write_text("half")
    built = image.build(workshop)
    assert left_behind() == [built.directory.name]


def test_two_builds_at_once_compile_once(workshop):
    results = []
    threads = [threading.Thread(target=lambda: results.append(image.build(workshop))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2 and results[0] == results[1]
    assert calls() == ["allnoconfig", "linux"]


def test_large_cpu_state_gets_an_image_of_its_own_and_plain_does_not_serve_it(workshop, monkeypatch):
    plain = image.build(workshop)
    monkeypatch.setattr(host, "probe_tracing", lambda: host.TraceProbe(11008, None))
    with pytest.raises(NoImage):
        image.find()
    large = image.build(workshop)
    assert large.large_cpu_state and large.directory != plain.directory
    assert "CONFIG_KERNEL_STACK_ORDER=4" in (large.directory / "config").read_text()


def test_every_missing_tool_is_named_with_its_package(workshop, monkeypatch):
    lacking = [tool for tool in tools.NEEDED if tool.name in ("flex", "bc")]
    monkeypatch.setattr(tools, "missing", lambda: lacking)
    with pytest.raises(MissingTool, match=r"flex is missing \(.*install flex\); bc is missing \(.*install bc\)"):
        image.build(workshop)


def test_refused_ptrace_is_said_before_anything_is_built(workshop, monkeypatch):
    monkeypatch.setattr(host, "probe_tracing", lambda: host.TraceProbe(None, "ptrace is refused"))
    with pytest.raises(MissingTool, match="ptrace is refused"):
        image.build(workshop)
    assert calls() == []


def test_an_empty_path_misses_every_program(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {tool.name for tool in tools.missing()} == {tool.name for tool in tools.NEEDED if tool.header is None}


def test_source_that_does_not_exist_is_named():
    with pytest.raises(MissingTool, match=r"'/nowhere/linux' does not exist$"):
        sources.locate("/nowhere/linux", recipes.load())


def test_directory_that_is_no_kernel_source_is_refused(tmp_path):
    with pytest.raises(MissingTool, match="not a kernel source"):
        sources.locate(tmp_path, recipes.load())


def test_source_built_in_place_is_refused(workshop):
    (workshop / ".config").write_text("")
    with pytest.raises(MissingTool, match="mrproper"):
        sources.locate(workshop, recipes.load())


def test_directory_version_and_tarball_version(workshop, tmp_path):
    assert sources.locate(workshop, recipes.load()).version == "6.1.7"
    tarball = tmp_path / "linux-source-6.12.tar"
    subprocess.run(["tar", "-c", "-f", tarball, "-C", workshop.parent, workshop.name], check=True)
    assert sources.locate(tarball, recipes.load()).version == "6.12"


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        (["6.1.tar.xz"], "6.1.tar.xz"),
        (["6.12.tar.xz", "6.1.tar.xz", "5.10.tar.xz"], "6.1.tar.xz"),
        # Part of a version is not the version.
        (["6.10.tar.xz", "6.11.tar.bz2", "6.1.0.tar.bz2"], "6.1.0.tar.bz2"),
        (["6.1.9.tar.xz", "6.1.55.tar.gz", "6.1.tar.xz"], "6.1.55.tar.gz"),
        # What is no whole source of this version: a variant, a signature, half of a download, a folder.
        (["6.1.tar.xz", "6.1-rt.tar.xz", "6.1.99.tar.xz.asc", "6.1.99.tar.xz.part", "6.1.99.tar.d/"], "6.1.tar.xz"),
        (["latest.tar.xz", "6.1.tar.xz", "99999999999.tar.xz"], "6.1.tar.xz"),
    ],
)
def test_the_newest_tested_source_is_built_and_the_doctor_names_it(there, taken, workshop, monkeypatch, tmp_path):
    home = _sources(there, monkeypatch, tmp_path)
    monkeypatch.setattr(image, "Making", _Made)
    version = taken.split(".tar")[0]
    assert image.build().source_version == version
    finding = {finding.name: finding for finding in doctor.doctor().findings}["kernel source"]
    assert (finding.status, finding.detail) == ("ok", f"Linux {version} in {home / f'linux-source-{taken}'}")


@pytest.mark.parametrize(
    ("there", "named"),
    [
        (["6.13.tar.xz", "4.19.tar.xz"], "linux-source-4.19.tar.xz, linux-source-6.13.tar.xz"),
        (["6.1-rt.tar.xz", "6.10.tar.xz"], "linux-source-6.1-rt.tar.xz, linux-source-6.10.tar.xz"),
    ],
)
def test_untested_sources_alone_are_named_with_what_is_tested_and_how_to_get_it(
    there, named, workshop, monkeypatch, tmp_path
):
    home = _sources(there, monkeypatch, tmp_path)
    with pytest.raises(MissingTool) as caught:
        image.build()
    assert str(caught.value) == (
        f"{home} has {named} and none of Linux 6.1; on Debian or Ubuntu: apt-get install linux-source-6.1, "
        "or name another version with --linux or a file with --source"
    )
    finding = {finding.name: finding for finding in doctor.doctor().findings}["kernel source"]
    assert (finding.status, finding.detail) == ("missing", str(caught.value))
    # One that is asked for by its name is tried.
    other = {finding.name: finding for finding in doctor.doctor(home / f"linux-source-{there[0]}").findings}
    assert other["kernel source"].status == ("warning" if "-rt" not in there[0] else other["kernel source"].status)


def _sources(names, monkeypatch, tmp_path):
    """A /usr/src with such tarballs of the distribution's; a name with / at its end is a folder."""
    home = tmp_path / "src"
    home.mkdir()
    for name in names:
        path = home / f"linux-source-{name}"
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_bytes(name.encode())
    monkeypatch.setattr(sources, "PACKAGE_DIRECTORY", home)
    return home


class _Made:
    """Leaves an image of the source's version without building one."""

    def __init__(self, recipe, source, large_cpu_state, target, report, jobs, base, trial):
        self.facts = {
            "recipe_digest": recipe.digest,
            "source_version": source.version,
            "large_cpu_state": large_cpu_state,
            "objects": 1,
            "build_s": 0.0,
            "congestion_modules": [],
            "own_digest": recipe.own_digest,
        }
        self.target = target

    def run(self):
        self.target.mkdir()
        (self.target / "image.json").write_text(json.dumps(self.facts))


def test_versions_stand_side_by_side_and_are_found_by_name(workshop, monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "PACKAGE_DIRECTORY", tmp_path / "none")
    usual = image.build(workshop)
    with pytest.raises(NoImage) as caught:
        image.find(Choice.parse("6.12@250"))
    assert str(caught.value) == (
        "there is no kernel image of Linux 6.12 for this recipe and machine; make one with: apt-get install "
        "linux-source-6.12 (Debian, Ubuntu) and daybreak kernel build --linux 6.12 --hz 250; there are images of Linux "
        "6.1.7 (--kernel)"
    )
    (workshop / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n")
    process = workshop / "arch/um/kernel/process.c"
    process.write_text("another text\n")
    newer = image.build(workshop)
    assert newer.source_version == "6.12.117" and "no-getpid" not in newer.edits and "no-getpid" in usual.edits
    assert image.find() == usual
    assert image.find(Choice.parse("6.12")) == image.find(Choice.parse(newer.digest[:7])) == newer
    assert [found.source_version for found in image.in_order()] == ["6.12.117", "6.1.7"]
    assert engines.program("kernel:6.12").startswith(f"Linux 6.12.117, image {newer.digest[:8]}, guest ")
    with pytest.raises(NoImage, match=r"no kernel image of Linux 6.12 has 250 ticks .*--linux 6.12 --hz 250$"):
        image.find(Choice.parse("6.12@250"))
    # 6.1 is not the beginning of 6.12.
    assert image.remove(Choice.parse("6.1")) == usual
    assert image.images() == [newer]
    with pytest.raises(NoImage, match=r"Linux 6\.1 .*there are images of Linux 6\.12\.117"):
        image.find()


def test_the_ticks_of_a_choice_are_those_of_all_stacks(workshop, one_flow):
    image.build(workshop, hz=250)
    plan = engines.lowered(one_flow, 1, "kernel:6.1@250")
    assert {stack.hz for stack in plan.content.stacks} == {250}
    assert {stack.hz for stack in engines.lowered(one_flow, 1, "kernel:6.1").content.stacks} == {1000}


@pytest.mark.parametrize(
    ("engine", "why"),
    [
        ("kernel:6,12", r'kernel = "6,12": expected a version such as 6.12, one with its ticks'),
        ("kernel:6.12@77", r'kernel = "6.12@77": 77 ticks a second: expected one of 100, 250, 300, 1000'),
        ("kernel:", r'kernel = "": expected a version'),
        ("simulated:6.1", r'engine = "simulated:6.1": there is one simulated engine'),
        ("colonel:6.1", r'engine = "colonel": there is no such engine'),
    ],
)
def test_a_kernel_that_cannot_be_meant_is_refused_by_name(engine, why):
    with pytest.raises(UnknownName, match=why):
        engines.single.find(engine)


def test_a_pure_image_is_taken_only_where_there_is_no_other(workshop):
    pure = image.build(workshop, pure=True)
    assert pure.pure and image.find() == pure and "nothing under net/ edited" in engines.program("kernel")
    usual = image.build(workshop)
    assert image.find() == usual and image.find(Choice.parse(pure.digest)) == pure


def test_several_images_are_not_removed_at_once(workshop):
    both = image.build(workshop), image.build(workshop, hz=250)
    with pytest.raises(
        NoImage, match=r"several kernel images fit: .*Linux 6.1.7, 1000 ticks.*; name one by its digest"
    ):
        image.remove(Choice.parse("6.1"))
    assert image.remove(Choice.parse("6.1@250")) == both[1]
    with pytest.raises(NoImage, match="no kernel image is of that version"):
        image.remove(Choice.parse("6.1@250"))
    assert left_behind() == [both[0].directory.name]


def test_a_source_that_an_edit_does_not_fit_is_refused_by_edit_and_file(workshop):
    (workshop / "arch/um/kernel/time.c").write_text("another text\n")
    with pytest.raises(
        RecipeError, match=r"^arch/um/kernel/time.c: edit 'timers-on-time' expected .* found it 0 times"
    ):
        image.build(workshop)
    (workshop / "arch/um/kernel/time.c").unlink()
    with pytest.raises(RecipeError, match=r"^arch/um/kernel/time.c: edit 'timers-on-time' finds no such file"):
        image.build(workshop)
    assert left_behind() == []


def test_an_interrupted_build_leaves_nothing(workshop, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        image.build(workshop, lambda now: interrupt(now) if now.done else None)
    assert list(image.cache_directory().iterdir()) == []


def test_a_second_interrupt_leaves_nothing_either(workshop, monkeypatch):
    remove, interrupts = shutil.rmtree, [True]

    def interrupted(path, **options):
        if Path(path, "objects").exists() and interrupts:
            interrupts.pop()
            raise KeyboardInterrupt
        remove(path, **options)

    def interrupt(now):
        if now.done:
            raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        image.build(workshop, interrupt)
    assert interrupts == []
    assert list(image.cache_directory().iterdir()) == []


def test_a_tarball_of_another_version_inside_is_refused(workshop, tmp_path):
    tarball = tmp_path / "linux-6.12.tar"
    subprocess.run(["tar", "-c", "-f", tarball, "-C", workshop.parent, workshop.name], check=True)
    with pytest.raises(BuildError, match=r"linux-6.12.tar' is Linux 6.1.7 inside: expected 6.12"):
        image.build(tarball)
    named_otherwise = tarball.rename(tmp_path / "mine.tar")
    assert sources.locate(named_otherwise, recipes.load()).version == "6.1.7"


def test_unpack_leaves_out_what_is_never_compiled(workshop, tmp_path):
    skipped = ["drivers/gpu/drm/big.c", "arch/arm/kernel/a.c"]
    kept = ["drivers/gpu/Kconfig", "arch/arm/Kconfig", "arch/Kconfig"]
    for name in skipped + kept:
        (workshop / name).parent.mkdir(parents=True, exist_ok=True)
        (workshop / name).write_text("x")
    tarball = tmp_path / "linux-source-6.1.tar"
    subprocess.run(["tar", "-c", "-f", tarball, "-C", workshop.parent, workshop.name], check=True)
    for number, origin in enumerate((workshop, tarball)):
        target = tmp_path / f"copy{number}"
        target.mkdir()
        sources.unpack(sources.locate(origin, recipes.load()), recipes.load(), target)
        assert [name for name in skipped if (target / name).exists()] == []
        assert [name for name in [*kept, "arch/um/Kconfig", "Makefile"] if not (target / name).is_file()] == []


def test_doctor_says_what_is_missing_and_how_to_get_it(workshop, monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "PACKAGE_DIRECTORY", tmp_path / "none")
    found = {finding.name: finding for finding in doctor.doctor().findings}
    assert found["kernel source"].status == "missing"
    assert "apt-get install linux-source" in found["kernel source"].remedy
    assert found["kernel image"].status == "missing"
    assert found["kernel image"].remedy == "daybreak kernel build"
    assert not doctor.doctor().can_run and not doctor.doctor().can_build
    image.build(workshop)
    diagnosis = doctor.doctor(workshop)
    assert {finding.name: finding.status for finding in diagnosis.findings}["kernel image"] == "ok"
    assert diagnosis.can_build

    def none() -> Path:
        raise NoGuest("the guest's program is not built; make them with: cargo build")

    monkeypatch.setattr(workplace, "guest_program", none)
    diagnosis = doctor.doctor(workshop)
    assert {finding.name: finding.remedy for finding in diagnosis.findings}["guest program"] == "cargo build"
    assert diagnosis.can_build and not diagnosis.can_run


@pytest.mark.skipif(not host.is_supported(), reason="the kernel engine is for Linux on x86-64")
def test_probe_of_this_machine_gives_a_size_or_a_reason():
    probe = host.probe_tracing()
    assert (probe.state_bytes is None) == (probe.refusal is not None)
    if probe.state_bytes is not None:
        assert 512 <= probe.state_bytes <= 1 << 16
