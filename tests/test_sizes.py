"""No module and no function is so long that it hides a second one."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "llamon_agent"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if not path.name.endswith("_contract.py")]  # those are tests

MOST_LINES = 450
MOST_LINES_OF_A_FUNCTION = 50


def test_no_module_is_long() -> None:
    lines = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_no_function_is_long() -> None:
    long = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                if count > MOST_LINES_OF_A_FUNCTION:
                    long[f"{path.relative_to(PACKAGE)}:{node.name}"] = count
    assert long == {}
