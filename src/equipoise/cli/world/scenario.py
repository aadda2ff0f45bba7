"""The scenario that is typed: a file, the options, or a file with some options on top."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.cli.options import MOST_UNITS
from equipoise.cli.values import parse_closure, positive_number, whole_number
from equipoise.errors import EquipoiseError, InvalidArgument, InvalidScenario
from equipoise.files import write_whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from equipoise.lab.scenario import Scenario

_NEEDED = ("noise", "dim", "budget")
_FIELDS = (
    *("intercept", "curvature", "curved", "moment", "lost", "objective", "weights"),
    *("costs", "floors", "caps", "estimator", "ridge", "intervals", "arms", "features"),
)
_COVARIANCE_HINT = "type identity, ar1:RHO, or a file that numpy.save wrote"


def build_scenario(file: Path | None, typed: Mapping[str, Any]) -> Scenario:
    """The scenario; options that were not typed are None."""
    from equipoise.lab.scenario import GaussianScenario

    given = {name: value for name, value in typed.items() if value is not None and value != ()}
    if file is not None:
        written = read_scenario(file)
        return _checked(_override(written, _with_budget(given, written.costs)), given)
    missing = [f"--{name}" for name in _NEEDED if name not in given]
    if missing:
        raise InvalidArgument(
            f"the scenario lacks {', '.join(missing)}",
            hint="e.g. --noise 0.5,1,4 --dim 5 --budget 100, or --scenario FILE.toml",
        )
    given = _with_budget(given, None)
    plain = GaussianScenario(given["noise"], given["dim"], given["budget"], costs=given.get("costs"))
    return _checked(_override(plain, given), given)


def read_scenario(file: Path) -> Scenario:
    """The scenario in a TOML file."""
    from equipoise.lab.scenario import Scenario

    try:
        return Scenario.from_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidScenario(
            f"cannot read the scenario {file}: {error.strerror or error}",
            hint="--save-scenario FILE.toml writes one",
        ) from None
    except UnicodeDecodeError:
        raise InvalidScenario(f"{file} is not a text file", hint="a scenario is a TOML document") from None
    except EquipoiseError as error:
        raise InvalidScenario(f"{file}: {error.message}", hint=error.hint) from None


def save_scenario(file: Path, scenario: Scenario) -> None:
    """Write the scenario as TOML."""
    write_whole(file, scenario.to_toml(), hint="choose another file")


def _with_budget(given: dict[str, Any], costs: object) -> dict[str, Any]:
    """What was typed, the budget's text as a number: of units, or with costs any amount of money."""
    if "budget" not in given:
        return given
    text = given["budget"]
    parse: Callable[[str], float]
    if "costs" not in given and costs is None:
        parse = whole_number("--budget", "350", least=1, most=MOST_UNITS)
    elif text.isdecimal():
        parse = whole_number("--budget", "350", least=1)
    else:
        parse = positive_number("--budget", "99.5")
    return {**given, "budget": parse(text)}


def _checked(scenario: Scenario, given: Mapping[str, Any]) -> Scenario:
    """The scenario, unless what was typed buys too many units to simulate."""
    if scenario.costs is not None and given.keys() & {"budget", "costs"} and scenario.units > MOST_UNITS:
        raise InvalidArgument(
            f"a budget of {scenario.budget:.10g} buys {scenario.units} units, more than {MOST_UNITS}",
            hint="type a smaller --budget, or higher --costs",
        )
    return scenario


def _override(scenario: Scenario, given: Mapping[str, Any]) -> Scenario:
    """The scenario with what was typed in place of what it says."""
    from equipoise.lab.pieces import Accrual, Closure, Delay, StopRule, StudentNoise
    from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts

    changes = {name: given[name] for name in (*_NEEDED, *_FIELDS) if name in given}
    if "estimator" in given:
        changes.setdefault("ridge", None)  # the λ in a file belongs to the estimator in that file
    for name in ("contexts", "outcomes"):
        if name in given:
            changes[name] = typed_piece(name, given[name])
    if "covariance" in given:
        contexts = changes.get("contexts", scenario.contexts)
        if not isinstance(contexts, CorrelatedContexts):
            raise InvalidArgument(
                f"--covariance does not go with contexts of kind {contexts.kind!r}",
                hint="leave it out, or change the contexts",
            )
        changes["contexts"] = dataclasses.replace(contexts, covariance=typed_covariance(given["covariance"]))
    if "student_noise" in given:
        changes["noise_shape"] = StudentNoise(dof=given["student_noise"])
    if "sparsity" in given or "overlap" in given:
        changes["truth"] = _truth(scenario, given)
    if "delay" in given:
        changes["delay"] = Delay(mean=given["delay"]) if given["delay"] > 0.0 else None
    if "accrual" in given:
        changes["accrual"] = Accrual(rate=given["accrual"])
    if "closures" in given:
        changes["closures"] = [Closure(arm, after) for arm, after in map(parse_closure, given["closures"])]
    if "stop" in given:
        changes["stop"] = StopRule(target=given["stop"])
    return scenario.replace(**changes)


def typed_piece(field: str, text: str) -> Any:
    """A piece as it is typed: KIND[:key=value[:key=value…]], as policies are."""
    from equipoise.core.policies.base.arguments import parse_argument
    from equipoise.lab.plain import piece_from_dict

    kind, *pairs = text.split(":")
    values: dict[str, Any] = {"kind": kind}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not value or key in values:
            raise InvalidArgument(
                f"{pair!r} in --{field} {text} is not one more key=value",
                hint="e.g. --contexts binary:share=0.05, --outcomes yes-no:effect=0.5",
            )
        values[key] = parse_argument(value)
    return piece_from_dict(field, values)


def _truth(scenario: Scenario, given: Mapping[str, Any]) -> Any:
    from equipoise.lab.pieces import SparseTruth

    typed = {
        new: given[old] for old, new in (("sparsity", "features"), ("overlap", "overlap")) if old in given
    }
    if isinstance(scenario.truth, SparseTruth):
        return dataclasses.replace(scenario.truth, **typed)
    if "features" not in typed:
        raise InvalidArgument(
            "--overlap says in which arms features matter, but not how many do",
            hint="type --sparsity S as well",
        )
    return SparseTruth(**typed)


def typed_covariance(text: str) -> Any:
    """A covariance as it is typed: its name, or a file."""
    from equipoise.lab.pieces.numbers import as_rows

    if text == "identity" or text.partition(":")[0] == "ar1":
        return text
    other = re.fullmatch(r"ar1[=,; ]*([\d.]+)", text)
    if other:
        raise InvalidArgument(f"--covariance {text} is no covariance", hint=f"did you mean ar1:{other[1]}?")
    return as_rows("--covariance", _load_matrix(Path(text)))


def _load_matrix(file: Path) -> npt.NDArray[np.float64]:
    from equipoise.unpacking import Damaged, read_npy

    try:
        with file.open("rb") as opened:
            values = read_npy(opened, file.stat().st_size)
    except OSError as error:
        raise InvalidScenario(
            f"--covariance {file}: {error.strerror or error}", hint=_COVARIANCE_HINT
        ) from None
    except Damaged:
        raise InvalidScenario(
            f"--covariance {file}: not a file of numpy.save", hint=_COVARIANCE_HINT
        ) from None
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise InvalidScenario(f"--covariance {file}: not one matrix of numbers", hint=_COVARIANCE_HINT)
    return values.astype(float)
