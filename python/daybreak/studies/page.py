"""The page of a reproduction: verdicts by section with figures, inferences, and changes after results were seen.

The words are the study's, in its ``page.toml``: ``title``, ``network`` (what was studied, with the words that the page
needs), ``about``, ``sizes`` (where fields of the scale may stand in braces; ``sizes_full`` where those of ``--full``
need other words), ``main`` (the name of the main figure), ``summary`` (what holds and what does not), ``changed`` (what
was changed after results were seen), ``varied`` where `variation` has a study's results (what was run for them), and
for each experiment a table ``figure.NAME`` with ``title``, ``text``, where there is more to say ``found`` and
``sizes``, and with several figures a table ``images`` of what each shows.

``summary`` and each ``found`` are of one result, the simulator's at full size, and stand on its page alone. A page of
real Linux has ``summary_kernel``, or a summary of its rows (`held`); ``changed_kernel`` and ``text_kernel``, if they
are there, have the places of ``changed`` and ``text``; and it has no word on what was varied, which is the simulator.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daybreak.engines import kind
from daybreak.studies import held, tally, variation
from daybreak.studies.inferences import SOURCES, Inference
from daybreak.studies.protocol import AnyStudy, Scale
from daybreak.studies.scoreboard import LEFT_OUT, NOT_EVALUATED, Claim, Scoreboard, markdown

_AS_THE_MODE_SAYS: Mapping[str, str] = {}

AT_THE_TOP = "The figure is the one at the top of this page."
"""In place of the main figure, in its section."""

_REST = "What is not compared"

_OF_THE_FIGURE = """
The figure has how many printed numbers and statements hold with each value, in percent of those that were judged in
these runs; "as it is" is with the values of this page, and differs from the headline where these runs have other
sizes, fewer runs or only some of the sections. `tables/sensitivity.csv` names every row that changes.
""".strip()

_WHERE_NONE = """
A row that misses without a reason below was not looked into. It is the TCP of {hosts} itself that misses, so that no
model of TCP is the cause: what is left is the age of this kernel, what is inferred of the network (last section but
one), and the number of runs, where intervals are wide.
""".strip()

_NOT_VARIED = "None of these was varied on this engine; the simulator's page says what depends on them there."

_LEGEND = """
A printed number or statement counts once, however many rows it has, and holds if all of them do. A printed value that
no row compares counts as missed. Rows that an inference was fitted to are not counted.

| in a row | means |
|---|---|
| kind | *number*, *statement*: printed; *set-up*: what was built, or its arithmetic; *own*: what no paper says |
| ours | the mean over the runs, with the 95 % interval of that mean where there are several |
| `pass`, `miss` | whether ours is within the tolerance, in percent of the published number or in the row's unit |
| `shape-pass`, `shape-miss` | whether a statement holds, by the rule under "Rules and numbers behind the rows" |
"""
_LEGEND_OF = {
    LEFT_OUT: "| `left-out` | printed, and not compared here |",
    NOT_EVALUATED: "| `not-evaluated` | not comparable, for the reason given, or only at full size |",
}
"""Explanations of verdicts that many pages lack."""


@dataclass(frozen=True)
class Section:
    """One figure of the page: its key, the names of its image files, and its claims."""

    figure: str
    images: tuple[str, ...]
    claims: tuple[Claim, ...]


def words(study: AnyStudy) -> dict[str, Any]:
    """The study's words."""
    return tomllib.loads(study.folder.joinpath("page.toml").read_text(encoding="utf-8"))


def command(
    study: AnyStudy, board: Scoreboard, figures: Sequence[str], sizes: Mapping[str, str] = _AS_THE_MODE_SAYS
) -> str:
    """The command that reproduces this result."""
    parts = ["daybreak", "reproduce", study.name, f"--{board.mode}"]
    if board.engine != "simulated":
        engine, _, which = board.engine.partition(":")
        parts += ["--engine", engine, *(("--kernel", which) if which else ())]
    if board.seeds != study.scales[board.mode].runs:
        parts += ["--seeds", str(board.seeds)]
    parts += [part for name, value in sizes.items() for part in (f"--{name}", value)]
    if len(figures) < len(study.figures_of(board.engine)):
        parts += [part for figure in figures for part in ("--figure", figure)]
    return " ".join(parts)


