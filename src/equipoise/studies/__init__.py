"""Studies that the lab is used for, each with its claims, tables and pictures.

===============  =======================================================================================
``sweep``        policies along any field of a scenario or a policy: ``equipoise sweep``
``paper``        Figures 1 and 2 of the paper, panel by panel, and what the paper says about them
``rate``         how regret and pulls of Trace-UCB grow with the budget
``sparse``       three studies of arms of which few features matter
``reproduce``    these three in one run: ``equipoise reproduce``
``leaderboard``  every policy on one suite of scenarios: ``equipoise leaderboard``
``forecasts``    the figure of a forecast
``noise``        the noise of the paper's seven arms
``runner``       runs points, a simulation or a replay each, and tells how far it is; all of these use it
``store``        finished trials and records in a folder
``losses``       what is kept of a point: losses of all policies and their joint error
``verdicts``     measured numbers against the limits that a claim sets them
``colours``      one colour a policy, in every figure and report
``labels``       names beside the lines of a picture
``drawing``      how pictures look and how they are saved
===============  =======================================================================================
"""
