"""Delete cached machine code older than the sources it came from.

The cache of a compiled function notices a change of its own file only, not of the files whose
functions it inlines. Installed packages are written all at once and never need this; a working
copy does.
"""

from pathlib import Path

root = Path(__file__).parent.parent
newest = max(source.stat().st_mtime for source in (root / "src").rglob("*.py"))
for folder in ("src", "tests", "benchmarks"):
    for kernel in (root / folder).rglob("__pycache__/*.nb[ic]"):
        if kernel.stat().st_mtime < newest:
            kernel.unlink()
