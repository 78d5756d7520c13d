# SPDX-License-Identifier: GPL-3.0-or-later
"""Results: the JSON of the program with attributes. Nothing here computes a prediction.

docs/formats.md explains every field. `.json` is the object as the program wrote it."""

from __future__ import annotations

import difflib
import html
import importlib.util
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Iterator, Mapping, TypeVar


class Estimate(float):
    """A predicted number with its 90 % interval. Without a number it is not-a-number (nan)."""

    low: float | None  # None: no draws, or no draw changes the number
    high: float | None
    unit: str

    def __new__(
        cls,
        value: float | None,
        low: float | None = None,
        high: float | None = None,
        unit: str = "",
    ) -> Estimate:
        estimate = super().__new__(cls, math.nan if value is None else value)
        estimate.low, estimate.high, estimate.unit = low, high, unit
        return estimate

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimate, (self.value, self.low, self.high, self.unit)

    @property
    def value(self) -> float | None:
        """The number; None if the case failed or has no such answer."""
        return None if math.isnan(self) else float(self)

    def __str__(self) -> str:
        if self.value is None:
            return "none"
        power, prefix = 0, ""
        if self.unit in ("s", "B", "B/s", "FLOP/s") and self.value:
            most = 0 if self.unit == "s" else 5
            power = min(max(math.floor(math.log10(abs(self)) / 3), -3), most)
            prefix = "num kMGTP"[power + 3].strip()
        scale = 1000.0**-power
        unit = f" {prefix}{self.unit}" if self.unit else ""
        if self.low is None or self.high is None:
            return f"{self * scale:.4g}{unit}"
        return f"{self * scale:.4g}{unit} ({self.low * scale:.4g} to {self.high * scale:.4g})"

    __repr__ = __str__

    def __format__(self, form: str) -> str:
        return format(float(self), form) if form else str(self)


@dataclass(frozen=True)
class Figure:
    """A plot that the program drew. Notebooks show it."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.svg, encoding="utf-8")


def _attribute(value: Any, unit: str = "") -> Any:
    if isinstance(value, dict):
        if {"value", "low", "high"} <= value.keys():
            return Estimate(value["value"], value["low"], value["high"], value.get("unit", unit))
        return value
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return Records(Record(part) for part in value)
    return value


class Record(Mapping[str, Any]):
    """An object of the JSON. Its fields are attributes, and keys of a mapping."""

    def __init__(self, json: Mapping[str, Any], units: Mapping[str, str] | None = None):
        self.json = json
        self._units = units or {}

    def __getitem__(self, key: str) -> Any:
        return _attribute(self.json[key], self._units.get(key) or "")

    def __iter__(self) -> Iterator[str]:
        return iter(self.json)

    def __len__(self) -> int:
        return len(self.json)

    def __getattr__(self, name: str) -> Any:
        # Copies and notebooks ask for private names before `json` is set.
        if not name.startswith("_") and name in self.json:
            return self[name]
        near = difflib.get_close_matches(name, self.__dir__(), 1)
        better = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(self.__dir__())}"
        raise AttributeError(f"this result has no '{name}' ({better})")

    def __dir__(self) -> list[str]:
        return sorted([*self.__dict__.get("json", ()), "json"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self.json)!r})"

    def flat(self) -> dict[str, Any]:
        """Returns a row of a frame: an estimate takes three columns, as in the program's CSV."""
        row: dict[str, Any] = {}
        for key, value in self.items():
            if isinstance(value, Estimate):
                row.update({key: value.value, f"{key}_low": value.low, f"{key}_high": value.high})
            elif not isinstance(value, (dict, list, Record)):
                row[key] = value
        return row


Row = TypeVar("Row", bound=Record)


def make_frame(rows: list[dict[str, Any]], library: str | None = None) -> Any:
    """Returns rows as a frame of pandas, or of polars where only that is installed."""
    for name in [library] if library else ["pandas", "polars"]:
        if name in ("pandas", "polars") and importlib.util.find_spec(name):
            if name == "pandas":
                import pandas

                return pandas.DataFrame(rows)
            import polars

            return polars.DataFrame(rows, infer_schema_length=None)
    raise ImportError(
        f"frames need {library or 'pandas or polars'} (pip install pandas, or take .rows())"
    )


