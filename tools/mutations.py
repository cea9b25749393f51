"""Mistakes that people make, as changes of a module's syntax tree: for tools/mutants-python.py.

mutmut's operators are here, and others for what those cannot do: an index or an end of a range beside the right one, a
term that is missing, operands or arguments in the wrong order, another name or key of the same kind, a guard or a step
that is left out, the least for the largest. Types are not known: a name counts as a number if the function, or for
attributes of `self` the class, calculates or compares with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

_Operator = Callable[[cst.CSTNode], Iterable[cst.CSTNode]]

OTHER_NAME = {
    "min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor", "first": "last",
    "last": "first", "head": "tail", "tail": "head", "mean": "median", "median": "mean", "union": "intersection",
    "minimum": "maximum", "maximum": "minimum", "append": "extend", "start": "stop",
}  # fmt: skip
"""Functions that are taken for each other."""
OTHER_WORD = {
    "left": "right", "right": "left", "lower": "higher", "higher": "lower", "start_ns": "end_ns", "end_ns": "start_ns",
    "first": "last", "last": "first", "forward": "backward", "backward": "forward",
}  # fmt: skip
"""Words that options and columns are called by, and that are taken for each other."""
UNWRAPPED = ("abs", "ceil", "float", "floor", "int", "list", "round", "set", "sorted", "sqrt", "tuple", "unique")
"""Functions of one thing that are easily forgotten."""


@dataclass(frozen=True)
class Mutation:
    """One node that becomes another."""

    kind: str
    """What is done, such as "operator_swap_op" of mutmut's or "drop_term"."""
    line: int
    column: int
    judged_by: tuple[int, int]
    """The first and the last of the lines that tests run if they can notice it."""
    is_imported: bool
    """Whether the change acts when the module is imported, not when a test runs the lines."""
    old: cst.CSTNode
    new: cst.CSTNode


def mutations(source: str) -> tuple[cst.Module, list[Mutation]]:
    """All mutations of a module, without what no test can see: annotations, imports, decorators, what raise says."""
    wrapper = MetadataWrapper(cst.parse_module(source))
    finder = _Finder()
    wrapper.visit(finder)
    return wrapper.module, finder.found


