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


def test_the_stub_names_everything():
    stub = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert stub == {name for name in vars(_native) if not name.startswith("_")}


def test_the_stub_has_the_words_and_arguments_of_the_module():
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            function = getattr(_native, node.name)
            assert inspect.cleandoc(function.__doc__) == ast.get_docstring(node), node.name
            arguments = [argument.arg for argument in node.args.args]
            assert list(inspect.signature(function).parameters) == arguments, node.name
        if isinstance(node, ast.ClassDef):
            assert inspect.cleandoc(getattr(_native, node.name).__doc__) == ast.get_docstring(node), node.name
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            assert {name for name in vars(getattr(_native, node.name)) if not name.startswith("__")} <= members


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
