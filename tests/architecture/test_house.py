"""The house of the design: imports point down, files stay small, nothing names a machine."""

import ast
import re
import subprocess

import pytest

from tests.sites import ROOT

LAYERS = [  # a module may import from its own layer's prefixes and from earlier ones
    ("forge_project.kernel", 0),
    ("forge_project.env", 1),
    ("forge_project.ledger", 1),
    ("artifacts", 2),
    ("approvals", 2),
    ("executions.states", 3),
    ("executions.errors", 3),
    ("executions.bounds", 4),
    ("executions.models", 4),
    ("executions.outbox", 4),
    ("executions.transitions", 5),
    ("executions.selectors", 5),
    ("executions.capabilities", 6),
    ("executions.sandbox", 6),
    ("executions.services", 7),
    ("executions", 8),
    ("forge_project", 9),
]
APART = [
    ("artifacts", "approvals"),
    ("approvals", "artifacts"),
    ("executions.sandbox", "django"),
    ("executions.sandbox", "executions.models"),
    ("executions.capabilities", "executions.models"),
    ("executions.capabilities", "django"),
]
TOP_LEVEL = {
    "manage.py",
    "forge_project",
    "executions",
    "approvals",
    "artifacts",
    "tests",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-quickjs.txt",
    "README.md",
    "LICENSE",
    "Makefile",
    "pyproject.toml",
    "docs",
}


def tracked(suffix=""):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split("\n")
    found = [ROOT / name for name in listed if name.endswith(suffix) and name and (ROOT / name).exists()]
    if not found:
        pytest.skip("not a git checkout")
    return found


def sources():
    return [path for path in tracked(".py") if path.relative_to(ROOT).parts[0] not in {"tests", "manage.py"}]


def module(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def under(name, prefix):
    return name == prefix or name.startswith(prefix + ".")


def layer(name):
    return next((level for prefix, level in LAYERS if under(name, prefix)), None)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:  # only what runs outside the package may: the guest's side of the sandbox
                assert "inside" in path.parts, f"{path}: relative import"
                continue
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_imports_point_down():
    wrong = []
    for path in sources():
        here = module(path)
        for name in imports(path):
            if layer(name) is not None and "migrations" not in here and layer(name) > layer(here):
                wrong.append(f"{here} imports {name}")
            wrong += [f"{here} imports {name}" for a, b in APART if under(here, a) and under(name, b)]
    assert wrong == []


def test_files_and_functions_stay_small():
    long = [str(path) for path in sources() if len(path.read_text().splitlines()) > 300]
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno > 60:
                long.append(f"{path}:{node.name}")
    assert long == []


def test_every_public_thing_says_what_it_promises():
    bare = []
    for path in sources():
        if "migrations" in path.parts or (path.name == "__init__.py" and not path.read_text()):
            continue
        tree = ast.parse(path.read_text())
        if not ast.get_docstring(tree):
            bare.append(str(path))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                told = ast.get_docstring(node) or node.name == "Command" or node.name.endswith("Admin")
                bare += [] if told else [f"{path}:{node.name}"]
    assert bare == []


def test_the_top_level_is_fixed():
    there = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert {name for name in there if not name.startswith(".")} <= TOP_LEVEL


@pytest.mark.parametrize("word", [r"/work/", r"/root/", r"\.library", r"\.\./shared"])
def test_nothing_names_a_machine(word):
    named = []
    for path in tracked():
        if path == ROOT / "tests/architecture/test_house.py":
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        named += [str(path)] if re.search(word, text) else []
    assert named == []
