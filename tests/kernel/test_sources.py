"""Which source a version names, how to get it, and what an image says of a user's options."""

import subprocess
from pathlib import Path

import pytest
from cli.program import daybreak as command
from cli.program import one_sentence
from kernel_tree import miniature

from daybreak.engines.kernel import image
from daybreak.engines.kernel import recipe as recipes
from daybreak.engines.kernel import source as sources
from daybreak.engines.kernel.choice import Choice
from daybreak.engines.kernel.errors import MissingTool, NoImage
from daybreak.errors import UsageError


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A /usr/src with a source of Linux 6.1.7 that is named after its series."""
    tree = miniature(tmp_path / "linux", recipes.load())
    home = tmp_path / "src"
    home.mkdir()
    subprocess.run(["tar", "-c", "-f", home / "linux-source-6.1.tar", "-C", tmp_path, tree.name], check=True)
    monkeypatch.setattr(sources, "PACKAGE_DIRECTORY", home)
    return home


def test_a_full_version_is_that_of_the_source_in_the_tarball(home):
    tarball = home / "linux-source-6.1.tar"
    assert sources.locate(None, recipes.load(), "6.1.7").path == sources.locate(None, recipes.load()).path == tarball
    with pytest.raises(MissingTool) as caught:
        sources.locate(None, recipes.load(), "6.1.8")
    assert str(caught.value) == (
        f"{tarball} is Linux 6.1.7, not 6.1.8: take it with --linux 6.1, or name another file with --source"
    )


def test_the_package_of_a_version_is_that_of_its_series(home, monkeypatch, tmp_path):
    with pytest.raises(MissingTool, match=r"none of Linux 6\.12\.117; .*: apt-get install linux-source-6\.12, or name"):
        sources.locate(None, recipes.load(), "6.12.117")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(
        NoImage, match=r"apt-get install linux-source-6\.12 \(Debian, Ubuntu\) and daybreak kernel build"
    ):
        image.find(Choice.parse("6.12.1"))
    with pytest.raises(NoImage, match=r"make one with: daybreak kernel build --linux 6\.1\.7$"):
        image.find(Choice.parse("6.1.7"))


def test_without_a_name_it_is_the_usual_version_or_else_the_newest_tested_one_that_is_there(home):
    plan = recipes.load()
    for name in ("linux-source-6.99.tar", "linux-source-7.3.tar", "linux-source-6.12.tar"):
        (home / name).write_bytes((home / "linux-source-6.1.tar").read_bytes())
    assert sources.locate(None, plan).path.name == "linux-source-6.1.tar"
    (home / "linux-source-6.1.tar").unlink()
    assert sources.locate(None, plan).path.name == "linux-source-7.3.tar"
    (home / "linux-source-7.3.tar").unlink()
    assert sources.locate(None, plan).path.name == "linux-source-6.12.tar"
    (home / "linux-source-6.12.tar").unlink()
    with pytest.raises(MissingTool, match=r"linux-source-6\.99\.tar and none of Linux 6\.1;"):
        sources.locate(None, plan)


def test_an_empty_version_is_refused_and_a_missing_source_needs_no_package(home):
    with pytest.raises(UsageError, match="linux: '' is not a version"):
        sources.locate(None, recipes.load(), "")
    done = command("kernel", "build", "--source", "/nope")
    assert done.returncode == 1 and one_sentence(done.stderr)
    assert "apt-get" not in done.stderr


def test_comments_of_a_users_options_are_no_options():
    text = "# why\n\nCONFIG_IPV6=y\n  # CONFIG_TUN is not set\n#CONFIG_BPF=y, perhaps\n"
    described = image.Image(
        Path("/x"), "", "6.1.7", large_cpu_state=False, objects=1, build_s=0.0, congestion_modules=(), users_config=text
    )
    assert described.facts()["options"] == ["CONFIG_IPV6=y", "# CONFIG_TUN is not set"]
