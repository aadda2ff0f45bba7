"""Policies from files of one's own and from other packages, here and in other processes."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import equipoise as eq
from equipoise.core.policies.base import plugins, policy
from equipoise.errors import ImportFailed, InvalidPolicy, UnknownPolicy

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=20)

MINE = """
from dataclasses import dataclass
import equipoise as eq

@eq.register("mine-least")
def least(arm, trial, settings):
    \"\"\"The fewest units.\"\"\"
    return -float(arm.count)

@eq.register("mine-share")
@dataclass(frozen=True, kw_only=True)
class Share(eq.Policy):
    share: float = 0.5

    @staticmethod
    def score(arm, trial, settings):
        return -arm.count * settings[0]
"""


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Nothing that a test imports stays."""
    known = dict(policy.known_policies())
    monkeypatch.setattr(plugins, "_SOURCES", dict(plugins._SOURCES))
    yield
    policy.restore_policies(known)


def write(folder, text, name="my_policies.py"):
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


# Files


def test_policies_of_a_file(tmp_path):
    path = write(tmp_path, MINE)
    assert eq.import_policies(path) == ["mine-least", "mine-share"]
    assert eq.import_policies(str(path)) == ["mine-least", "mine-share"]  # again, and not run again
    share = eq.parse_policy("mine-share:share=0.25")
    assert plugins.origin(type(share)) == str(path)
    assert plugins.origin(eq.TraceUCB) == "equipoise"
    assert eq.Policy.from_dict(share.to_dict()) == share
    assert copy.deepcopy(share) == share
    eq.simulate(SCENARIO, ["mine-least", share], trials=2)


def test_a_file_that_has_changed_is_run_again(tmp_path):
    path = write(tmp_path, MINE)
    eq.import_policies(path)
    before = eq.parse_policy("mine-least")
    write(tmp_path, MINE.replace("share: float = 0.5", "share: float = 0.75"))
    eq.import_policies(path)
    assert eq.parse_policy("mine-share").share == 0.75
    with pytest.raises(InvalidPolicy, match="build the policy anew"):
        _ = before.spec


def test_files_of_one_name_are_two_files(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        path = write(tmp_path / folder, MINE.replace("mine", folder))
        assert eq.import_policies(path) == [f"{folder}-least", f"{folder}-share"]
    with pytest.raises(ImportFailed, match="the name 'a-least' is taken"):
        eq.import_policies(write(tmp_path / "b", MINE.replace("mine", "a"), "other.py"))


def test_what_lies_beside_a_file_can_be_imported(tmp_path):
    write(tmp_path, "FACTOR = -2.0", "factors_beside.py")
    text = MINE.replace("import equipoise", "from factors_beside import FACTOR\nimport equipoise")
    eq.import_policies(write(tmp_path, text))
    assert str(tmp_path) not in sys.path


INDIRECT = "import equipoise\n\ndef f():\n    raise OSError('no disk')\nf()\n"
NO_NAME = "import equipoise as eq\neq.register('a b')\neq.register('a b', int)\n"
TAKEN = "import equipoise as eq\n@eq.register('uniform')\ndef f(arm, trial, settings): return 0.0\n"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("x = 1\ndef f(:\n", "my_policies.py, line 2: ", "correct that"),
        ("\n\nx = unknown\n", "my_policies.py, line 3: NameError: name 'unknown'", "correct that line"),
        (INDIRECT, "my_policies.py, line 4: OSError: no disk", "correct"),
        ("import not_a_module_at_all\n", "line 1: ModuleNotFoundError", "install it"),
        ("import json\njson.loads('{')\n", "my_policies.py, line 2: JSONDecodeError", "or what it calls"),
        (NO_NAME, "line 3: 'a b' cannot be a policy name", "hyphens"),
        (TAKEN, "'uniform' is taken", "choose another"),
        ("x = 1\n", "registers no policy", "@equipoise.register('my-policy')"),
        ("import sys\nsys.exit(3)\n", "line 2: it ends the program", "__main__"),
        ("x = '\0'\n", "my_policies.py", ""),
    ],
)
def test_errors_of_a_file_name_the_file_and_the_line(tmp_path, text, message, hint):
    before, modules = policy.known_policies(), set(sys.modules)
    with pytest.raises(ImportFailed) as caught:
        eq.import_policies(write(tmp_path, text))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.__cause__ is None
    assert policy.known_policies() == before
    left = {name for name in set(sys.modules) - modules if name.startswith("equipoise_policies")}
    assert len(left) == (text == "x = 1\n")


