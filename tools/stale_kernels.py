"""Delete cached machine code older than the sources it came from.

The cache of a compiled function notices a change of its own file only, not of the files whose
functions it inlines. Installed packages are written all at once and never need this; a working
copy does.
"""

from pathlib import Path

package = Path(__file__).parent.parent / "src" / "equipoise"
newest = max(source.stat().st_mtime for source in package.rglob("*.py"))
for index in package.rglob("__pycache__/*.nb[ic]"):
    if index.stat().st_mtime < newest:
        index.unlink()
