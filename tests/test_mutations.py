"""The mutation operators can make the mistakes that have lived through tests, and none that no test can see."""

import pytest
from mutations import OURS, mutations

ROTOR = """
class Rotor:
    def days(self, racks):
        if self.day + self.night < self.slot:
            return racks
        return racks * self.slot // self.switches
"""


def mutants(source):
    """What becomes of a source, with the kind of each mutation."""
    module, found = mutations(source)
    return {(one.kind, module.deep_replace(one.old, one.new).code) for one in found}


@pytest.mark.parametrize(("source", "old", "new"), [
    (ROTOR, "racks * self.slot", "racks * self.day"),
    ("def mean(first, rest):\n    return first * 2 + rest\n", "first * 2 + rest", "rest"),
    ("def over(times, closed):\n    return times[closed]\n", "times[closed]", "times[closed - 1]"),
    ("def cut(found, a, b):\n    return found[a:b]\n", "found[a:b]", "found[a:b - 1]"),
    ("def cut(found):\n    return found[:]\n", "found[:]", "found[1:]"),
    ("def seeds(used):\n    return max(used, default=0) + 1\n", "max(used, default=0)", "len(used)"),
    ("def cycles(ideal, day, night):\n    return ideal / (day + night)\n", "(day + night)", "(day)"),
    ("def rank(values, share):\n    return (len(values) + 1) * share\n", "(len(values) + 1)", "(len(values))"),
    ("def allowed(value):\n    return abs(value) / 100\n", "abs(value)", "value"),
    ("def length(start, end):\n    return end - start\n", "end - start", "start - end"),
    ("def least(values):\n    return min(values)\n", "min", "max"),
    ("def apart(row):\n    return row['a'] - row['b']\n", "row['a'] - ", 'row["b"] - '),
    ("def kept(rows):\n    return [row for row in rows if row.ended]\n", "row.ended", "True"),
    ("def run(state):\n    state.before += 1\n    return state\n", "state.before += 1", "pass"),
    ("def found(rows):\n    return search(rows, side='left')\n", "'left'", '"right"'),
    ("def call(a, b):\n    return f(a, b)\n", "f(a, b)", "f(b, a)"),
    ("def to(n):\n    return range(n)\n", "range(n)", "range(n - 1)"),
])  # fmt: skip
def test_what_slipped_through_can_be_made(source, old, new):
    assert source.count(old) == 1
    made = {code for kind, code in mutants(source) if kind in OURS}
    assert source.replace(old, new) in made


def test_what_no_test_can_see_is_left_alone():
    source = (
        '"""What it does."""\nfrom a import b\n__all__ = ["b"]\n\n\n@cache\ndef f(x: int) -> str:\n'
        '    """Nothing."""\n    raise ValueError(f"x: {x + 1}")\n'
    )
    assert mutants(source) == set()


def test_a_mutation_says_which_lines_can_notice_it():
    lines = ["LIMIT = 1", "", "", "def f(x=2):", "    if x:", "        y = (", "            3", "        )"]
    source = "\n".join([*lines, "        return y", "    return x", ""])
    _, found = mutations(source)
    by_value = {one.old.value: one for one in found if one.kind == "operator_number"}
    # Code that runs on import is noticed by the users of the module, or of the function whose default it is.
    assert by_value["1"].is_imported and by_value["1"].judged_by[0] == 1 and by_value["1"].judged_by[1] > 10
    assert by_value["2"].is_imported and by_value["2"].judged_by == (5, 10)
    assert not by_value["3"].is_imported and by_value["3"].judged_by == (6, 8)
    (guard, _) = (one for one in found if one.kind == "leave_out")
    assert guard.judged_by == (5, 5)
