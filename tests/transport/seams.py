"""The source of a member of a library, in a form that changes only when what it does changes."""

import ast
import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Gone(Exception):
    """There is no such member any more."""


def source(module: str, path: str) -> str:
    """The source of a function or class, decorators included, comments and docstrings not."""
    found: Any = _parsed(module)
    for name in path.split("."):
        found = next((node for node in found.body if _name(node) == name), None)
        if found is None:
            raise Gone(f"{module} has no {path}")
    # Not ast.dump, which differs between versions of Python.
    return ast.unparse(_WithoutDocstrings().visit(found))


def digest(module: str, path: str) -> str:
    """A short hash of that source."""
    return hashlib.sha256(source(module, path).encode()).hexdigest()[:12]


def private_names(folder: Path) -> dict[str, list[str]]:
    """Private attributes that modules use and do not define, each with where it is used."""
    used: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        own = {name for node in ast.walk(tree) for name in _defined(node)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or not _is_private(node.attr):
                continue
            if node.attr not in own or not _is_self(node.value):
                place = f"{file.relative_to(folder)}:{node.lineno}"
                used.setdefault(f"{ast.unparse(node.value)}.{node.attr}", []).append(place)
    return used


@cache
def _parsed(module: str) -> ast.Module:
    # Read, not imported: parts of Faust are compiled, and their source lies beside them.
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise Gone(f"there is no {module}")
    file = Path(spec.origin)
    if file.suffix != ".py":
        file = file.with_name(module.rpartition(".")[2] + ".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _name(node: ast.AST) -> str | None:
    if isinstance(node, Definition):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def _defined(node: ast.AST) -> list[str]:
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        # Not what is only added to: that was defined elsewhere.
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        attributes = [one for target in targets for one in ast.walk(target)]
        return [one.attr for one in attributes if isinstance(one, ast.Attribute)]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    return []


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


class _WithoutDocstrings(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, Definition) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node
