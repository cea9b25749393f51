"""Reads the docstrings of models' fields, for the reference pages and the JSON Schema.

Pydantic could read them when each class is created, at a third of the time to import all models; few commands need
them.
"""

import ast
import inspect
import sys
from functools import cache
from types import ModuleType

from pydantic import BaseModel


@cache
def of_fields(model: type[BaseModel]) -> dict[str, str]:
    """The docstrings of a model's fields, including inherited ones."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if cls.__module__ in sys.modules and cls.__module__.startswith("daybreak."):
            found |= _of_module(sys.modules[cls.__module__]).get(cls.__qualname__, {})
    return found


@cache
def _of_module(module: ModuleType) -> dict[str, dict[str, str]]:
    """The docstrings of fields by class, for the top-level classes of a module."""
    tree = ast.parse(inspect.getsource(module))
    return {node.name: _of_class(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _of_class(node: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, behind in zip(node.body, node.body[1:], strict=False):
        match field, behind:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found
