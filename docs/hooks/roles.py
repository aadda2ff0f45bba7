"""Docstrings refer to names with roles such as :func:`plan`; on the pages only the name is left."""

from __future__ import annotations

import re
from typing import Any

_ROLE = re.compile(r":(?:mod|class|func|meth|attr):<code>~?([\w.]+)</code>")


def on_page_content(content: str, **_: Any) -> str:
    """Called by MkDocs with the HTML of every page.

    >>> on_page_content("see :mod:<code>equipoise.checks</code>")
    'see <code>equipoise.checks</code>'
    """
    return _ROLE.sub(r"<code>\1</code>", content)
