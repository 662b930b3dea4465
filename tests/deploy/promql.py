"""The labels of the result of a PromQL expression; checks that a result is possible."""

from collections.abc import Mapping, Set
from typing import Any

import promql_parser as promql

Labels = Set[str]


def answered_labels(query: str, exposed: Mapping[str, Labels]) -> Labels | None:
    """Return the labels of the series that `query` selects, None for a scalar.

    `exposed` has the labels of each metric. Raises `ValueError` for invalid PromQL and for unknown
    metrics and labels.
    """
    return _labels(promql.parse(query), exposed)


def _labels(node: Any, exposed: Mapping[str, Labels]) -> Labels | None:
    match node:
        case promql.NumberLiteral() | promql.StringLiteral():
            return None
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            return _labels(node.expr, exposed)
        case promql.MatrixSelector():
            return _labels(node.vector_selector, exposed)
        case promql.VectorSelector():
            name = node.name or ""
            if name not in exposed:
                raise ValueError(f"unknown metric {name!r}")
            return _only({one.name for one in node.matchers.matchers}, exposed[name], name)
        case promql.AggregateExpr():
            return _grouped(node, _labels(node.expr, exposed) or set())
        case promql.BinaryExpr():
            return _matched(node, _labels(node.lhs, exposed), _labels(node.rhs, exposed))
        case promql.Call():
            return _called(node, [_labels(argument, exposed) for argument in node.args])
    raise ValueError(f"not read yet: {type(node).__name__}")


def _grouped(node: promql.AggregateExpr, found: Labels) -> Labels:
    if node.modifier is None:
        return set()
    grouping = set(node.modifier.labels)
    _only(grouping, found, "what is grouped")
    return grouping if node.modifier.type == promql.AggModifierType.By else found - grouping


def _matched(node: promql.BinaryExpr, left: Labels | None, right: Labels | None) -> Labels | None:
    if left is None or right is None:
        return right if left is None else left
    matching = node.modifier.matching if node.modifier else None
    if matching is None:
        if left != right:
            raise ValueError(f"nothing matches: {sorted(left)} and {sorted(right)}")
        return left
    for side in (left, right):
        _only(set(matching.labels), side, "what is matched")
    return left


def _called(node: promql.Call, arguments: list[Labels | None]) -> Labels | None:
    vectors = [labels for labels in arguments if labels is not None]
    if not vectors:
        return None
    [found] = vectors
    if node.func.name == "histogram_quantile":
        _only({"le"}, found, "histogram_quantile")
        return found - {"le"}
    return found


def _only(labels: Labels, found: Labels, where: str) -> Labels:
    if unknown := labels - found:
        raise ValueError(f"no label {sorted(unknown)} in {where}")
    return found
