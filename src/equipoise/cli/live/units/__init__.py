"""Units, one or many.

============  =======================================================================
``ask``       ``equipoise ask``
``asked``     what asking prints
``tell``      ``equipoise tell``, ``equipoise correct``
``leaving``   ``equipoise lose``, ``equipoise withdraw``, ``equipoise received``
``entering``  what tell, correct, lose and withdraw share: files, dry runs, answers
``redact``    ``equipoise redact``
``expire``    ``equipoise expire``
============  =======================================================================
"""
