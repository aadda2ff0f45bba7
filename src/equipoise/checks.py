"""Public contract suite for policies."""
