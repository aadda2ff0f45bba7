"""The log of an experiment: events as text, chained by hashes, so that what was changed later shows.

===============  =========================================================================
``encoding``     events and headers as text, one text for one value
``rows``         from events to rows that continue the chain
``checking``     walking the chain: what is missing, exchanged or changed
``undisturbed``  reading a whole log while others redact
``entries``      ``LogEntry``: a row as people read it
``receipts``     ``Receipt``: what proves later that a call is still in the log
``archive``      a whole log as one file of text
===============  =========================================================================
"""
