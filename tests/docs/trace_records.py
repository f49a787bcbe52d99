"""The records of the canonical trace, made from traces/model.py: its docstrings are the meaning of the fields."""

from __future__ import annotations

import ast
from pathlib import Path

import traces.model
import traces.store
from tests.docs.markdown import cell, code, table

FIRST = ("TraceHeader", "Session", "Turn", "Attempt")
"""Records in the order of reading; the others follow as they stand in the module."""


def records() -> str:
    """A section a record: what it is, and its fields."""
    found = {**_classes(traces.store.__file__), **_classes(traces.model.__file__)}
    names = [*FIRST, *(name for name in found if name not in FIRST)]
    return "\n".join(_section(found[name]) for name in names)


def _classes(path: str | None) -> dict[str, ast.ClassDef]:
    assert path is not None
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and ast.get_docstring(node)
    }


def _section(node: ast.ClassDef) -> str:
    tag = next((ast.literal_eval(one.value) for one in node.keywords if one.arg == "tag"), None)
    about = _flat(ast.get_docstring(node) or "")
    head = f"### {node.name}\n\n" + (f'`"type": "{tag}"`: ' if tag else "") + about + "\n"
    rows = []
    for at, item in enumerate(node.body):
        after = node.body[at + 1] if at + 1 < len(node.body) else None
        meaning = _text(after)
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            default = "required" if item.value is None else code(ast.unparse(item.value))
            rows.append([code(item.target.id), code(ast.unparse(item.annotation)), default, cell(meaning)])
        elif isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant):
            rows.append([code(str(item.value.value)), "", "", cell(meaning)])
    return f"{head}\n{table(['field', 'type', 'default', 'meaning'], rows)}"


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return _flat(node.value.value)
    return ""


def _flat(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
