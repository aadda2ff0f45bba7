"""What losses are called where people read them; records, files and methods keep their keys."""

from __future__ import annotations

LOSSES = ("expected_max", "median_max", "mean")
"""The losses that every table of policies compares."""

LOSS_WORDS = {
    "expected_max": "largest mean error",
    "median_max": "median worst error",
    "mean": "mean error",
    "median_mean": "median mean error",
    "regret": "regret",
    "coverage": "coverage",
    "recovery": "recovery",
}

_EXPLAINED = {
    "expected_max": "the mean error over trials of the arm in which it is largest",
    "median_max": "the median over trials of the worst arm's error",
    "mean": "the average over arms and trials",
}


def loss_words(loss: str) -> str:
    """The name of a loss for people; a quantile says which one it is.

    >>> loss_words("expected_max"), loss_words("quantile_max_0.9")
    ('largest mean error', '90 % quantile of the worst error')
    """
    if loss.startswith("quantile_max_"):
        return f"{100 * float(loss.removeprefix('quantile_max_')):g} % quantile of the worst error"
    return LOSS_WORDS[loss]


def loss_heading(loss: str) -> str:
    r"""The same over a narrow column.

    >>> loss_heading("median_max")
    'median\nworst error'
    """
    return loss_words(loss).replace(" ", "\n", 1)


def explained_losses() -> str:
    """What the losses of every table are, in one sentence.

    >>> explained_losses().startswith("The largest mean error is the mean error over trials of the arm")
    True
    """
    parts = [f"the {loss_words(loss)} is {_EXPLAINED[loss]}" for loss in LOSSES]
    text = f"{', '.join(parts[:-1])}, and {parts[-1]}."
    return text[0].upper() + text[1:]
