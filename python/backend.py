# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the Python wheel with the standard library only (`make wheel`, `pip install ./python`).

The wheel has the program, the shared libraries that it needs besides the C library, their
licences, the data, the man pages and the completion. So it runs where the C library is new enough.
These functions are the hooks of PEP 517 and PEP 660."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

PYTHON = Path(__file__).resolve().parent
ROOT = PYTHON.parent
C_LIBRARY = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux.*|linux-vdso)\.so")
EPOCH = (1980, 1, 1, 0, 0, 0)  # of all files, so that the same sources give the same wheel
SUMMARY = "predicts the performance of remote GPUs, of training on many GPUs, and of serving"


def version() -> str:
    found = re.search(r'FARWIRE_VERSION "(.*)"', (ROOT / "sim/result/result.h").read_text())
    if not found:
        raise SystemExit("sim/result/result.h: no FARWIRE_VERSION")
    return found[1]


def tag() -> str:
    """Names the oldest C library for which pip installs the wheel: that of this machine."""
    major, minor = platform.libc_ver()[1].split(".")[:2]
    return f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"


def needed_libraries(program: Path) -> dict[str, Path]:
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    found = dict(re.findall(r"^\s*(\S+) => (/\S+) ", listed, re.MULTILINE))
    return {name: Path(path) for name, path in found.items() if not C_LIBRARY.match(name)}


def package_of(library: Path) -> str:
    """Returns the Debian package of a library. /lib can be a link to /usr/lib."""
    for path in (library, library.resolve(), Path("/usr") / library.relative_to("/")):
        asked = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True)
        if asked.returncode == 0:
            return asked.stdout.split(":")[0]
    raise SystemExit(f"{library} belongs to no Debian package, so its licence is not known")


def add_libraries(program: Path, to: Path) -> None:
    (to / "licences").mkdir(parents=True)
    for name, library in needed_libraries(program).items():
        shutil.copyfile(library, to / name)
        package = package_of(library)
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", to / "licences" / package)


def install_program(build: str, tree: Path) -> None:
    """Installs the program and its data below tree. Programs for CUDA and MPI are left out."""
    names = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", "--no-print-directory", "-C", ROOT, "install", f"DESTDIR={tree}", "PREFIX="]
    options = [f"BUILD={build}", "NVCC=", "CUPTI_H=", "MPICC=no-mpi"]
    subprocess.run([*map(str, command), *options], check=True, env=names, stdout=sys.stderr)
    shutil.rmtree(tree / "lib", ignore_errors=True)
    (tree / "share/man/man1/farwire-probe.1").unlink()
    subprocess.run(["strip", "--strip-unneeded", tree / "bin/farwire"], check=True)


class Wheel:
    """A wheel that is written file by file, with the record of their hashes."""

    def __init__(self, folder: str, tag_: str):
        self.name = f"farwire-{version()}-{tag_}.whl"
        self.info = f"farwire-{version()}.dist-info"
        self.record: list[str] = []
        self.zip = zipfile.ZipFile(Path(folder) / self.name, "w", zipfile.ZIP_DEFLATED)
        self.add_text("WHEEL", f"Wheel-Version: 1.0\nGenerator: farwire\n"
                      f"Root-Is-Purelib: false\nTag: {tag_}\n")  # fmt: skip
        self.add_text("METADATA", f"Metadata-Version: 2.1\nName: farwire\nVersion: {version()}\n"
                      f"Summary: {SUMMARY}\nLicense: GPL-3.0-or-later\nRequires-Python: >=3.11\n"
                      "Provides-Extra: frames\nRequires-Dist: pandas; extra == 'frames'\n"
                      "Provides-Extra: progress\n"
                      "Requires-Dist: tqdm; extra == 'progress'\n")  # fmt: skip
        self.add_text("entry_points.txt", "[console_scripts]\nfarwire = farwire.__main__:main\n")
        self.add_text("LICENSE", (ROOT / "LICENSE").read_text())

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        entry = zipfile.ZipInfo(name, EPOCH)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def add_text(self, name: str, text: str) -> None:
        self.add(f"{self.info}/{name}", text.encode())

    def add_tree(self, tree: Path, to: str) -> None:
        for path in sorted(tree.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                mode = 0o755 if os.access(path, os.X_OK) else 0o644
                self.add(f"{to}/{path.relative_to(tree)}", path.read_bytes(), mode)

    def close(self) -> str:
        lines = [*self.record, f"{self.info}/RECORD,,", ""]
        self.zip.writestr(zipfile.ZipInfo(f"{self.info}/RECORD", EPOCH), "\n".join(lines))
        self.zip.close()
        return self.name


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    build = (config_settings or {}).get("build", "build")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        install_program(build, tree)
        add_libraries(tree / "bin/farwire", tree / "lib")
        wheel = Wheel(wheel_directory, tag())
        wheel.add_tree(PYTHON / "farwire", "farwire")
        for part in ("bin", "lib", "share/farwire"):
            wheel.add_tree(tree / part, f"farwire/program/{part}")
        for part in ("man", "bash-completion"):
            wheel.add_tree(tree / "share" / part, f"farwire-{version()}.data/data/share/{part}")
        return wheel.close()


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """The package stays in the checkout, and starts build/farwire."""
    wheel = Wheel(wheel_directory, "py3-none-any")
    wheel.add("farwire.pth", f"{PYTHON}\n".encode())
    return wheel.close()


if __name__ == "__main__":
    to = sys.argv[1]
    print(Path(to) / build_wheel(to, {"build": sys.argv[2] if len(sys.argv) > 2 else "build"}))