class Records(list[Row], Generic[Row]):
    """Several objects of the JSON."""

    def rows(self) -> list[dict[str, Any]]:
        return [record.flat() for record in self]

    def frame(self, library: str | None = None) -> Any:
        return make_frame(self.rows(), library)


def _cell(tag: str, value: Any) -> str:
    return f"<{tag}>{html.escape('' if value is None else str(value))}</{tag}>"


def _page(heading: str, rows: list[dict[str, Any]], figure: Figure | None, notes: str = "") -> str:
    """Returns HTML for a notebook. Cells are texts of the program."""
    filled = {key for row in rows for key in row if str(row[key]) not in ("None", "none", "")}
    columns = [key for key in (rows[0] if rows else ()) if key in filled]
    head = "".join(_cell("th", column) for column in columns)
    body = "".join(
        "<tr>" + "".join(_cell("td", row.get(column)) for column in columns) + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    svg = figure.svg[figure.svg.index("<svg") :] if figure else ""
    return f"<p><b>{html.escape(heading)}</b></p>{table}<p>{html.escape(notes)}</p>{svg}"


def _cells(record: Record) -> dict[str, Any]:
    return {
        key: f"{value:.4g}" if type(value) is float else value
        for key, value in record.items()
        if not isinstance(value, (dict, list))
    }


class Prediction(Record):
    """The prediction of a case. docs/formats.md explains each field."""

    case: str
    network: str | None
    stack: str | None
    precision: str | None
    runtime: str | None
    exchange: str | None
    library: str | None
    transport: str | None
    counted: str | None
    devices: str | None
    adapters: str | None
    local: str | None
    verdict: str
    reason: str | None
    throughput: Estimate
    tokens_per_s: Estimate
    step: Estimate
    ratio: Estimate
    gpu_utilization: Estimate
    breakdown: dict[str, float]
    waits: dict[str, float]
    bottleneck: str | None
    remedy: str | None
    without_effect: str | None
    idle_adapters: str | None
    events: int
    parameters: Records[Record]
    seed: int
    version: str
    draws: int
    failed_draws: int
    calls: int | None
    calls_by_kind: dict[str, float]
    polls: int | None
    retransmission_timeouts: float | None
    connect: float | None
    evidence: str | None
    interval_from: str | None
    drawn: dict[str, float]
    errors: Records[Record]
    gpus: int | None
    speedup: Estimate
    training: Estimate
    elapsed: Estimate
    phases: dict[str, float]
    goodput_ratio: Estimate
    failures: Estimate
    gpu_hours: Estimate
    spare_machines: float | None
    lost_by_cause: dict[str, float]
    checkpoint: dict[str, float]
    collectives: float | None
    communication: float | None
    tokens_per_s_gpu: Estimate
    model_flops_gpu: Estimate
    mfu: Estimate
    hfu: Estimate
    memory: float | None
    memory_lacking: float | None
    currency: str | None
    cost_unknown: str | None
    cost_per_hour: Estimate
    cost_per_year: Estimate
    cost_per_sample: Estimate
    cost_per_step: Estimate
    cost_per_token: Estimate
    cost_of_run: Estimate
    power: Estimate
    energy_per_year: Estimate
    energy_per_sample: Estimate
    energy_per_step: Estimate
    energy_per_token: Estimate
    energy_of_run: Estimate
    drawn_costs: dict[str, float]
    collective: str | None
    choice: str | None
    stages: Records[Record]
    requests: int
    refused: int
    overload: float
    statistical_error: float
    latency_statistical_error: float
    requests_wanted: float
    preempted: int
    latency_p50: Estimate
    latency_p90: Estimate
    latency_p95: Estimate
    latency_p99: Estimate
    first_token_mean: Estimate
    first_token_p50: Estimate
    first_token_p90: Estimate
    first_token_p95: Estimate
    first_token_p99: Estimate
    token: Estimate
    token_p50: Estimate
    token_p90: Estimate
    token_p95: Estimate
    token_p99: Estimate
    tokens_per_s_user: Estimate
    goodput: Estimate
    kv_cache_tokens: float
    between_tokens_p50: Estimate
    between_tokens_p90: Estimate
    between_tokens_p95: Estimate
    between_tokens_p99: Estimate
    slo_attainment: Estimate
    latency_cdf: dict[str, float]
    clients: Records[Record]
    waiting_calls: Records[Record]
    links: Records[Record]

    def __init__(
        self,
        json: Mapping[str, Any],
        figure: Figure | None = None,
        notes: tuple[str, ...] = (),
    ):
        super().__init__(json)
        self.figure = figure
        self.notes = notes

    @property
    def ok(self) -> bool:
        """Whether the simulated system works; if it does not, `reason` says why."""
        return bool(self.json["verdict"] == "ok")

    def __str__(self) -> str:
        if not self.ok:
            return f"{self.case}: {self.reason}"
        time = "mean latency" if "latency_p50" in self else "step time"
        return f"{self.case}: {self.throughput}, {time} {self.step}; bottleneck: {self.bottleneck}"

    __repr__ = __str__

    def frame(self, library: str | None = None) -> Any:
        return make_frame([self.flat()], library)

    def _repr_html_(self) -> str:
        remedy = f"Would help: {self.remedy}" if self.remedy else ""
        return _page(str(self), [], self.figure, remedy)


class Predictions(Records[Prediction]):
    """The predictions of several cases, with one figure."""

    figure: Figure | None = None
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        names = ("case", "throughput", "step", "ratio", "bottleneck", "verdict")
        rows = [{name: prediction.get(name) for name in names} for prediction in self]
        return _page("Predictions", rows, self.figure)


class Table:
    """A table of the program: of a sweep, a plan search, a comparison or a scaling.

    table[0].step_s is the cell of a row; table.column("step_s") are those of all rows."""

    def __init__(
        self,
        json: Mapping[str, Any],
        figure: Figure | None = None,
        notes: tuple[str, ...] = (),
    ):
        self.json = json
        self.figure = figure
        self.notes = notes
        self.title: str = json["title"]
        self.setup: str | None = json.get("setup")
        self.without_effect: str | None = json.get("without_effect")
        self.units: dict[str, str | None] = {c["name"]: c["unit"] for c in json["columns"]}
        units = {name: unit or "" for name, unit in self.units.items()}
        self.records: Records[Record] = Records(Record(row, units) for row in json["rows"])

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, index: int) -> Record:
        return self.records[index]

    def __repr__(self) -> str:
        return f"{self.title} ({len(self)} rows; columns: {', '.join(self.units)})"

    def column(self, name: str) -> list[Any]:
        return [record[name] for record in self.records]

    def rows(self) -> list[dict[str, Any]]:
        return self.records.rows()

    def frame(self, library: str | None = None) -> Any:
        return make_frame(self.rows(), library)

    def _repr_html_(self) -> str:
        return _page(self.title, [_cells(row) for row in self], self.figure, self.setup or "")


class Validation(Record):
    """Predictions of measured rows. `datasets` has rows, errors and bounds of each dataset."""

    datasets: Records[Record]
    all: dict[str, Any]

    def __init__(
        self,
        json: Mapping[str, Any],
        figure: Figure | None = None,
        notes: tuple[str, ...] = (),
        holds: bool = True,
    ):
        super().__init__(json)
        self.figure = figure
        self.notes = notes
        self.holds = holds  # whether every stated bound holds

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"dataset": dataset.name, **row.flat()}
            for dataset in self.datasets
            for row in dataset.rows
        ]

    def frame(self, library: str | None = None) -> Any:
        return make_frame(self.rows(), library)

    def __repr__(self) -> str:
        names = ", ".join(dataset.name for dataset in self.datasets)
        return f"Validation of {names} ({len(self.rows())} rows)"

    def _repr_html_(self) -> str:
        rows = [
            {"dataset": d.name, "role": role, **{k: v for k, v in d[role].items() if k != "worst"}}
            for d in self.datasets
            for role in ("test", "fit")
            if d.get(role)
        ]
        return _page(repr(self), rows, self.figure)
