# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyword arguments and dictionaries as options and case files of the program.

The program checks every name and value, so nothing here knows which ones are allowed."""

from __future__ import annotations

import math
import numbers
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Mapping, TypedDict, Union

Value = Union[str, int, float, bool, "os.PathLike[str]"]
Values = Union[Value, Iterable[Value]]
Settings = Union[str, Mapping[str, Values]]
Case = Union[str, "os.PathLike[str]", Mapping[str, Any]]
from .errors import InputError

if TYPE_CHECKING:
    from ._program import Listener

# Options that are given once for each element of a mapping or list.
REPEATED = {"set", "vary", "target", "for_"}
# Options that say where results go. This package returns them as objects.
OUTPUT = {"format", "output", "plot", "no_data", "wide", "color", "quiet", "links", "help"}


class Control(TypedDict, total=False):
    """Arguments of this package, which the program does not see."""

    progress: Union[bool, "Listener", None]  # None: shown on a terminal and in a notebook
    timeout: float | None  # seconds


class Output(Control, total=False):
    """Options of every verb that predicts."""

    set: Settings
    seed: int
    draws: int
    jobs: int
    title: str


class CaseOptions(Output, total=False):
    """Options that describe a case (`farwire run --help`)."""

    topology: str | os.PathLike[str] | list[str]
    model: str | os.PathLike[str]
    calls: str | os.PathLike[str]
    stack: str | os.PathLike[str]
    engine: str | os.PathLike[str]
    runtime: str | os.PathLike[str]
    transport: str
    profile: str | os.PathLike[str]
    program: str
    server: str
    gpu: str
    batch: int
    fraction: float
    copies: int
    gpus: Values
    tokens: float | str
    prices: str | os.PathLike[str]
    devices: Values
    adapters: Values
    fail: Values
    degrade: Settings
    plan: Settings
    serve: Settings
    exchange: str | os.PathLike[str]
    collective: str
    events: int


class RunOptions(CaseOptions, total=False):
    trace: str | os.PathLike[str]
    timeline: str | os.PathLike[str]
    all_ranks: bool


class ServeOptions(RunOptions, total=False):
    """The settings of `--serve` that most cases need; `serve={...}` takes all of them."""

    rate: float | str
    concurrency: int
    requests: int
    prompt: int
    output: int
    prefix: int
    first_slo: str
    between_slo: str
    latency_slo: str


class CompareOptions(CaseOptions, total=False):
    target: str | Iterable[str]


class SweepOptions(CaseOptions, total=False):
    vary: Mapping[str, Values]
    target: str | Iterable[str]


class PlanOptions(CaseOptions, total=False):
    target: str | Iterable[str]
    vary: Mapping[str, Values]
    best: int
    exhaustive: bool


class SolveOptions(CaseOptions, total=False):
    target: str | Iterable[str]
    for_: str
    between: str


class UsersOptions(CaseOptions, total=False):
    users: int | str
    active: float | str
    target: str | Iterable[str]


class SensitivityOptions(CaseOptions, total=False):
    of: str
    for_: str | Iterable[str]
    vary_all: str


class ValidateOptions(Output, total=False):
    topology: str | os.PathLike[str]
    model: str | os.PathLike[str]
    engine: str | os.PathLike[str]
    transport: str
    profile: str | os.PathLike[str]
    exchange: str | os.PathLike[str]
    leave_out_systems: bool


def text(value: Any) -> str:
    """Returns a value as the program reads it. Elements of lists are separated by commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={text(part)}" for key, part in value.items())
    if isinstance(value, Iterable):
        return ",".join(text(part) for part in value)
    return str(value)


def words(options: Mapping[str, Any]) -> list[str]:
    """Returns options as words of the command line. None and False leave out an option."""
    result = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if name in OUTPUT:
            raise InputError(f"{option}: results are returned as objects (leave out {name})")
        if value is True:
            result.append(option)
        elif name in REPEATED and isinstance(value, Mapping):
            result += [f"{option}={key}={text(part)}" for key, part in value.items()]
        elif name in REPEATED and not isinstance(value, str):
            result += [f"{option}={text(part)}" for part in value]
        else:
            result.append(f"{option}={text(value)}")
    return result


def as_options(case: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a case given as a dictionary as options. Keys with a dot are settings."""
    result = {key: value for key, value in case.items() if "." not in key and key != "set"}
    settings = {key: value for key, value in case.items() if "." in key}
    given = case.get("set", {})
    if settings:
        if not isinstance(given, Mapping):
            raise TypeError("set must be a dictionary beside keys with a dot")
        result["set"] = {**settings, **given}
    elif given:
        result["set"] = given
    return result


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return text(value)
    if isinstance(value, numbers.Integral):  # also those of numpy
        return f"{int(value)}" if abs(int(value)) < 1 << 31 else f"{int(value)}L"
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    return _quoted(text(value))


def write_case(case: Mapping[str, Any], path: Path, number: int) -> dict[str, str]:
    """Writes a dictionary as a case file, one key a line, and returns the place of each line."""
    options = as_options(case)
    settings = [f"{key}={text(value)}" for key, value in dict(options.pop("set", {})).items()]
    for group in ("plan", "serve"):
        given = options.pop(group, {})
        pairs = given.split(",") if isinstance(given, str) else words({"set": given})
        settings += [f"{group}.{pair.removeprefix('--set=')}" for pair in pairs]
    options = {key: value for key, value in options.items() if value is not None}
    for key in options:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", key):
            raise InputError(f"case {number}: {key!r} is not a name of an option or parameter")
    lines = ["case = {"] + [f"{key} = {_plain(value)};" for key, value in options.items()]
    lines.append(f"settings = [{', '.join(map(_quoted, settings))}];")
    path.write_text("\n".join([*lines, "};", ""]), encoding="utf-8", errors="surrogateescape")
    places = {
        f"{path}:{line}:": f"case {number}, {name}:"
        for line, name in enumerate([*options, "settings"], 2)
    }
    return {**places, str(path): f"case {number}"}
