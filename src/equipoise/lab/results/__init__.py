"""What simulations and replays found.

==============  ==========================================================
``words``       what losses are called where people read them
``estimate``    a simulated number with its standard error
``policy``      all trials of one policy, and its losses
``simulation``  policies compared on the same trials, saved and read again
``words``       what losses are called where people read them
==============  ==========================================================
"""
