"""Build the package, check what is in it, and use it as somebody who has only that.

Run by ``make package``; what passed is left in dist/. Usage: python tools/package.py [--output DIR]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterator
from email.parser import BytesParser
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
# Besides the sources, and what the build itself writes.
IN_SDIST = {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO", ".gitignore"}
# For each extra a command that needs it, and what comes before the advice to install it.
EXTRAS = {
    "plot": ["reproduce", "a", "--trials-scale", "0.001", "--output", "figures"],
    "cluster": [
        "simulate",
        *["--noise", "1,2", "--dim", "2", "--budget", "20", "--cluster", "tcp://127.0.0.1:9"],
    ],
    "data": ["replay", "table.parquet", "--targets", "b", "--budget", "10"],
    "postgres": ["list", "--store", "postgresql://127.0.0.1:9/nowhere"],
}
# Machine code goes by what is in the sources: what the wheel compiles serves the checkout, and the other way.
KERNELS = ROOT / "src" / "equipoise" / "core" / "jit" / "__pycache__" / "kernels"

Files = dict[str, bytes]


class Wrong(Exception):
    """The package must not be published."""


def main() -> None:
    """Build, check, install, use."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="where the packages go")
    output = parser.parse_args().output
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="equipoise-package-") as scratch:
        folder = Path(scratch)
        wheel, sdist = build(folder)
        step(begin, f"built {wheel.name} ({wheel.stat().st_size // 1000} kB) and {sdist.name}")
        for problem in (*problems_of_wheel(unzipped(wheel)), *problems_of_sdist(untarred(sdist))):
            raise Wrong(problem)
        step(begin, "checked contents and metadata")
        use(wheel, folder, begin)
        output.mkdir(exist_ok=True)
        for package in (wheel, sdist):
            shutil.copy(package, output)
    step(begin, f"ready in {output.name}/")


def step(begin: float, what: str) -> None:
    """Say what is done."""
    print(f"{time.perf_counter() - begin:5.1f} s  {what}", flush=True)


# Building


