#!/bin/sh
# Make a virtual environment and install the package with everything its tests need.
# Usage: tools/environment.sh DIRECTORY   (PYTHON=python3.12 picks an interpreter)
set -eu
venv=$1
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "equipoise needs Python 3.11 or newer; '$python' is not. Try: make PYTHON=python3.12 ..." >&2
    exit 1
fi

if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    rm -rf "$venv"
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        # Debian and Ubuntu keep ensurepip in a package of its own.
        version=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
            apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$version" >/dev/null
        else
            echo "Python's venv module is incomplete. Run: sudo apt-get install $version" >&2
            exit 1
        fi
    fi
    "$python" -m venv "$venv"
fi

echo "Installing into $venv (the first time this takes a minute or two)..."
# Python compiles what is imported; pip would compile everything, one file after the other.
install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile "$@"
}
# pip keeps one core busy, mostly with looking for versions. So two bring what is known to be needed, each a half,
# and a third brings what they could not and sees that all fits.
half() {
    awk -v half="$1" 'NR % 2 == half' constraints.txt | install --no-deps --requirement /dev/stdin 2>/dev/null || true
}
half 0 &
half 1
wait
install --constraint constraints.txt --editable '.[dev]'
