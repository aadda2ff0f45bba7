from equipoise.studies.runner import scaled


def test_scaled_counts_stay_measurable():
    assert [scaled(10_000, scale) for scale in (1.0, 0.5, 1e-9)] == [10_000, 5_000, 2]
