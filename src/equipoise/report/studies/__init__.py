"""Reports of studies.

================  ============================
``sweep``         the report of a sweep
``reproduction``  the report of a reproduction
================  ============================
"""
