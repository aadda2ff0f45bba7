"""Whether the models can be trusted where the world is not as they say.

=================  ===========================================================================================
``evidence``       what an experiment has seen, as plain arrays
``balance``        ``Balance``: the contexts of every arm against those of all units
``terms``          terms beside the features, tested in every arm and in all of them
``periods``        balance within and between periods of the experiment
``lack_of_fit``    ``LackOfFit``: a test of the straight line that adaptive allocation leaves valid
``time_trend``     ``TimeTrends``: whether outcomes drift while units come in
``drift``          which arms' models a curve has moved, since they got other contexts
``complaint``      what to say where an arm is out of balance and the line does not fit
``weighted``       ``WeightedEstimates``: best linear fits by logged propensities, whatever the truth
``randomisation``  ``RandomisationTest``: the rule replayed over lots that are drawn anew
``replaying``      the compiled part of that
``guessing``       ``Predictability``: how well the next arm could be guessed
=================  ===========================================================================================
"""
