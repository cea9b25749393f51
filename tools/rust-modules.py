#!/usr/bin/env python3
"""Refuses circles of modules in the Rust crates, and crates and modules that know one that they should not.

    .venv/bin/python tools/rust-modules.py

What a module names is read from its `use` declarations and from the paths in its code; a name that another module only
passes on (`pub use`) counts as that of the module that defines it. Beneath each module, its children are put in order:
an arrow from one to another stands for anything inside of the first that names anything inside of the second. Arrows
that go round in a circle are an error. That a child names what its parent defines, and the parent what its children
define, is no circle: they are one unit, of which the parent is the outside. Tests are left out. A call of a method
names no module, so that a circle that has no other arrow is not seen.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Names = tuple[str, ...]

ROOT = Path(__file__).resolve().parents[1]
LAYERS = (
    ("units",),
    ("trace",),
    ("tcp", "fabric"),
    ("plan", "dialogue"),
    ("host",),
    ("engine",),
    ("guest", "python", "fuzz-targets"),
    ("guest-switch",),
)
"""A crate may know those of the lines above its own."""
ROOMS = {
    ("tcp",): (
        ("counters", "fast_path", "jiffies", "profile", "segment"),
        ("config", "congestion"),
        ("receiver", "sender"),
        ("connection",),
    ),
    ("tcp", "sender"): (
        ("clock", "cwnd_validation", "ecn", "flight", "metrics", "peer", "rule", "timer"),
        ("measure", "settings", "transmit"),
        ("finding", "sizes"),
        ("loss",),
        ("recovery",),
        ("path",),
        ("ack", "handshake", "paths", "shortcuts"),
    ),
}
"""Likewise the children of these modules."""

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/                      # comments
    |b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"   # texts
    |b?'(?:\\.[^']*|[^'\\])'|'[A-Za-z_]\w*      # characters, lifetimes
    |[A-Za-z_]\w*|::|[^\s\w]                    # names, and what stands between them
    """,
    re.DOTALL | re.VERBOSE,
)
_DEFINES = ("fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules")
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(eq=False)
class Module:
    """A module of a crate."""

    name: Names
    """The crate, then the way from its root."""
    parent: Module | None = None
    children: dict[str, Module] = field(default_factory=dict)
    aliases: dict[str, Names] = field(default_factory=dict)
    """What `use` declarations call things here, and their paths."""
    globs: list[Names] = field(default_factory=list)
    paths: set[Names] = field(default_factory=set)
    """All paths in its code, `use` declarations among them."""
    defines: set[str] = field(default_factory=set)

    @property
    def all(self) -> Iterator[Module]:
        """It and all below it."""
        yield self
        for child in self.children.values():
            yield from child.all


def crate(folder: Path) -> Module:
    """The root module of a crate, with all others."""
    root = Module((folder.name,))
    source = folder / "src" / "lib.rs"
    _read(root, source if source.exists() else folder / "src" / "main.rs", folder / "src")
    return root


def _read(module: Module, file: Path, folder: Path) -> None:
    """Reads a module's file; those of its children are in `folder`."""
    text = file.read_text(encoding="utf-8")
    tokens = [match[0] for match in _TOKEN.finditer(text) if not match[0].startswith(("//", "/*"))]
    _read_tokens(module, tokens, folder)


def _read_tokens(module: Module, tokens: list[str], folder: Path) -> None:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == "#" and tokens[at + 1 : at + 2] == ["["]:
            end = _closed(tokens, at + 1)
            is_test = tokens[at + 2 : end] == ["cfg", "(", "test", ")"]
            at = _behind_item(tokens, end + 1) if is_test else end + 1
        elif token == "mod" and tokens[at + 2 : at + 3] in ([";"], ["{"]):
            at = _read_child(module, tokens, at, folder)
        elif token == "use" and tokens[at + 1] != "<":
            end = tokens.index(";", at)
            for path, alias in _used(tokens[at + 1 : end]):
                _declare(module, path, alias)
            at = end + 1
        elif token in _DEFINES:
            names = [one for one in tokens[at + 1 : at + 3] if one != "!"]
            module.defines.add(names[0])
            at += 1
        elif _is_name(token) and tokens[at + 1 : at + 2] == ["::"]:
            path, at = _path(tokens, at)
            module.paths.add(path)
        else:
            at += 1


