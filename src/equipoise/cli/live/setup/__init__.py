"""A new experiment, and changes of its course.

===========  ==============================================================================
``new``      ``equipoise new``
``problem``  the problem that is typed: a file, or options
``arms``     ``equipoise close-arm``, ``equipoise reopen-arm``, ``equipoise add-arm``
``course``   ``equipoise budget``, ``equipoise pause``, ``equipoise resume``, ``equipoise note``
===========  ==============================================================================
"""
