"""Proofs, archives, backups, and upgrades of stores.

=============  =====================
``verify``     ``equipoise verify``
``export``     ``equipoise export``
``importing``  ``equipoise import``
``backup``     ``equipoise backup``
``restore``    ``equipoise restore``
``migrate``    ``equipoise migrate``
=============  =====================
"""
