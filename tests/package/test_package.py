"""The house rules that no linter checks: light imports, one name a module, imports that run downward, small files."""

import ast
import fnmatch
import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = {name: ROOT.joinpath(*name.split(".")[1:]) for name in PROJECT["tool"]["setuptools"]["packages"]}
HEAVY = {"torch", "sentence_transformers", "transformers", "mlflow", "datasets", "litellm", "matplotlib", "pandas"}
LOADED_LATE = HEAVY | {"faiss", "bm25s", "xllamacpp", "gepa", "optuna"}
# A room may import from rooms of a smaller number; signatures and retrievers know nothing of each other.
ROOMS = {"signatures": 0, "retrievers": 0, "program": 1, "metrics": 2, "optimize": 3, "runs": 4}
# Beside the six rooms: what every room may raise.
SHARED = {"errors"}


def modules():
    """Every module of the package, by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for file in sorted(folder.glob("*.py")):
            found[package if file.stem == "__init__" else f"{package}.{file.stem}"] = file
    return found


MODULES = modules()


def loaded_by(code):
    """The top-level packages in `sys.modules` after running code in a fresh interpreter."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/")
    return set(json.loads(run.stdout.splitlines()[-1]))


def tree_of(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(name, *, late=True):
    """(target, at module level) of what a module imports; targets inside the package are full dotted names."""
    file = MODULES[name]
    package = name if file.stem == "__init__" else name.rpartition(".")[0]

    def walk(node, top):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.Import):
                yield from ((alias.name, top) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = package.split(".")[: len(package.split(".")) - child.level + 1] if child.level else []
                target = ".".join([*base, *([child.module] if child.module else [])])
                submodules = [f"{target}.{alias.name}" for alias in child.names if f"{target}.{alias.name}" in MODULES]
                yield from ((found, top) for found in submodules or [target])
            inner = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, top and not inner)

    return [(target, top) for target, top in walk(tree_of(file), True) if late or top]


@pytest.mark.parametrize(
    "code",
    [
        "import executionrag",
        "from executionrag import ExecutionRAG, Index, MiniHop",
        "from executionrag import MiniHop; MiniHop.devset",
        "from executionrag.metrics.contain_match import answer_contains",
    ],
)
def test_nothing_heavy_is_loaded_by(code):
    assert loaded_by(code) & HEAVY == set()


def test_importing_the_package_loads_not_even_dspy():
    assert "dspy" not in loaded_by("import executionrag")


def test_the_public_names_are_there_and_no_others():
    package = importlib.import_module("executionrag")
    assert dir(package) == ["ExecutionRAG", "Index", "MiniHop"]
    assert all(getattr(package, name) is getattr(package, name) for name in dir(package))
    with pytest.raises(AttributeError, match="no attribute 'Nonesuch'"):
        package.Nonesuch  # noqa: B018


def test_no_module_is_loaded_under_two_names():
    for name in MODULES:
        importlib.import_module(name)
    names = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name != "__main__" and ROOT in Path(file).resolve().parents:
            names.setdefault(Path(file).resolve(), set()).add(name)
    for name, file in MODULES.items():
        # pytest reads the root's __init__.py under the folder's name as well, which is why it imports nothing itself.
        if name != "executionrag":
            assert names[file.resolve()] == {name}


def test_every_folder_with_modules_is_listed_as_a_package():
    rooms = [folder for folder in ROOT.iterdir() if folder.is_dir() and folder.name in ROOMS]
    folders = {file.parent for room in rooms for file in room.rglob("*.py") if "__pycache__" not in file.parts}
    assert folders | {ROOT} == set(PACKAGES.values())
    assert all((folder / "__init__.py").is_file() for folder in folders)


def test_every_other_file_of_a_package_is_in_its_package_data():
    data = PROJECT["tool"]["setuptools"]["package-data"]
    missing = []
    for package, folder in PACKAGES.items():
        if folder == ROOT:
            continue
        for file in folder.rglob("*"):
            owner = next(parent for parent in file.parents if parent in PACKAGES.values())
            if owner != folder or file.is_dir() or file.suffix in (".py", ".pyc"):
                continue
            path = file.relative_to(folder).as_posix()
            if not any(fnmatch.fnmatch(path, pattern) for pattern in data.get(package, [])):
                missing.append(f"{package}: {path}")
    assert missing == []
    stale = [
        (package, glob) for package, globs in data.items() for glob in globs if not any(PACKAGES[package].glob(glob))
    ]
    assert stale == []
    assert data["executionrag"] == ["py.typed"]
    assert (ROOT / "py.typed").is_file()