def test_half_a_file_registers_nothing(tmp_path):
    with pytest.raises(ImportFailed, match="NameError"):
        eq.import_policies(write(tmp_path, MINE + "\nunknown\n"))
    with pytest.raises(UnknownPolicy):
        eq.parse_policy("mine-least")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nowhere.py", "there is no file nowhere.py"),
        ("folder", "there is no module 'folder'"),
        ("./folder", "cannot be read"),
        ("latin.py", "is not a Python file"),
        ("no_such_module", "there is no module 'no_such_module'"),
        ("json.no_such_module", "there is no module"),
    ],
)
def test_what_is_not_there(tmp_path, monkeypatch, where, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    with pytest.raises(ImportFailed, match=message):
        eq.import_policies(where)


def test_modules_by_name(tmp_path, monkeypatch):
    write(tmp_path, MINE.replace("mine", "module"), "module_of_policies.py")
    monkeypatch.syspath_prepend(tmp_path)
    assert eq.import_policies("module_of_policies") == ["module-least", "module-share"]
    assert eq.import_policies("module_of_policies") == ["module-least", "module-share"]
    assert plugins.origin(eq.registered_policies()["module-least"]) == "module_of_policies"
    del sys.modules["module_of_policies"]
    write(tmp_path, "import equipoise\n\n1 / 0\n", "module_that_breaks.py")
    with pytest.raises(ImportFailed, match=r"module_that_breaks.py, line 3: ZeroDivisionError"):
        eq.import_policies("module_that_breaks")
    monkeypatch.chdir(write(tmp_path, MINE, "beside_me.py").parent)
    monkeypatch.setattr(sys, "path", sys.path[1:])
    with pytest.raises(ImportFailed, match=r"did you mean beside_me.py\?"):
        eq.import_policies("beside_me")


# Other processes


def test_policies_of_a_file_travel_with_their_source(tmp_path):
    path = write(tmp_path, MINE)
    eq.import_policies(path)
    expected = eq.simulate(SCENARIO, ["mine-least", "mine-share:share=0.25"], trials=20, seed=1)
    path.unlink()  # as on another machine
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = eq.simulate(
            SCENARIO, ["mine-least", "mine-share:share=0.25"], trials=20, seed=1, executor=pool
        )
    for name in expected.policies:
        assert found[name].expected_max() == expected[name].expected_max()


def test_pickles_of_experiments_bring_the_policy(tmp_path):
    eq.import_policies(write(tmp_path, MINE))
    experiment = eq.Experiment(SCENARIO.problem(), "mine-share:share=0.25", seed=1)
    experiment.ask([1.0, 2.0])
    code = (
        "import pickle, sys\n"
        "experiment = pickle.loads(sys.stdin.buffer.read())\n"
        "print(experiment.policy.spec, experiment.ask([0.5, 1.0]).arm)"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, input=pickle.dumps(experiment), capture_output=True, check=True)
    assert found.stdout.decode().split() == ["mine-share:share=0.25", experiment.ask([0.5, 1.0]).arm]


# Packages


def install(folder, name, entries, version="1.0", **modules):
    """What pip leaves behind of a package."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(
        "[equipoise.policies]\n" + "".join(f"{entry}\n" for entry in entries)
    )
    for module, text in modules.items():
        write(folder, text, f"{module}.py")


def see(folder, code):
    """What code prints where packages in ``folder`` are installed."""
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    script = "import warnings; warnings.simplefilter('always')\nimport equipoise as eq\n" + textwrap.dedent(
        code
    )
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_policies_of_a_package(tmp_path):
    install(tmp_path, "their-policies", ["all = their_policies"], "2.1", their_policies=MINE)
    code = """
        import sys
        eq.parse_policy("uniform")
        assert "their_policies" not in sys.modules
        policy = eq.parse_policy("mine-share:share=0.25")
        from equipoise.core.policies.base.plugins import origin
        print(origin(type(policy)), "mine-least" in eq.registered_policies())
        """
    found = see(tmp_path, code)
    assert found.stdout == "their-policies 2.1 True\n", found.stderr
    assert found.stderr == ""


def test_a_class_is_registered_under_the_name_of_its_entry_point(tmp_path):
    plain = MINE.replace('@eq.register("mine-share")\n', "")
    install(tmp_path, "theirs", ["their-share = theirs:Share"], theirs=plain)
    found = see(tmp_path, "print(eq.parse_policy('their-share:share=0.1').spec)")
    assert found.stdout == "their-share:share=0.1\n", found.stderr


BARE = "def function(arm, trial, settings): return 0.0\n"


@pytest.mark.parametrize(
    ("entry", "text", "message"),
    [
        ("broken = broken", "import equipoise\n1 / 0\n", "broken.py, line 2: ZeroDivisionError: division by"),
        ("broken = broken", "def f(:\n", "broken.py, line 1: "),
        ("broken = not_there", "", "No module named 'not_there'"),
        ("broken = broken:Missing", "", "has no attribute 'Missing'"),
        ("broken = broken:function", BARE, "neither a module nor a policy"),
        ("broken = broken", MINE.replace("mine-least", "uniform"), "the name 'uniform' is taken already"),
        ("broken = broken", "import sys\nsys.exit(1)\n", "ends the program"),
    ],
)
def test_a_broken_package_is_a_warning_that_names_it(tmp_path, entry, text, message):
    install(tmp_path, "broken-policies", [entry], broken=text)
    found = see(tmp_path, "print(type(eq.parse_policy('uniform')), 'mine-share' in eq.registered_policies())")
    assert found.stdout == "<class 'equipoise.core.policies.uniform.Uniform'> False\n", found.stderr
    assert found.returncode == 0
    assert "PluginWarning: broken-policies 1.0 offers policies" in found.stderr
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_keys_of_modules_are_no_names_of_policies(tmp_path):
    for name in ("one", "two"):
        install(tmp_path, f"policies-{name}", [f"all = {name}"], **{name: MINE.replace("mine", name)})
    found = see(tmp_path, "print(*[name for name in eq.registered_policies() if name.endswith('-least')])")
    assert (found.stdout, found.stderr) == ("one-least two-least\n", "")


@pytest.mark.parametrize(
    "entries",
    [
        ["mine-least = {}:least"] * 2,
        ["mine-least = {}"] * 3,
        ["first = {}", "second = {}", "mine-least = {}:least"],
    ],
)
def test_packages_that_want_one_name_do_not_get_it(tmp_path, entries):
    modules = ("a", "b", "c")[: len(entries)]
    for module, entry in zip(modules, entries, strict=True):
        text = MINE.replace("-share", f"-{module}")
        install(tmp_path, f"policies-{module}", [entry.format(f"of_{module}")], **{f"of_{module}": text})
    code = """
        for name in ("mine-least", "uniform"):
            try:
                print(eq.parse_policy(name))
            except eq.errors.InvalidPolicy as error:
                print(error)
        """
    found = see(tmp_path, code)
    owners = " and ".join(f"policies-{module} 1.0" for module in modules)
    claim = f"the policy name 'mine-least' is claimed by {owners}"
    assert found.stdout == f"{claim} (uninstall all but one of them)\nUniform()\n", found.stderr
    assert f"PluginWarning: {claim}; none of them has it" in found.stderr


def test_a_name_of_one_s_own_is_not_taken_over(tmp_path):
    install(tmp_path, "theirs", ["all = theirs"], theirs=MINE)
    code = """
        @eq.register("mine-least")
        def own(arm, trial, settings):
            return 0.0
        print(eq.registered_policies()["mine-least"].__qualname__, "mine-share" in eq.registered_policies())
        """
    found = see(tmp_path, code)
    assert found.stdout == "own False\n", found.stderr
    assert "the name 'mine-least' is taken already" in found.stderr
