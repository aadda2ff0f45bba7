"""What the report of an experiment says beyond its models: how it was run, and what guidelines ask of that.

==================  ==========================================================================================
``history``         entries of a log, and what they say of every unit
``flow``            how many units went where, and what became of them
``course``          units, noise and errors over time
``course_figures``  drawings of these
``rule``            the exact rule, what drove it, its start, chances realised
``planned``         what was planned, and what changed
``deviations``      everything that persons did to the course
``population``      whom the models must serve, and who came
``naive``           naive results beside adjusted ones
``over_time``       balance by period, and time trends
``operating``       simulated operating characteristics
``limits``          limitations, as far as data show them
``statements``      what only the experimenter knows, and a list of what guidelines ask
``proof``           the chain's head, and how to verify it
==================  ==========================================================================================
"""
