"""The ablation compares each technique's runs with those of the full recipe."""

from benchmarks import ablation


def test_points_lost_are_the_difference_of_the_medians():
    runs = [
        {"name": name, "seed": seed, "accuracy": accuracy, "seconds": 1.0}
        for name, accuracies in {
            ablation.FULL_RECIPE: (0.8, 0.9, 0.7),
            "salt": (0.7, 0.6, 0.5),
        }.items()
        for seed, accuracy in enumerate(accuracies)
    ]
    results = ablation.summarize_runs(runs)
    assert results["points_lost_median"] == {ablation.FULL_RECIPE: 0.0, "salt": 20.0}
    assert results["rows"][1]["accuracy"] == [0.7, 0.6, 0.5]
