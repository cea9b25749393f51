"""The table of numbers with colours."""

from daybreak.figures.transient import heat


def test_what_rounds_to_nothing_has_no_sign():
    values = {("B", "10 ms"): -0.4, ("B", "100 ms"): 0.4, ("D", "10 ms"): -0.6, ("D", "100 ms"): float("nan")}
    figure = heat(values, label="change", low=-100, high=100, text="{:+.0f}")
    assert [text.get_text() for text in figure.axes[0].texts] == ["0", "0", "-1"]
