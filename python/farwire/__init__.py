# SPDX-License-Identifier: GPL-3.0-or-later
"""farwire predicts the performance of remote GPUs, of training on many GPUs, and of serving.

    import farwire
    answer = farwire.run(topology="dgx-h100", model="llama3-8b", gpus=8)
    print(answer.throughput, answer.bottleneck)

A case is the name of a shipped one, a .cfg file, a dictionary, or keyword arguments. They are the
options of the command line with _ instead of - (`farwire run --help`), and `set` has parameters:
set={"link.wire.latency": "200 us"}. docs/PYTHON.md explains the results."""

from __future__ import annotations

import json as _json
import tempfile as _tempfile
from pathlib import Path as _Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence, overload

from . import _case
from ._case import Case
from ._display import listener_for as _listener_for
from ._program import Answer as _Answer
from ._program import Progress, call as _call, program
from .errors import CallTimeout, FarwireError, InputError, Problem, ProgramError, ProgramNotFound
from .results import Estimate, Figure, Prediction, Predictions, Record, Records, Table, Validation

if TYPE_CHECKING:
    from typing import Unpack

__version__ = "0.2.0"
__all__ = [
    "CallTimeout", "Case", "Estimate", "FarwireError", "Figure", "InputError", "Prediction",
    "Predictions", "Problem", "ProgramError", "ProgramNotFound", "Progress", "Record", "Records",
    "Table", "Validation", "compare", "explain", "names", "plan", "program", "run", "scale",
    "sensitivity", "serve", "solve", "sweep", "users", "validate",
]  # fmt: skip


def _ask(
    verb: str, cases: Sequence[Case], options: Mapping[str, Any], draws_a_plot: bool = True
) -> tuple[_Answer, Figure | None]:
    """Runs a verb with JSON output, and with a plot of the result where the verb draws one."""
    options = dict(options)
    listener = _listener_for(options.pop("progress", None))
    timeout = options.pop("timeout", None)
    if len(cases) == 1 and isinstance(cases[0], Mapping):
        given = _case.as_options(cases[0])
        if isinstance(given.get("set"), Mapping) and isinstance(options.get("set", {}), Mapping):
            options["set"] = {**given["set"], **options.get("set", {})}
        cases, options = (), {**given, **options}
    with _tempfile.TemporaryDirectory(prefix="farwire-") as folder:
        names, places = [], {}
        for number, case in enumerate(cases, 1):
            if isinstance(case, Mapping):
                path = _Path(folder) / f"{number}.cfg"
                places.update(_case.write_case(case, path, number))
                names.append(str(path))
            else:
                names.append(_case.text(case))
        words = [verb, *_case.words(options), "--format=json"]
        if any(name.startswith("-") for name in names):
            names.insert(0, "--")
        plot = _Path(folder) / "plot.svg"
        drawing = [f"--plot={plot}", "--no-data"] if draws_a_plot else []
        try:
            answer = _call([*words, *drawing, *names], listener, timeout, places)
        except InputError as error:
            if "--plot: " not in str(error):
                raise
            answer = _call([*words, *names], listener, timeout, places)  # it has no plot
        figure = Figure(plot.read_text(encoding="utf-8")) if plot.exists() else None
    notes = tuple(note for note in answer.notes if str(plot) not in note)
    return answer._replace(notes=notes), figure


def _table(verb: str, cases: Sequence[Case], options: Mapping[str, Any]) -> Table:
    answer, figure = _ask(verb, cases, options)
    return Table(_json.loads(answer.output), figure, answer.notes)


@overload
def run(case: Case = ..., /, **options: Unpack[_case.RunOptions]) -> Prediction: ...
@overload
def run(
    case: Case, second: Case, /, *more: Case, **options: Unpack[_case.RunOptions]
) -> Predictions: ...
def run(*cases: Case, **options: Any) -> Prediction | Predictions:
    """Predicts a case: throughput, ratio, step time and its parts. Several cases give a list."""
    answer, figure = _ask("run", cases, options)
    objects = _json.loads(answer.output)
    if len(cases) <= 1 and len(objects) == 1:
        return Prediction(objects[0], figure, answer.notes)
    result = Predictions(Prediction(part) for part in objects)
    result.figure, result.notes = figure, answer.notes
    return result


def serve(case: Case | None = None, /, **options: Unpack[_case.ServeOptions]) -> Prediction:
    """Predicts a case that serves requests. rate=10, prompt=512 are settings of `--serve`."""
    known = _case.RunOptions.__annotations__
    rest: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for name, value in options.items():
        (rest if name in known else settings)[name] = value
    given = rest.pop("serve", None)
    if isinstance(given, Mapping):
        settings.update(given)
    if settings or given:
        words = [given] if isinstance(given, str) else []
        rest["serve"] = ",".join([*words, *([_case.text(settings)] if settings else [])])
    prediction: Prediction = run(**rest) if case is None else run(case, **rest)
    return prediction


def compare(*cases: Case, **options: Unpack[_case.CompareOptions]) -> Table:
    """Compares cases with the first one, which counts as 1."""
    return _table("compare", cases, options)


def scale(*case: Case, **options: Unpack[_case.CompareOptions]) -> Table:
    """Predicts a training job on increasing numbers of GPUs: gpus=[1, 2, 4]."""
    return _table("scale", case, options)


def sweep(*case: Case, **options: Unpack[_case.SweepOptions]) -> Table:
    """Predicts a case over a grid: vary={"link.wire.latency": ["1 us", "100 us"]}."""
    return _table("sweep", case, options)


def plan(*case: Case, **options: Unpack[_case.PlanOptions]) -> Table:
    """Searches the plans by which a transformer is split over GPUs, the fastest first.

    `plan={"global_batch": 64}` fixes parts of the plan. `topology=["dgx-a100", "dgx-h100"]`
    compares the best plans of several systems."""
    return _table("plan", case, options)


def solve(*case: Case, **options: Unpack[_case.SolveOptions]) -> Table:
    """Solves for the value of for_="KEY" at which target="ratio>=0.9" is met."""
    return _table("solve", case, options)


def users(*case: Case, **options: Unpack[_case.UsersOptions]) -> Table:
    """Finds the GPUs that users need: users="0-7:5,8-17:40", active="25 %"."""
    return _table("users", case, options)


def sensitivity(*case: Case, **options: Unpack[_case.SensitivityOptions]) -> Table:
    """Ranks parameters by their influence on a result."""
    return _table("sensitivity", case, options)


def explain(
    case: Case | None = None, /, *keys: str, **options: Unpack[_case.CaseOptions]
) -> Records[Record]:
    """Lists the parameters of a case, or those whose names contain keys, with their sources."""
    cases: list[Case] = [] if case is None else [case]
    if isinstance(case, Mapping):
        merged: Any = {**_case.as_options(case), **options}
        cases, options = [], merged
    answer, _ = _ask("explain", [*cases, *keys], options, draws_a_plot=False)
    return Records(Record(part) for part in _json.loads(answer.output))


def validate(*datasets: str, **options: Unpack[_case.ValidateOptions]) -> Validation:
    """Predicts measured rows of datasets (all without a name) and returns their errors."""
    answer, figure = _ask("validate", datasets, options)
    return Validation(_json.loads(answer.output), figure, answer.notes, answer.code == 0)


def names(what: str) -> list[str]:
    """Lists shipped names: names("topologies"), "models", "cases", "runtimes", "datasets"."""
    return _call(["list", "--plain", "--", what]).output.split()
