"""The Python types of a plan are those of the engine."""

import importlib.util
import subprocess
import sys

import msgspec
import pytest
from ready_files import ROOT, SCENARIO_FILES

from daybreak import _native
from daybreak.plan import types
from daybreak.scenario import load
from daybreak.scenario.lowering import lower

TOOL = ROOT / "tools" / "plan-types.py"


def test_the_types_are_what_the_tool_writes():
    spec = importlib.util.spec_from_file_location("plan_types", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.TYPES.read_text() == tool.generate(tool.native_schema()), "run tools/plan-types.py"


def test_the_types_need_nothing_of_the_package():
    code = "import sys; import types_of_plan; assert not any(name.startswith('daybreak') for name in sys.modules)"
    module = ROOT / "python" / "daybreak" / "plan" / "types.py"
    loader = f"import importlib.util as u, sys; s = u.spec_from_file_location('types_of_plan', {str(module)!r}); "
    loader += "m = u.module_from_spec(s); sys.modules['types_of_plan'] = m; s.loader.exec_module(m); "
    subprocess.run([sys.executable, "-c", loader + code], check=True, cwd=ROOT / "tests")


@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_a_plan_is_read_back_as_it_was_written(path):
    plan = lower(load(path), 1)
    assert msgspec.json.decode(plan.json, type=types.Plan) == plan.content


def test_a_field_that_is_unknown_is_an_error(one_flow):
    text = lower(one_flow, 1).json.replace(b'"delay_ps"', b'"delays_ps"', 1)
    with pytest.raises(msgspec.ValidationError, match=r"missing required field|unknown field"):
        msgspec.json.decode(text, type=types.Plan)
    with pytest.raises(Exception, match="unknown field `delays_ps`"):
        _native.check_plan(text)
