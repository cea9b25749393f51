"""How long a scenario has to be, so that a model may be asked about it."""

from made_up import SETTING

from daybreak.learn import model, setting


def test_a_run_has_to_be_long_enough_for_three_times_the_ideal_and_the_prolongation():
    """64 MiB at 10 Gbit/s take 53.7 ms: 161 ms, and what a flow may be prolonged by, up to the testbed's 1200 s."""
    scenario = setting.scenario_of(SETTING)

    def is_too_short(duration, high_s):
        found = model.Prediction(0.0, -1.0, high_s, 0.0, (), ())
        said = model._too_short(scenario.with_({"duration": duration}), SETTING, found)
        assert said in ((), (f"duration = {duration}: flows may not end in it",))
        return bool(said)

    for duration, high_s, expected in (
        ("161 ms", 0, True), ("162 ms", 0, False), ("162 ms", 0.01, True), ("172 ms", 0.01, False),
        # A flow that may end sooner than alone is no reason for a shorter run, and nothing needs more than 1200 s.
        ("161 ms", -0.1, True), ("162 ms", -0.1, False), ("1199 s", 5000, True), ("1200 s", 5000, False),
    ):  # fmt: skip
        assert is_too_short(duration, high_s) == expected, (duration, high_s)