def test_imports_run_downward_only():
    wrong = []
    for name in MODULES:
        room = name.split(".")[1] if name.count(".") else ""
        if room not in ROOMS:
            continue
        for target, _ in imports(name):
            parts = target.split(".")
            if parts[0] != "executionrag":
                continue
            other = parts[1] if len(parts) > 1 else ""
            if other != room and other not in SHARED and ROOMS.get(other, 99) >= ROOMS[room]:
                wrong.append(f"{name} imports {target}")
    assert wrong == []


def test_nothing_below_the_root_imports_by_absolute_name():
    wrong = [
        f"{name}: {ast.unparse(node)}"
        for name, file in MODULES.items()
        for node in ast.walk(tree_of(file))
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("executionrag"))
        or (isinstance(node, ast.Import) and any(alias.name.startswith("executionrag") for alias in node.names))
    ]
    assert wrong == []


def test_no_import_is_circular():
    graph = {name: {target for target, _ in imports(name) if target in MODULES} - {name} for name in MODULES}
    done, path = set(), []

    def visit(name):
        if name in path:
            raise AssertionError(" -> ".join([*path[path.index(name) :], name]))
        if name not in done:
            path.append(name)
            for target in sorted(graph[name]):
                visit(target)
            path.pop()
            done.add(name)

    for name in sorted(graph):
        visit(name)


def test_heavy_libraries_are_imported_where_they_are_used():
    wrong = [
        f"{name} imports {target}"
        for name in MODULES
        for target, _ in imports(name, late=False)
        if target.split(".")[0] in LOADED_LATE
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(list(MODULES.values()), id="package"),
        pytest.param(sorted((ROOT / "tests").rglob("*.py")), id="tests"),
    ],
)
def test_no_file_is_over_400_lines(files):
    lines = {file.relative_to(ROOT).as_posix(): len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {name: count for name, count in lines.items() if count > 400} == {}


def test_only_the_output_module_prints():
    printing = {
        name
        for name, file in MODULES.items()
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert printing <= {"executionrag.runs.output"}


def test_nothing_is_pickled():
    pickling = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
    wrong = [
        f"{name} imports {target}"
        for name in MODULES
        for target, _ in imports(name)
        if target.split(".")[0] in pickling
    ]
    assert wrong == []
    assert [name for name, file in MODULES.items() if "allow_pickle=True" in file.read_text(encoding="utf-8")] == []


def test_every_module_says_what_it_is_for():
    assert [name for name, file in MODULES.items() if not ast.get_docstring(tree_of(file))] == []


def test_tests_have_names_of_their_own_and_are_no_package():
    files = [file for file in (ROOT / "tests").rglob("*.py") if file.name != "conftest.py"]
    assert len({file.name for file in files}) == len(files)
    assert not list((ROOT / "tests").rglob("__init__.py"))
    assert not (ROOT / "conftest.py").exists()


def test_the_dependencies_that_modules_import_are_declared():
    declared = {
        "".join(part for part in requirement.split(">")[0].split("=")[0].split("[")[0])
        .strip()
        .lower()
        .replace("-", "_")
        for requirement in [
            *PROJECT["project"]["dependencies"],
            *(found for extra in PROJECT["project"]["optional-dependencies"].values() for found in extra),
        ]
    }
    named = {"stemmer": "pystemmer", "faiss": "faiss_cpu"}
    # What the declared ones bring along: sentence-transformers, DSPy, pydantic.
    implied = {"torch", "huggingface_hub", "transformers", "safetensors", "litellm", "pydantic_core", "executionrag"}
    used = {target.split(".")[0].lower() for name in MODULES for target, _ in imports(name)}
    undeclared = {
        name
        for name in used - set(sys.stdlib_module_names) - implied - {"stemmer", "faiss", "__future__"}
        if named.get(name, name) not in declared
    }
    assert undeclared == set()