def write(
    study: AnyStudy,
    board: Scoreboard,
    sections: Sequence[Section],
    scale: Scale,
    sizes: Mapping[str, str] = _AS_THE_MODE_SAYS,
    *,
    of_record: bool = False,
) -> str:
    """The page in markdown; that of a result `of_record`, which docs/results has, may have a summary of its own."""
    said = words(study)
    simulated = kind(board.engine) == "simulated"
    left = [claim for claim in board.claims if not any(claim in section.claims for section in sections)]
    parts = [
        f"# {said['title']}{f': {board.hosts}' if board.hosts else ''}\n",
        f"{said['network'].strip()}\n",
        f"**{tally.headline(board.claims)}.** {_sentence(tally.others(board.claims))}\n",
    ]
    if any(said["main"] in section.images for section in sections):
        parts.append(f"![{said['title']}](figures/{said['main']}.png)\n")
    is_written_for = simulated and board.mode == "full"
    if is_written_for:
        parts.append(f"{said['summary'].strip()}\n")
    if not simulated:
        own = said.get("summary_kernel") if of_record else None
        none = f"{_WHERE_NONE.format(hosts=board.hosts or 'Linux')}\n"
        parts += [f"{own.strip()}\n"] if own else [held.summary(board), none]
    names = [section.figure for section in sections]
    engine = f"engine `{kind(board.engine)}`{f' ({board.hosts})' if board.hosts else ''}"
    parts += [
        f"{said['about']}, {engine}, mode `{board.mode}`. "
        f"{_of(said, board.mode, names).format(**_sizes(scale))} "
        f"Made by `{command(study, board, names, sizes)}`.\n",
        *_not_run(said, [name for name in study.figures_of(board.engine) if name not in names]),
        _legend(board.claims),
        _counts([*((said["figure"][one.figure]["title"], one.claims) for one in sections), (_REST, left)]),
    ]
    for section in sections:
        parts += _section(section, said["figure"][section.figure], said["main"], board.engine, found=is_written_for)
    if left:
        parts += [f"## {_REST}\n", markdown(left), *_notes(left)]
    inferences = study.inferences()
    if inferences and simulated:
        parts += ["## What was inferred\n", _inferred(inferences, variation.load(study.folder))]
        if varied := said.get("varied"):
            parts.append(f"{varied.strip()}\n")
        if variation.load_counts(study.folder):
            parts.append(f"{_OF_THE_FIGURE}\n")
            parts.append(f"![What depends on each inference](figures/{variation.FIGURE}.png)\n")
    elif inferences:
        parts += ["## What was inferred\n", _inferred_of_kernel(inferences, board.hosts)]
    changed = _with_engine(said, "changed", board.engine)
    parts += ["## What was changed after results were seen\n", f"{changed.strip()}\n"]
    return "\n".join(parts)


def _not_run(said: Mapping[str, Any], figures: Sequence[str]) -> list[str]:
    """What a page lacks that a run of all parts has."""
    titles = ", ".join(f'"{said["figure"][figure]["title"]}"' for figure in figures)
    return [f"Not run: {titles}. What these print is in no count.\n"] if titles else []


def _legend(claims: Sequence[Claim]) -> str:
    verdicts = {claim.verdict for claim in claims}
    lines = [_LEGEND.strip(), *(line for verdict, line in _LEGEND_OF.items() if verdict in verdicts)]
    return "\n".join(lines) + "\n"


