import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import equipoise as eq
from equipoise.cli import main

COMMANDS = main.list_commands(click.Context(main))
PLAN = ("plan", "--noise", "1,2", "--dim", "3", "--target", "0.1")


def start(*arguments: str, **options) -> subprocess.Popen:
    # A copy of os.environ: pytest imports readline, which sets COLUMNS behind Python's back.
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": dict(os.environ), **options}
    return subprocess.Popen([sys.executable, *arguments], text=True, encoding="utf-8", **settings)


def test_help_lists_every_command_with_a_sentence(run):
    lines = run("--help").stdout.splitlines()
    for command in COMMANDS:
        assert any(line.split()[:1] == [command] and line.endswith(".") for line in lines), command


def test_the_help_says_what_commands_say_of_themselves():
    context = click.Context(main)
    for commands in main.sections.values():
        for name, (_, words) in commands.items():
            assert main.get_command(context, name).short_help == words, name


def test_without_a_command_the_help_is_shown(run):
    assert run().exit_code == 0
    assert run().stdout == run("-h").stdout


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(run, command, flag):
    result = run(command, flag)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: equipoise {command}")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_described(command):
    for option in main.get_command(click.Context(main), command).params:
        assert option.help, option.name


def test_version(run):
    assert run("--version").stdout == f"equipoise {eq.__version__}\n"


@pytest.mark.parametrize(
    ("typed", "meant", "place"),
    [
        (("pln",), "plan", "equipoise"),
        (("policys",), "policies", "equipoise"),
        (("data", "lst"), "list", "data"),
    ],
)
def test_a_mistyped_command_gets_a_suggestion(fail, typed, meant, place):
    message, hint = fail(*typed)
    assert message == f"no command {typed[-1]!r}"
    assert hint.startswith(f"did you mean {meant!r}? '")
    assert f"{place} --help" in hint


def test_a_command_like_no_other_points_at_the_help(fail):
    message, hint = fail("xyzzy")
    assert message == "no command 'xyzzy'"
    assert hint == "'equipoise --help' says what can be typed"


def test_an_unknown_option_points_at_the_help_of_its_command(fail):
    message, hint = fail("plan", "--nose", "1")
    assert message == "no option '--nose'"
    assert "did you mean '--noise'?" in hint
    assert "equipoise plan --help" in hint


def test_a_missing_option_is_named(fail):
    message, _ = fail("plan", "--dim", "3", "--target", "1")
    assert "--noise" in message


def test_an_error_without_a_hint_takes_one_line(run, monkeypatch):
    monkeypatch.setattr(eq, "plan", raising(eq.EquipoiseError("no")))
    assert run(*PLAN).stderr == "Error: no\n"


def test_ctrl_c_ends_quietly(run, monkeypatch):
    monkeypatch.setattr(eq, "plan", raising(KeyboardInterrupt()))
    result = run(*PLAN)
    assert result.exit_code == 130
    assert result.output.strip() == ""


def test_a_defect_keeps_its_traceback(run, monkeypatch):
    monkeypatch.setattr(eq, "plan", raising(ZeroDivisionError()))
    assert isinstance(run(*PLAN).exception, ZeroDivisionError)


def test_python_dash_m():
    process = start("-m", "equipoise", *PLAN)
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert output == CliRunner().invoke(main, PLAN).stdout


def test_python_dash_m_fails_like_the_command():
    process = start("-m", "equipoise", "plan", "--noise", "1;2", "--dim", "3", "--target", "0.1")
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output) == (2, "")
    assert errors.splitlines()[0] == "Error: --noise '1;2' is not separated by commas"


@pytest.mark.parametrize("arguments", [("policies",), (*PLAN, "--json")])
def test_a_closed_pipe_ends_quietly(arguments):
    process = start("-m", "equipoise", *arguments)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=120) == 1
    process.stderr.close()


@pytest.mark.skipif(os.name == "nt", reason="there is no sh")
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("policies >&-", 0),
        ("tell trial --file - <&-", 2),
        ("redact trial P-1 --reason r <&-", 2),
        ("list --store sqlite:///none.db 2>&-", 2),
        ("policies <&- >&- 2>&-", 0),
    ],
)
def test_a_stream_that_is_closed_is_no_traceback(line, status, tmp_path):
    settings = {"capture_output": True, "text": True, "cwd": tmp_path, "env": dict(os.environ)}
    done = subprocess.run(["sh", "-c", f'"{sys.executable}" -m equipoise {line}'], **settings)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_ctrl_c_in_a_real_process():
    waits = (
        "import equipoise, time; "
        "equipoise.plan = lambda *_, **__: (print('ready', flush=True), time.sleep(60))"
    )
    process = start("-c", f"{waits}; from equipoise.cli import main; main({list(PLAN)!r})")
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert (output + errors).strip() == ""


def test_an_output_without_greek_letters_gets_question_marks():
    process = start("-m", "equipoise", "policies", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert "trace-ucb" in output
    assert output.isascii()


def test_help_needs_neither_numpy_nor_rich():
    # The package's own __init__ is stepped over: what it imports is not the command line's choice.
    script = """
import sys, types
package = types.ModuleType("equipoise")
package.__path__ = [sys.argv[1]]
sys.modules["equipoise"] = package
from equipoise.cli import main
for arguments in [[], ["plan", "-h"], ["demo", "-h"], ["policies", "-h"], ["plan", "--noise", "x"]]:
    try:
        main(arguments)
    except SystemExit:
        pass
print(sorted({"numpy", "numba", "scipy", "rich", "matplotlib"} & set(sys.modules)))
"""
    process = start("-c", script, str(Path(eq.__file__).parent))
    output, _ = process.communicate(timeout=120)
    assert output.splitlines()[-1] == "[]"


def raising(error: BaseException):
    def function(*_, **__):
        raise error

    return function
