"""The problem, per-arm least squares, noise bounds, policies and theory.

Rooms, each of which imports only those below it:

===============  =============================================================================
``experiment``   an experiment in memory: ask, tell, estimates
``diagnosis``    balance, lack of fit, weighted estimates, tests by redrawn lots
``estimates``    models, intervals and expected errors at the end
``stages``       policies that choose features first: the stages of an experiment
``policies``     the policies, one a file
``theory``       closed forms and bounds of the paper, and planning by them
``sparse``       which features matter: lasso paths and criteria
``choice``       one decision: scores, ties, lots, limits
``arms``         per-arm least squares, one unit at a time
``draws``        random numbers that are functions of their address
``problem``      the problem as it is given, checked
``arithmetic``   functions and sums with the same bits everywhere
``jit``          how functions become machine code
``tables``       tables that leave the program: data frames, CSV, LaTeX, Markdown
``arrays``       names of array types
``plain``        values as JSON and TOML hold them
``text_tables``  small tables for terminals and notebooks
===============  =============================================================================
"""
