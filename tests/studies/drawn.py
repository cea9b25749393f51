"""What a figure shows, as text: a line for each curve, area, bar, cloud of points, image and key."""

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator

_ALL = 8
"""Of more numbers only some are given."""


def figure_text(figure):
    """The axes one by one, and what is in each."""
    found = [f"  {one.get_text()}" for one in figure.texts if one.get_text()]
    found += [f"  heading {figure._suptitle.get_text()}"] if figure._suptitle else []
    found += [f"  key {', '.join(one.get_text() for one in key.get_texts())}" for key in figure.legends]
    for axes in figure.axes:
        titles = [axes.get_title(loc) for loc in ("left", "center", "right") if axes.get_title(loc)]
        found.append(f"  axes {titles} x {_axis(axes.xaxis)} y {_axis(axes.yaxis)}")
        found += [f"    {line}" for line in _content(axes)]
    return "\n".join(found) + "\n"


def _axis(axis):
    """Label, scale and range, and the names of places where they have names."""
    has_names = isinstance(axis.get_major_locator(), FixedLocator)
    names = [one.get_text() for one in axis.get_majorticklabels()] if has_names else ""
    low, high = axis.get_view_interval()
    return f"{axis.get_label_text()!r} {axis.get_scale()} {_number(low)} to {_number(high)} {names}".rstrip()


def _content(axes):
    for line in axes.get_lines():
        marker = "" if line.get_marker() in ("None", None, "") else f" {line.get_marker()}"
        kind = f"{line.get_linestyle()}{marker} {to_hex(line.get_color())} {_label(line)}"
        yield f"line {kind}: {_numbers(line.get_xdata())}; {_numbers(line.get_ydata())}"
    for patch in axes.patches:
        if isinstance(patch, Rectangle):
            place = (*patch.get_xy(), patch.get_width(), patch.get_height())
            yield f"bar {to_hex(patch.get_facecolor())} {_label(patch)}: {', '.join(map(_number, place))}"
        else:
            corners = patch.get_path().vertices.ravel()
            yield f"patch {to_hex(patch.get_facecolor())} {_label(patch)}: {_numbers(corners)}"
    for some in axes.collections:
        offsets = np.asarray(some.get_offsets())
        if len(some.get_paths()) and (len(offsets) <= 1 and not offsets.any()):
            corners = np.concatenate([path.vertices for path in some.get_paths()])
            yield f"area {_label(some)}: {_numbers(corners[:, 0])}; {_numbers(corners[:, 1])}"
        else:
            yield f"points {_label(some)}: {_numbers(offsets[:, 0])}; {_numbers(offsets[:, 1])}"
    for image in axes.images:
        yield f"image: {_numbers(np.ma.filled(image.get_array().astype(float), np.nan).ravel())}"
    for one in axes.texts:
        yield f"text {one.get_text()!r} at {', '.join(map(_number, one.get_position()))}"
    if (key := axes.get_legend()) is not None:
        yield f"key {[one.get_text() for one in key.get_texts()]}"


def _label(artist):
    label = str(artist.get_label())
    return "" if label.startswith("_") else repr(label)


def _numbers(values):
    known = np.asarray([np.nan if value is None else value for value in values], dtype=float)
    if len(known) <= _ALL:
        return ", ".join(map(_number, known))
    finite = known[np.isfinite(known)]
    some = [*known[:2], known[len(known) // 2], *known[-2:]]
    return f"{len(known)} numbers {', '.join(map(_number, some))}, of all {_number(finite.sum())}"


def _number(value):
    # A zero without a sign.
    return f"{float(value) + 0.0:.4g}".replace("-0", "0") if abs(value) < 5e-13 else f"{value:.4g}"
