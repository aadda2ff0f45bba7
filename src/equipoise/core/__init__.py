"""The problem, per-arm least squares, noise bounds, policies and theory."""
