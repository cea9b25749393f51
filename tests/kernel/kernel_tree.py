"""A kernel source in miniature."""

from pathlib import Path

from daybreak.engines.kernel.recipe import Recipe


def miniature(root: Path, recipe: Recipe) -> Path:
    """A source tree that holds just the places that the recipe edits."""
    appended = "".join(edit.append or "" for edit in recipe.edits)
    for edit in recipe.edits:
        path = root / edit.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"before\n{'' if (edit.find or '') in appended else edit.find}after\n")
    (root / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\nEXTRAVERSION =\n")
    (root / "arch/um").mkdir(parents=True, exist_ok=True)
    return root
