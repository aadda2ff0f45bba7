"""Units as people know them: by keys, with the contexts that were given.

==========  =======================================================================================
``book``    keys of units, and what was given and scored when they were asked for
``keys``    what can be a key
``arriving``  contexts, keys and arms of units that arrive, checked
``unit``    ``Unit``: all that is known of one
``table``   all of them as a tidy table
``offered``  which arms units might have got
``allocation``  encoded contexts and arms, for whoever computes with them
==========  =======================================================================================
"""
