"""Drafts as if no process had made any before."""

from types import SimpleNamespace

from equipoise.lab.gpu import kept


def keep_no_draft(monkeypatch):
    """Nothing is on disk, nor will be."""
    nowhere = SimpleNamespace(read=lambda name: None, write=lambda name, content: None)
    monkeypatch.setattr(kept, "storage", nowhere)
    monkeypatch.setattr(kept, "DRAFTS", {})
