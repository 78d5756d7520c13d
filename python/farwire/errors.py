# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of the program as exceptions, with place and correction."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Sequence


@dataclass(frozen=True)
class Problem:
    """One error that the program found: where it is, what is wrong, what to write instead."""

    text: str  # the whole line of the program
    place: str | None = None  # "FILE:LINE", "--OPTION", or "case 2, batch" for a dictionary
    file: str | None = None
    line: int | None = None
    option: str | None = None  # for example "--batch"
    correction: str | None = None  # for example "write a whole number from 1 to 1000000"

    def __str__(self) -> str:
        return self.text


PLACE = re.compile(
    r"(?P<place>(?P<option>--?[a-z][a-z-]*)|(?P<file>[^:()']+):(?P<line>\d+)|case \d+(, \w+)?): "
)
UNKNOWN = re.compile(r"takes no option (?P<option>--[^ ]+)")
CORRECTION = re.compile(r"\(((?:[^()]|\([^()]*\))*)\)\.?$")


def problem_of(text: str) -> Problem:
    place, correction, unknown = PLACE.match(text), CORRECTION.search(text), UNKNOWN.search(text)
    option = place["option"] if place else unknown["option"] if unknown else None
    return Problem(
        text,
        place["place"] if place else option,
        place["file"] if place else None,
        int(place["line"]) if place and place["line"] else None,
        option,
        correction[1] if correction else None,
    )


def problems_of(message: str) -> tuple[Problem, ...]:
    return tuple(problem_of(line) for line in message.splitlines())


class FarwireError(Exception):
    """The program gave no result. str() has its messages; problems has them in parts."""

    def __init__(
        self,
        message: str,
        problems: Sequence[Problem] = (),
        code: int | None = None,
        command: Sequence[str] = (),
    ):
        super().__init__(message)
        self.problems = tuple(problems) or problems_of(message)
        self.code = code
        self.command = shlex.join(command)
        first = self.problems[0]
        self.place, self.correction = first.place, first.correction
        self.file, self.line, self.option = first.file, first.line, first.option


class InputError(FarwireError, ValueError):
    """An option, a parameter or a file is wrong (exit code 2)."""


class ProgramError(FarwireError, RuntimeError):
    """The program broke an invariant, could not write a file, or crashed."""


class ProgramNotFound(FarwireError, FileNotFoundError):
    """There is no program farwire, or the system cannot start it."""

    def __str__(self) -> str:
        return str(self.args[0])


class CallTimeout(FarwireError, TimeoutError):
    """The program did not answer within the timeout, and was stopped."""

    def __str__(self) -> str:
        return str(self.args[0])
