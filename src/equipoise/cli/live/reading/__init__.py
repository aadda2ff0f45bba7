"""What is known of an experiment; nothing here changes it.

============  ===============================================================
``listing``   ``equipoise list``
``status``    ``equipoise status``
``standing``  what status tells, as plain data
``course``    the error against the budget so far, and what an oracle would have
``units``     ``equipoise units``
``log``       ``equipoise log``
``forecast``  ``equipoise forecast``
``report``    ``equipoise report``
============  ===============================================================
"""
