"""The native module is what its stub says."""

import ast
import inspect
import signal
import subprocess
import sys
import time

from ready_files import ROOT

from daybreak import _native

STUB = ast.parse((ROOT / "python" / "daybreak" / "_native.pyi").read_text())


def test_the_stub_has_every_name_and_signature_of_the_module_and_no_other():
    command = [sys.executable, "-m", "mypy.stubtest", "daybreak._native"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_stub_has_the_words_of_the_module():
    def compare(nodes, found):
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name != "__new__":
                runtime = getattr(found, node.name)
                assert inspect.cleandoc(runtime.__doc__) == ast.get_docstring(node), node.name
                compare(node.body if isinstance(node, ast.ClassDef) else (), runtime)

    compare(STUB.body, _native)
    assert inspect.cleandoc(_native.__doc__) == ast.get_docstring(STUB)


def test_ctrl_c_ends_a_run_in_the_main_thread():
    program = (
        "import daybreak; from ready_files import SCENARIO_FILES\n"
        "endless = daybreak.load(SCENARIO_FILES[0]).with_({'flows.0.size': 'unlimited', 'duration': '3000 s'})\n"
        "daybreak.run(endless, progress=lambda now: print('.', flush=True))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT / "tests"
    )
    assert process.stdout.readline() == ".\n"
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert time.monotonic() - sent < 10