def build(folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist; both ways to the wheel must give the same one."""
    for kind, target in (("--sdist", "made"), ("--wheel", "direct")):
        run([sys.executable, "-m", "build", "--no-isolation", kind, "--outdir", folder / target, ROOT])
    (sdist,), (direct,) = (folder / "made").iterdir(), (folder / "direct").iterdir()
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    run([sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder / "made", source])
    (wheel,) = (folder / "made").glob("*.whl")
    ours, theirs = unzipped(direct), unzipped(wheel)
    other = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    if other:
        raise Wrong(f"the sdist builds another wheel: {', '.join(other[:5])}")
    return wheel, sdist


def unzipped(path: Path) -> Files:
    """What is in a wheel."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def untarred(path: Path) -> Files:
    """What is in an sdist, without the folder that everything is in."""
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {
            member.name.partition("/")[2]: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in members
        }


# Contents


def sources() -> set[str]:
    """Files of the package that git knows, as paths below src/."""
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"], cwd=ROOT)
    return {line.removeprefix("src/") for line in listed.splitlines() if (ROOT / line).is_file()}


def problems_of_wheel(files: Files) -> Iterator[str]:
    """What must not be in a wheel, or is missing."""
    info = {name: data for name, data in files.items() if ".dist-info/" in name}
    yield from _differences("wheel", files.keys() - info.keys(), sources())
    by_name = {name.partition(".dist-info/")[2]: data for name, data in info.items()}
    for needed in ("licenses/LICENSE", "METADATA", "entry_points.txt"):
        if needed not in by_name:
            yield f"the wheel has no {needed}"
            return
    if "equipoise/py.typed" not in files:
        yield "the wheel has no py.typed"
    yield from problems_of_metadata(by_name["METADATA"])
    yield from machine_paths(files)


def problems_of_sdist(files: Files) -> Iterator[str]:
    """What must not be in an sdist, or is missing."""
    expected = {f"src/{name}" for name in sources()}
    yield from _differences("sdist", {name for name in files if name not in IN_SDIST}, expected)
    for needed in sorted(IN_SDIST - {".gitignore"} - files.keys()):
        yield f"the sdist has no {needed}"
    yield from machine_paths(files)


def _differences(what: str, found: set[str], expected: set[str]) -> Iterator[str]:
    for name in sorted(found - expected):
        yield f"the {what} holds {name}, which is no source of the package"
    for name in sorted(expected - found):
        yield f"the {what} lacks {name}"


def problems_of_metadata(text: bytes) -> Iterator[str]:
    """What an index would refuse, and what readers would miss."""
    from packaging.metadata import InvalidMetadata, Metadata

    try:
        metadata = Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        for error in group.exceptions:
            assert isinstance(error, InvalidMetadata)
            yield f"metadata: {error}"
        return
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/equipoise/version.py").read_text())
    if version is None or str(metadata.version) != version[1]:
        yield f"metadata say version {metadata.version}"
    if metadata.description_content_type != "text/markdown" or not (metadata.description or "").strip():
        yield "metadata have no description in Markdown"
    raw = BytesParser().parsebytes(text)
    for name in ("Summary", "Requires-Python", "License-Expression", "License-File", "Provides-Extra"):
        if not raw.get(name):
            yield f"metadata do not say {name}"
    for name in EXTRAS:
        if name not in (metadata.provides_extra or []):
            yield f"metadata have no extra {name!r}"


def machine_paths(files: Files) -> Iterator[str]:
    """Traces of the machine that built it."""
    telling = {str(ROOT), str(Path.home()), sys.prefix, tempfile.gettempdir()} - {"/", "/root", "/usr"}
    for name, data in files.items():
        if PurePosixPath(name).suffix == ".pyc":
            yield f"{name} is compiled for one Python"
        for path in sorted(telling):
            if path.encode() + b"/" in data:
                yield f"{name} names {path}, a folder of this machine"


# Use


def use(wheel: Path, folder: Path, begin: float) -> None:
    """Install the wheel alone, away from the checkout, and do what a reader of the README does."""
    place = folder / "environment"
    venv.create(place, with_pip=False)  # to install pip takes longer than to lend it
    python, command = place / "bin" / "python", place / "bin" / "equipoise"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    run([*pip, "install", "--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt", wheel])
    step(begin, "installed into an environment of its own")
    away = folder / "away"
    away.mkdir()
    hidden = ("PYTHONPATH", "EQUIPOISE_DATA", "EQUIPOISE_COMPILE", "FORCE_COLOR")
    settings = {name: value for name, value in os.environ.items() if name not in hidden}
    settings |= {"EQUIPOISE_KERNELS": str(KERNELS), "COLUMNS": "200", "NO_COLOR": "1"}

    said = run([command, "--version"], cwd=away, env=settings)
    if said.split() != ["equipoise", wheel.name.split("-")[1]]:
        raise Wrong(f"equipoise --version says {said!r}")
    said = run([command, "demo"], cwd=away, env=settings)
    if "pip install 'equipoise[plot]'" not in said:
        raise Wrong("equipoise demo does not say how to get its plot")
    step(begin, "ran equipoise --version and equipoise demo")
    (away / "readme.py").write_text(python_of_readme(), encoding="utf-8")
    run([python, "readme.py"], cwd=away, env=settings)
    step(begin, "ran the Python of the README")
    (away / "table.csv").write_text("a;b\n" + "\n".join(f"{k},5;{k % 7}" for k in range(40)))
    run(
        [
            command,
            "replay",
            "table.csv",
            "--decimal",
            ",",
            "--targets",
            "b",
            "--budget",
            "10",
            "--trials",
            "3",
        ],
        cwd=away,
        env=settings,
    )
    step(begin, "replayed a CSV file")
    (away / "table.parquet").write_bytes(b"")
    for extra, arguments in EXTRAS.items():
        done = subprocess.run([command, *arguments], cwd=away, env=settings, capture_output=True, text=True)
        if done.returncode != 2 or f"Hint: pip install 'equipoise[{extra}]'" not in done.stderr:
            line = " ".join(arguments)
            raise Wrong(f"without {extra}, equipoise {line} ends with {done.returncode}: {done.stderr}")
    step(begin, f"saw what to install without {', '.join(EXTRAS)}")


def python_of_readme() -> str:
    """The blocks of Python in the README, one after the other."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    if not blocks:
        raise Wrong("the README has no Python")
    return "\n".join(blocks)


def run(command: list[str | Path], **settings: object) -> str:
    """What a command prints; one that fails ends everything."""
    done = subprocess.run(command, capture_output=True, text=True, **settings)  # type: ignore[call-overload]
    if done.returncode:
        raise Wrong(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return str(done.stdout)


if __name__ == "__main__":
    try:
        main()
    except Wrong as error:
        sys.exit(f"Not fit to be published: {error}")
