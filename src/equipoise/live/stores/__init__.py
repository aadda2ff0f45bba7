"""Where the logs of experiments lie. A store knows rows, their order and their chain, not what they mean.

=================  ======================================================================================
``store``          the interface: ``Store``, ``Writer``; what they hand out: ``Row``, ``Head``, ``Snapshot``
``opening``        ``open_store`` and ``migrate``: from a URL to a store
``names``          names of experiments: ``project/experiment``
``chain``          how rows hang together, and what a writer may append
``memory``         a store that ends with the process
``sqlite``         one file, the embedded default
``postgresql``     a server, for many machines
``sql``            what both databases share
``board``          where processes leave requests for whichever of them writes
``shared_memory``  memory of several processes, and locks in it
``pool``           connections that threads share, and forks do not
``migrations``     numbered SQL files, and which of them a database has seen
``contract``       what every store keeps, as checks that anyone can run on their own
=================  ======================================================================================
"""
