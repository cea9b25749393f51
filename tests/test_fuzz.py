"""Random scenarios end in a result or in one sentence."""

import subprocess
import sys

from ready_files import ROOT


def test_fuzzed_scenarios_end_in_a_result_or_one_sentence():
    """200 of them; `tools/fuzz-scenarios.py --count 10000` is the long run."""
    command = [sys.executable, ROOT / "tools" / "fuzz-scenarios.py", "--count", "200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    words, _ = done.stdout.splitlines()
    assert {part.split(maxsplit=1)[1] for part in words.split(", ")} == {
        "refused by the loader", "refused by the plan", "run for a while", "run to its end",
    }  # fmt: skip