class _Names(cst.CSTVisitor):
    """What a function or a class calculates with: names, attributes of `self` and keys."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.keys: set[str] = set()

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        self._learn(node.left, node.right)

    def visit_Comparison(self, node: cst.Comparison) -> None:
        self._learn(node.left, *(target.comparator for target in node.comparisons))

    def visit_Subscript(self, node: cst.Subscript) -> None:
        if (key := _key(node)) is not None:
            self.keys.add(key)

    def _learn(self, *operands: cst.BaseExpression) -> None:
        for operand in operands:
            if isinstance(operand, cst.Name) and operand.value not in ("None", "True", "False"):
                self.names.add(operand.value)
            elif name := _own(operand):
                self.attributes.add(name)


class _Finder(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Mutation] = []
        self._functions: list[tuple[cst.FunctionDef, _Names]] = []
        self._classes: list[_Names] = []
        self._lines: list[tuple[int, int]] = []
        self._is_header = False
        """Whether it is in what is before the body of a function, which is done when it is defined."""

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Annotation | cst.Decorator | cst.Import | cst.ImportFrom) or _is_untestable(node):
            return False
        if isinstance(node, cst.FunctionDef):
            self._functions.append((node, _names(node.body)))
        elif isinstance(node, cst.ClassDef):
            self._classes.append(_names(node.body))
        self._is_header = self._is_header or self._begins_function(node)
        if isinstance(node, cst.BaseStatement):
            self._lines.append(self._range(node))
        for kind, becomes in self._changes(node):
            at = self.get_metadata(PositionProvider, node).start
            is_imported = not self._functions or self._is_header
            if not self._functions:
                lines = (1, sys.maxsize)
            elif self._is_header:
                lines = self._whole(self._functions[-1][0].body)
            else:
                lines = self._lines[-1]
            self.found.append(Mutation(kind, at.line, at.column, lines, is_imported, node, becomes))
        return True

    def on_leave(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.BaseStatement) and self._lines:
            self._lines.pop()
        if isinstance(node, cst.FunctionDef):
            self._functions.pop()
        elif isinstance(node, cst.ClassDef):
            self._classes.pop()
        if self._begins_function(node):
            self._is_header = False

    def _begins_function(self, node: cst.CSTNode) -> bool:
        return bool(self._functions) and node is self._functions[-1][0].params

    def _changes(self, node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode]]:
        for of, operator in mutation_operators:
            if isinstance(node, of):
                yield from ((operator.__name__, changed) for changed in operator(node))
        for ours in OPERATORS:
            yield from ((ours.__name__, changed) for changed in ours(node))
        if self._functions:
            yield from (("another_name", changed) for changed in self._renamed(node, self._functions[-1][1]))

    def _renamed(self, node: cst.CSTNode, here: _Names) -> Iterator[cst.CSTNode]:
        """Operands and keys with another of their kind in their place."""
        if isinstance(node, cst.BinaryOperation | cst.Comparison):
            yield from (node.with_changes(left=other) for other in self._other_numbers(node.left, here))
        if isinstance(node, cst.BinaryOperation):
            yield from (node.with_changes(right=other) for other in self._other_numbers(node.right, here))
        elif isinstance(node, cst.ComparisonTarget):
            yield from (node.with_changes(comparator=other) for other in self._other_numbers(node.comparator, here))
        elif isinstance(node, cst.Subscript) and (key := _key(node)) is not None:
            for other in sorted(here.keys - {key}):
                yield node.with_changes(slice=[cst.SubscriptElement(cst.Index(cst.SimpleString(f'"{other}"')))])

    def _other_numbers(self, operand: cst.BaseExpression, here: _Names) -> Iterator[cst.BaseExpression]:
        if isinstance(operand, cst.Name) and operand.value in here.names:
            yield from (operand.with_changes(value=other) for other in sorted(here.names - {operand.value}))
        elif self._classes and (name := _own(operand)) in self._classes[-1].attributes:
            for other in sorted(self._classes[-1].attributes - {name}):
                yield cst.ensure_type(operand, cst.Attribute).with_changes(attr=cst.Name(other))

    def _range(self, node: cst.BaseStatement) -> tuple[int, int]:
        """The lines of a statement, without the statements in it."""
        first, last = self._whole(node)
        body = getattr(node, "body", None)
        if isinstance(node, cst.BaseCompoundStatement) and isinstance(body, cst.CSTNode):
            last = max(first, self.get_metadata(PositionProvider, body).start.line - 1)
        elif isinstance(node, cst.Match):
            last = first
        return first, last

    def _whole(self, node: cst.CSTNode) -> tuple[int, int]:
        at = self.get_metadata(PositionProvider, node)
        return at.start.line, at.end.line


def _is_untestable(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Raise):
        return True
    return isinstance(node, cst.Assign) and any(
        isinstance(target.target, cst.Name) and target.target.value == "__all__" for target in node.targets
    )


def _names(body: cst.CSTNode) -> _Names:
    names = _Names()
    body.visit(names)
    return names


def _key(node: cst.Subscript) -> str | None:
    """The text in brackets, if there is nothing else."""
    if len(node.slice) == 1 and isinstance(index := node.slice[0].slice, cst.Index):
        text = index.value
        if isinstance(text, cst.SimpleString) and isinstance(text.evaluated_value, str) and not text.prefix:
            return text.evaluated_value
    return None


def _own(node: cst.CSTNode) -> str:
    """What follows `self.`, or nothing."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
        return node.attr.value
    return ""