def _read_child(module: Module, tokens: list[str], at: int, folder: Path) -> int:
    name, inline = tokens[at + 1], tokens[at + 2] == "{"
    child = module.children[name] = Module((*module.name, name), module)
    if inline:
        end = _closed(tokens, at + 2)
        _read_tokens(child, tokens[at + 3 : end], folder / name)
        return end + 1
    file = folder / f"{name}.rs"
    _read(child, file if file.exists() else folder / name / "mod.rs", folder / name)
    return at + 3


def _closed(tokens: list[str], at: int) -> int:
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] in _OPENING) - (tokens[place] in _CLOSING)
        if depth == 0:
            return place
    raise ValueError(f"a bracket is not closed behind {' '.join(tokens[at : at + 10])}")


def _behind_item(tokens: list[str], at: int) -> int:
    """Behind the item at `at`: its semicolon, or the braces of its body."""
    while tokens[at] not in (";", "{"):
        at = _closed(tokens, at) + 1 if tokens[at] in _OPENING else at + 1
    return (_closed(tokens, at) if tokens[at] == "{" else at) + 1


def _is_name(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"


def _path(tokens: list[str], at: int) -> tuple[Names, int]:
    """The path at `at`, without what stands in angle brackets, and the place behind it."""
    names = [tokens[at]]
    at += 1
    while tokens[at : at + 1] == ["::"] and at + 1 < len(tokens) and _is_name(tokens[at + 1]):
        names.append(tokens[at + 1])
        at += 2
    return tuple(names), at


def _used(tokens: list[str]) -> Iterator[tuple[Names, str]]:
    """The paths of a `use` declaration and what they are called; the last name of a path may be `*`."""
    path: list[str] = []
    alias = ""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == "{":
            end = _closed(tokens, at)
            for part in _parts(tokens[at + 1 : end]):
                for rest, name in _used(part):
                    full = (*path, *(rest if rest != ("self",) else ()))
                    yield full, full[-1] if rest == ("self",) and name == "self" else name
            return
        if token == "as":
            alias = tokens[at + 1]
            at += 1
        elif token != "::":
            path.append(token)
        at += 1
    if path:
        yield tuple(path), alias or path[-1]


def _parts(tokens: list[str]) -> Iterator[list[str]]:
    """The parts between commas, not those inside of braces."""
    part: list[str] = []
    depth = 0
    for token in tokens:
        depth += (token == "{") - (token == "}")
        if token == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _declare(module: Module, path: Names, alias: str) -> None:
    if path[-1] == "*":
        module.globs.append(path[:-1])
    else:
        module.aliases[alias] = path
    module.paths.add(path)


def owner(module: Module, path: Names) -> Module | None:
    """The module that defines what a path in `module` names; None if another crate does."""
    return _owner(module, path, frozenset())


def _owner(module: Module, path: Names, seen: frozenset[tuple[Module, Names]]) -> Module | None:
    here, rest = _start(module, path)
    if here is None or (module, path) in seen:
        return None
    seen |= {(module, path)}
    while rest:
        name = rest[0]
        if name == "super" and here.parent is not None:
            here = here.parent
        elif name in here.children:
            here = here.children[name]
        elif name not in ("*", "self"):
            return _definer(here, rest, seen)
        rest = rest[1:]
    return here


def _start(module: Module, path: Names) -> tuple[Module | None, Names]:
    """The module in which a path begins, and what is left of the path; None if it begins in another crate."""
    match path[0]:
        case "crate":
            root = module
            while root.parent is not None:
                root = root.parent
            return root, path[1:]
        case "self":
            return module, path[1:]
        case "super":
            return module.parent, path[1:]
        case name:
            return (module if name in module.children or name in module.aliases else None), path


def _definer(here: Module, path: Names, seen: frozenset[tuple[Module, Names]]) -> Module | None:
    """The module that defines what `here`, which has no child of that name, knows by the path."""
    name = path[0]
    if name in here.aliases and here.aliases[name] != (name,):
        return _owner(here, (*here.aliases[name], *path[1:]), seen)
    through = (_owner(here, (*glob, name), seen) for glob in here.globs if name not in here.defines)
    return next((found for found in through if found is not None and name in found.defines), here)


def arrows(root: Module) -> dict[Names, dict[str, set[str]]]:
    """Beneath each module, which of its children name something of which others."""
    found: dict[Names, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module in root.all:
        for path in module.paths:
            target = owner(module, path)
            if target is None:
                continue
            same = next(
                (i for i, (a, b) in enumerate(zip(module.name, target.name, strict=False)) if a != b),
                None,
            )
            if same is not None:
                found[module.name[:same]][module.name[same]].add(target.name[same])
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node, sorted."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for node in graph.get(waiting.pop(), ()):
                if node not in seen:
                    seen.add(node)
                    waiting.append(node)
        return seen

    reach = {node: reached(node) for node in graph}
    found = {tuple(sorted(m for m in reach[n] if n in reach.get(m, ()))) for n in graph if n in reach[n]}
    return [list(names) for names in sorted(found)]


def problems(crates: Path) -> list[str]:
    """A sentence for each circle in the crates of a folder."""
    said = []
    for folder in sorted(path for path in crates.iterdir() if (path / "Cargo.toml").exists()):
        for above, graph in arrows(crate(folder)).items():
            for names in circles(graph):
                said.append(f"modules name each other in a circle: {_circle(above, graph, names)}")
    return said


def wrong_arrows(crates: Path, rooms: dict[Names, tuple[Names, ...]] = ROOMS) -> list[str]:
    """A sentence for each module that names one that it should not know."""
    said = []
    for name in sorted({above[0] for above in rooms}):
        root = crate(crates / name)
        found = arrows(root)
        modules = {module.name: module for module in root.all}
        for above, lines in rooms.items():
            if above[0] == name:
                said += _wrong_arrows(modules[above], found.get(above, {}), lines)
    return said


def _wrong_arrows(above: Module, graph: dict[str, set[str]], lines: tuple[Names, ...]) -> list[str]:
    place = {name: level for level, names in enumerate(lines) for name in names}
    inside = "::".join(above.name)
    said = [f"module {name} of {inside} is in no line of ROOMS" for name in sorted(above.children.keys() - place)]
    said += [f"ROOMS knows module {name}, which {inside} has not" for name in sorted(place.keys() - above.children)]
    for name in sorted(graph.keys() & place.keys()):
        for other in sorted(graph[name] & place.keys()):
            if place[other] >= place[name]:
                said.append(f"module {name} of {inside} names {other}, which is not above it in ROOMS")
    return said


def _circle(above: Names, graph: dict[str, set[str]], names: list[str]) -> str:
    inside = (f"{a} -> {', '.join(sorted(graph[a] & set(names)))}" for a in names)
    return f"in {'::'.join(above)}: {'; '.join(inside)}"


def wrong_dependencies(crates: Path, layers: Iterable[Iterable[str]] = LAYERS) -> list[str]:
    """A sentence for each crate that depends on one that it should not know."""
    place = {name: level for level, names in enumerate(layers) for name in names}
    said = []
    for folder in sorted(path for path in crates.iterdir() if (path / "Cargo.toml").exists()):
        if folder.name not in place:
            said.append(f"crate {folder.name} is in no line of LAYERS")
            continue
        manifest = tomllib.loads((folder / "Cargo.toml").read_text(encoding="utf-8"))
        for name in manifest.get("dependencies", {}):
            other = name.removeprefix("daybreak-")
            if other != name and place.get(other, len(place)) >= place[folder.name]:
                said.append(f"crate {folder.name} depends on {other}, which is not above it in LAYERS")
    return said


if __name__ == "__main__":
    found = problems(ROOT / "crates") + wrong_dependencies(ROOT / "crates") + wrong_arrows(ROOT / "crates")
    for sentence in found:
        print(sentence, file=sys.stderr)
    sys.exit(bool(found))
