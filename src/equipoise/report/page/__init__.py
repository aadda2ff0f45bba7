"""The page of a report: one HTML file that fetches nothing.

========  =============================================================
``html``  the page, from a report as plain data
========  =============================================================

``style.css`` and ``copy.js`` beside it become part of every page.
"""
