"""Figures 1 and 2 of the paper.

==================  ==============================================================
``figure1``         the six synthetic panels and the sweeps behind them
``figure2``         the two tables of real ratings, cut as the files at hand allow
``panel_result``    the points of a panel as curves and ratios
``claims``          what the paper says, as limits on measured numbers
``figure2_claims``  the same for the two tables
``measure``         every policy at every point of some panels
``widths``          how the claims depend on the width
``drawing``         both figures in the paper's arrangement
==================  ==============================================================
"""