def _counts(sections: Sequence[tuple[str, Sequence[Claim]]]) -> str:
    """How the headline adds up: the printed numbers and statements of each section that hold."""
    lines = ["| section | printed numbers | printed statements |", "|---|---|---|"]
    for (title, _), counts in zip(sections, tally.by_section([claims for _, claims in sections]), strict=True):
        cells = [f"{one.hold} of {one.judged}" if one.judged else "" for one in (counts["number"], counts["statement"])]
        if any(cells):
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _of(said: Mapping[str, Any], mode: str, figures: Sequence[str]) -> str:
    """The sizes in the words of a mode, with those that some figures have of their own."""
    own = (said["figure"][figure].get("sizes") for figure in figures)
    return " ".join(dict.fromkeys(one for one in (said.get(f"sizes_{mode}", said.get("sizes")), *own) if one))


def _sizes(scale: Scale) -> dict[str, str]:
    """The fields of a scale as text; pairs as "100 at 10"."""
    return {name: _text(value) for name, value in vars(scale).items()}


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(" at ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _with_engine(said: Mapping[str, Any], what: str, engine: str) -> str:
    """Words, or those for real Linux."""
    return str(said[what] if kind(engine) == "simulated" else said.get(f"{what}_kernel", said[what]))


def _section(section: Section, said: Mapping[str, Any], main: str, engine: str, *, found: bool) -> list[str]:
    parts = [f"## {said['title']}\n", _with_engine(said, "text", engine)]
    parts += (said["found"],) if found and "found" in said else ()
    for name in section.images:
        if name == main:
            parts.append(f"{AT_THE_TOP}\n")
            continue
        what = said.get("images", {}).get(name)
        parts.append(f"![{said['title']}{f': {what}' if what else ''}](figures/{name}.png)\n")
    if section.claims:
        parts += [markdown(section.claims), *_notes(section.claims)]
    return parts


def _notes(claims: Sequence[Claim]) -> list[str]:
    """The explanations of misses, each once, and the numbers behind the verdicts."""
    parts = _by_text((claim.explanation, claim) for claim in claims)
    details = _by_text((claim.note, claim) for claim in claims)
    found = []
    if parts:
        found.append("Why rows miss:\n\n" + "\n".join(parts) + "\n")
    if details:
        found.append("<details><summary>Rules and numbers behind the rows</summary>\n\n" + "\n".join(details)
                     + "\n\n</details>\n")  # fmt: skip
    return found


def _by_text(texts: Iterable[tuple[str, Claim]]) -> list[str]:
    """A line for each text, with the ids of the claims that have it."""
    ids: dict[str, list[str]] = {}
    for text, claim in texts:
        if text:
            ids.setdefault(text, []).append(f"`{claim.id}`")
    return [f"- {', '.join(mine)}: {text}" for text, mine in ids.items()]


def _inferred(inferences: Sequence[Inference], changes: Mapping[str, Sequence[variation.Change]]) -> str:
    lines = [
        "| inference | value | from | why | varied over | verdicts that change |",
        "|---|---|---|---|---|---|",
    ]
    for one in inferences:
        varied = ", ".join(map(one.label, one.values)) if one.field else f"not varied: {one.fixed}"
        fitted = f"; fitted to {', '.join(f'`{claim}`' for claim in one.fitted)}" if one.fitted else ""
        cells = (
            one.what, one.value, SOURCES[one.source] + fitted, one.why, varied,
            variation.text(one, changes.get(one.name)),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _inferred_of_kernel(inferences: Sequence[Inference], hosts: str) -> str:
    """What the runs of a kernel depend on as well. What the hosts are is no inference there, but the kernel's own."""
    lines = [_NOT_VARIED, "", "| inference | value | from | why |", "|---|---|---|---|"]
    for one in inferences:
        fitted = f"; fitted to {', '.join(f'`{claim}`' for claim in one.fitted)}" if one.fitted else ""
        cells = (one.value, SOURCES[one.source] + fitted, one.why) if not one.of_hosts else (hosts, "the engine", "")
        lines.append(f"| {' | '.join((one.what, *cells))} |")
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    return f"Besides: {text}." if text else ""
