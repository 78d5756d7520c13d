# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts the program farwire and reads what it prints. No shell takes part."""

from __future__ import annotations

import errno
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import tty
from pathlib import Path
from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

from .errors import CallTimeout, InputError, ProgramError, ProgramNotFound, problems_of

HERE = Path(__file__).resolve().parent
STOP_S = 3.0  # time that an interrupted program gets before it is killed


class Progress(NamedTuple):
    """A line of the program about its progress."""

    done: int
    total: int  # 0: the program does not know it yet
    text: str  # the whole line, for example "20 of 100 points, 5 per second, 16 s left"


class Answer(NamedTuple):
    output: str
    notes: tuple[str, ...]  # what the program printed beside its results
    code: int  # 0, or 3 if a stated bound is broken


Listener = Callable[[Progress], None]

PROGRESS = re.compile(r"(\d+) of (\d+) [a-z].*")
WORKING = re.compile(r"working for \d+ s, .*|farwire: predicting .*|continuing after .*")
LINE_END = re.compile(rb"[\r\n]+")


def program() -> Path:
    """Returns the program: $FARWIRE, that of the wheel, of the checkout, or of the PATH."""
    given = os.environ.get("FARWIRE")
    near = [HERE / "program" / "bin" / "farwire", HERE.parents[1] / "build" / "farwire"]
    for path in [Path(given)] if given else near:
        if os.access(path, os.X_OK) and path.is_file():
            return path
    found = shutil.which("farwire")
    if found and not given:
        return Path(found)
    where = f"FARWIRE: there is no program '{given}'" if given else "there is no program farwire"
    raise ProgramNotFound(
        f"{where} (type `make` in the checkout, or install the wheel that `make wheel` writes)"
    )


def environment(path: Path) -> dict[str, str]:
    """Returns the environment of the program. A wheel has the shared libraries that it needs."""
    names = dict(os.environ)
    libraries = path.resolve().parents[1] / "lib"
    if libraries.parent.parent == HERE:
        before = names.get("LD_LIBRARY_PATH")
        names["LD_LIBRARY_PATH"] = f"{libraries}{':' + before if before else ''}"
    return names


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _lines(descriptor: int, deadline: float | None) -> Iterator[str]:
    """Yields the lines of a pipe or terminal until its other end is closed."""
    held = b""
    ready = select.poll()  # unlike select, it takes descriptors above 1023
    ready.register(descriptor, select.POLLIN)
    while True:
        if not ready.poll(None if deadline is None else 1000 * _left(deadline)):
            raise TimeoutError
        try:
            read = os.read(descriptor, 1 << 16)
        except OSError:  # the terminal was closed
            read = b""
        *whole, held = LINE_END.split(held + read)
        for line in whole if read else [*whole, held]:
            text = line.decode(errors="replace").replace("\x1b[K", "").strip()
            if text:
                yield text
        if not read:
            return


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Ends the program. An interrupt lets a sweep keep its journal."""
    try:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            child.wait(STOP_S)
    except subprocess.TimeoutExpired:
        pass
    finally:  # also after a second interrupt
        child.kill()
        child.wait()


def _channel(listener: Listener | None) -> tuple[int, int]:
    """Returns both ends of the channel for messages: a terminal makes progress more frequent."""
    if listener:
        try:
            ours, theirs = os.openpty()
            tty.setraw(theirs)
            return ours, theirs
        except OSError:
            pass  # a system without pseudo-terminals
    return os.pipe()


def _listen(ours: int, listener: Listener | None, deadline: float | None) -> tuple[str, ...]:
    notes = []
    for line in _lines(ours, deadline):
        found = PROGRESS.fullmatch(line)
        if not found and not WORKING.fullmatch(line):
            notes.append(line)
        elif listener:
            done, total = (int(found[1]), int(found[2])) if found else (0, 0)
            listener(Progress(done, total, line))
    return tuple(notes)


def call(
    words: Sequence[str],
    listener: Listener | None = None,
    timeout: float | None = None,
    places: Mapping[str, str] | None = None,
) -> Answer:
    """Runs `farwire WORDS`. places: texts that replace names of temporary files in errors.

    timeout is in seconds. The program is stopped after it, and after any exception."""
    path = program()
    deadline = None if timeout is None else time.monotonic() + timeout
    ours, theirs = _channel(listener)
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                [str(path), *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=theirs,
                env=environment(path),
            )
        except (OSError, ValueError) as error:
            os.close(ours)
            if not isinstance(error, OSError) or error.errno == errno.E2BIG:
                what = "is too long" if isinstance(error, OSError) else "has a zero byte"
                raise InputError(f"an argument {what} (write another text)") from error
            raise ProgramNotFound(f"{path} cannot be started: {error.strerror}") from error
        finally:
            os.close(theirs)
        try:
            notes = _listen(ours, listener, deadline)
            child.wait(None if deadline is None else _left(deadline))
        except (TimeoutError, subprocess.TimeoutExpired):
            raise CallTimeout(
                f"no result after {timeout:g} s (allow a longer timeout, or ask for fewer draws)"
            ) from None
        finally:
            _stop(child)
            os.close(ours)
        output.seek(0)
        text = output.read().decode()
    if child.returncode in (0, 3):
        return Answer(text, notes, child.returncode)
    message = "\n".join(notes) or f"the program ended with {child.returncode}"
    for name, place in (places or {}).items():
        message = message.replace(name, place)
    kind = InputError if child.returncode == 2 else ProgramError
    typed = [word for word in words if not word.startswith(("--format=json", "--plot=", "--no-d"))]
    raise kind(message, problems_of(message), child.returncode, ["farwire", *typed])
