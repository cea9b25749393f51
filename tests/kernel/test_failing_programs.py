"""What is left and said of programs that fail: their output, their exit codes, and why."""

import pytest
from cli.program import daybreak as command
from cli.program import one_sentence
from kernel.test_programs import PYTHON, failure, python, run, scenario
from real_kernel import LACKING

from daybreak.engines.kernel.programs import _folders
from daybreak.errors import ProgramFailed
from daybreak.runs import storage

if LACKING:
    pytest.skip(f"the kernel engine's programs are left out: {LACKING}", allow_module_level=True)

FAILS = {"client": ["/bin/sh", "-c", "echo said; echo kept > file; sleep 1; exit 3"]}
ENDS = {"client": ["/bin/sh", "-c", "echo done"], "server": ["/bin/sh", "-c", "echo ready; sleep 100"]}


def test_what_all_programs_wrote_is_kept_of_a_failed_run():
    with pytest.raises(ProgramFailed) as caught:
        run(scenario(FAILS, ENDS), seed=7)
    assert caught.value.seed == 7
    assert caught.value.files == {
        "programs/a-client/stdout": b"said\n", "programs/a-client/stderr": b"",
        "programs/a-client/files/file": b"kept\n", "programs/a-client/ending": b"exit code 3\n",
        "programs/b-client/stdout": b"done\n", "programs/b-client/stderr": b"",
        "programs/b-client/ending": b"exit code 0\n",
        "programs/b-server/stdout": b"ready\n", "programs/b-server/stderr": b"",
    }  # fmt: skip


def test_the_folder_of_a_failed_run_has_its_output_and_takes_the_next_run(tmp_path):
    place = tmp_path / "scenario.toml"
    out = tmp_path / "out"
    for code, text in ((3, scenario(FAILS).to_toml()), (4, scenario(FAILS).to_toml().replace("exit 3", "exit 4"))):
        place.write_text(text)
        done = command("run", place, "--engine", "kernel", "-o", out)
        assert done.returncode == 1 and one_sentence(done.stderr), done.stderr
        assert done.stderr.rstrip().endswith(f" s: said; what the programs wrote is in {out / 'programs'}")
        assert (out / "programs" / "a-client" / "ending").read_text() == f"exit code {code}\n"
        assert storage.held(out) is None
    place.write_text(scenario(ENDS).to_toml())
    assert command("run", place, "--engine", "kernel", "-o", out).returncode == 0
    assert storage.held(out) is not None
    assert sorted(path.name for path in (out / "programs").iterdir()) == ["a-client", "a-server"]
    # Another run that is there stays, whatever may be replaced.
    place.write_text(scenario(FAILS).to_toml())
    done = command("run", place, "--engine", "kernel", "-o", out, "--force")
    assert done.stderr.rstrip().endswith("; what the programs wrote is kept if -o names a new folder")
    assert storage.held(out) is not None


def test_each_flow_has_a_folder_of_its_own_with_a_name_like_its_own():
    assert _folders(["web", "a b", "a-b", "a/b", "ü x", "flow-0", "..", "-"]) == [
        "web", "a-b-2", "a-b", "a-b-3", "ü-x", "flow-0", "flow", "flow-2",
    ]  # fmt: skip
    assert [len(name.encode()) < 240 for name in _folders(["ü" * 300, "ü" * 301])] == [True, True]
    assert len(set(_folders(["x" * 300, "x" * 301, "x" * 50]))) == 3
    says = [{"client": ["/bin/echo", name], "name": name} for name in ("ü x", "ü-x")]
    files = run(scenario(*says)).files
    assert files["programs/ü-x-2-client/stdout"] == "ü x\n".encode()
    assert files["programs/ü-x-client/stdout"] == "ü-x\n".encode()


def test_a_long_command_is_cut_in_an_error():
    sentence = failure({"client": ["/bin/sh", "-c", f"exit 3 # {'x' * 5_000}"]})
    assert 'flow "a" (/bin/sh -c exit 3 # xxx' in sentence and "xxx...) ended with exit code 3" in sentence
    assert len(sentence) < 250


def test_a_program_that_is_not_there_is_cut_too():
    sentence = failure({"client": ["x" * 5_000]})
    assert 'client.run: there is no program "xxx' in sentence and "xxx... on this machine" in sentence
    assert len(sentence) < 250


def test_a_program_whose_output_is_gone_has_run():
    sentence = failure({"client": ["/bin/mv", "/tmp/home", "/tmp/away"]})
    assert "(/bin/mv /tmp/home /tmp/away) ran, and what it wrote could not be kept: No such file" in sentence


def test_a_guest_without_memory_is_named():
    sentence = failure({"client": python("x = [bytes([1]) * 2**20 for _ in range(1 << 14)]")})
    assert "was ended by signal 9 at " in sentence
    assert "(the guest ran out of memory, of which it has 1" in sentence


def test_a_program_is_looked_for_where_it_was_found_before_the_run():
    elsewhere = {"run": ["sh", "-c", "echo $0 $PATH"], "environment": {"PATH": "/nowhere"}}
    assert run(scenario({"client": elsewhere})).files["programs/a-client/stdout"] == b"sh /nowhere\n"


def test_the_guest_has_as_much_memory_each_time():
    looks = {"client": [PYTHON, "-c", "print(open('/proc/meminfo').readline())"]}
    assert len({run(scenario(looks)).files["programs/a-client/stdout"] for _ in range(3)}) == 1


def test_a_client_that_has_not_ended_is_named_once(tmp_path):
    place = tmp_path / "scenario.toml"
    place.write_text(scenario({"client": ["/bin/sleep", "100"]}, ENDS, duration="3 s").to_toml())
    expected = 'warning: the client of flow "a" had not ended when the run ended, at 3 s\n'
    # The second one finds both runs.
    for _ in range(2):
        done = command("run", place, "--engine", "kernel", "--runs", 2, "-o", tmp_path / "out")
        assert done.returncode == 0
        assert done.stderr.count("warning: ") == 1 and expected in done.stderr
