# SPDX-License-Identifier: GPL-3.0-or-later
"""Executes a notebook: run_notebook.py FILE. With nbclient in a kernel, without it cell by cell.

Prints the text of all outputs. Ends with an exception if a cell raises one."""

import ast
import json
import sys


def show(value):
    if hasattr(value, "_repr_html_"):
        print("html:", value._repr_html_())
    elif value is not None:
        print(repr(value))


def run_plainly(cells):
    names = {"__name__": "__main__"}
    for source in cells:
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if last:
            show(eval(compile(ast.Expression(last.value), "cell", "eval"), names))


def run_in_kernel(path):
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            print(output.get("text", "") or "html: " + data.get("text/html", ""))


def main(path, how):
    if how == "kernel":
        run_in_kernel(path)
        return
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    run_plainly("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


main(*sys.argv[1:])