def beside(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The index, or the end of a range, beside the right one; an end where there was none."""
    if isinstance(node, cst.Index) and not isinstance(node.value, cst.SimpleString | cst.FormattedString | cst.Tuple):
        yield node.with_changes(value=_plus(node.value, -1))
        yield node.with_changes(value=_plus(node.value, 1))
    elif isinstance(node, cst.Slice):
        yield node.with_changes(lower=cst.Integer("1") if node.lower is None else _plus(node.lower, 1))
        yield node.with_changes(upper=_number(-1) if node.upper is None else _plus(node.upper, -1))
    elif isinstance(node, cst.Call) and m.matches(node.func, m.Name("range") | m.Attribute(attr=m.Name("arange"))):
        end = node.args[min(1, len(node.args) - 1)]
        yield node.deep_replace(end, end.with_changes(value=_plus(end.value, -1)))


def _plus(node: cst.BaseExpression, step: int) -> cst.BaseExpression:
    operator = cst.Add() if step > 0 else cst.Subtract()
    return cst.BinaryOperation(_enclosed(node), operator, cst.Integer(str(abs(step))))


def _number(value: int) -> cst.BaseExpression:
    return cst.UnaryOperation(cst.Minus(), cst.Integer(str(-value))) if value < 0 else cst.Integer(str(value))


def _enclosed(node: cst.BaseExpression) -> cst.BaseExpression:
    if node.lpar or isinstance(node, cst.Name | cst.Integer | cst.Call | cst.Attribute | cst.Subscript):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def drop_term(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """One side of an operation alone; a sum, set or list without one of its first or last elements."""
    if isinstance(node, cst.BinaryOperation | cst.BooleanOperation):
        for side in (node.left, node.right):
            yield side.with_changes(lpar=[*node.lpar, *side.lpar], rpar=[*side.rpar, *node.rpar])
    elif isinstance(node, cst.List | cst.Set | cst.Tuple | cst.Dict) and len(node.elements) > 2:
        yield node.with_changes(elements=node.elements[1:])
        yield node.with_changes(elements=node.elements[:-1])


def other_order(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The operands of a difference or ratio, or two arguments, the other way round."""
    if isinstance(node, cst.BinaryOperation) and isinstance(
        node.operator, cst.Subtract | cst.Divide | cst.FloorDivide | cst.Modulo
    ):
        yield node.with_changes(left=_enclosed(node.right), right=_enclosed(node.left))
    elif isinstance(node, cst.Call):
        for at, (one, next_) in enumerate(zip(node.args, node.args[1:], strict=False)):
            if not (one.keyword or next_.keyword or one.star or next_.star):
                swapped = [one.with_changes(value=next_.value), next_.with_changes(value=one.value)]
                yield node.with_changes(args=[*node.args[:at], *swapped, *node.args[at + 2 :]])


def other_function(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The least for the largest, the number of things for the largest, a word for its opposite; a call forgotten."""
    if isinstance(node, cst.SimpleString) and isinstance(node.evaluated_value, str):
        if (word := OTHER_WORD.get(node.evaluated_value)) is not None:
            yield cst.SimpleString(f'"{word}"')
    elif isinstance(node, cst.Call):
        name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        if not isinstance(name, cst.Name):
            return
        if name.value in OTHER_NAME:
            yield node.with_deep_changes(name, value=OTHER_NAME[name.value])
        positional = [arg for arg in node.args if not arg.keyword and not arg.star]
        if len(positional) == 1:
            if name.value in ("max", "min") and isinstance(node.func, cst.Name):
                yield node.with_changes(
                    func=cst.Name("len"), args=[positional[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
                )
            if name.value in UNWRAPPED:
                yield _enclosed(positional[0].value)


def leave_out(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A step that is not done, a guard that never holds or always, a filter that lets all through."""
    if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
        step = node.body[0]
        is_call = m.matches(step, m.Expr(m.Call() | m.Yield()))
        is_state = m.matches(step, m.Assign(targets=[m.AssignTarget(m.Attribute() | m.Subscript())]) | m.AugAssign())
        if is_call or is_state:
            yield node.with_changes(body=[cst.Pass()])
    elif isinstance(node, cst.If | cst.CompIf):
        yield node.with_changes(test=cst.Name("True"))
        if isinstance(node, cst.If):
            yield node.with_changes(test=cst.Name("False"))


OPERATORS: tuple[_Operator, ...] = (beside, drop_term, other_order, other_function, leave_out)
OURS = frozenset({"another_name", *(operator.__name__ for operator in OPERATORS)})
"""The kinds of what mutmut does not do."""
