"""What policies have in common.

==============  ==============================================================================================
``policy``      ``Policy``: what it is, how it is registered and written
``design``      ``Design``: draws arms by weights
``staged``      ``StagedPolicy``: chooses features first
``plugins``     policies of other packages, and of files of one's own
``arguments``   arguments as text, and back
``settings``    the numbers that a compiled score reads, checked
``scores``      compiled scores and their addresses
``rehearsal``   a score tried in Python before it is trusted
``definition``  what is refused when a policy is registered
``ucb``         policies that look above σ̂² by a width
``absent``      a policy that is not at hand
``published``   arguments of the policies of Carpentier et al. (2011)
``features``    features as arguments of policies
``screening``   how many outcomes the choice of features rests on, where nobody says
==============  ==============================================================================================
"""
