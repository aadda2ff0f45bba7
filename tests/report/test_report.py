import dataclasses
import json
import re
import sys

import numpy as np
import pytest
from report_pages import CHROMIUM, EVIL, Page, fetched, measured_by_browser, seen_by_browser

import equipoise as eq
from equipoise.report import (
    Code,
    Figure,
    Report,
    Section,
    Table,
    Text,
    check_writable,
    new_figure,
    render,
    simulation_report,
    write_report,
    write_results,
)
from equipoise.report.numbers import with_error
from equipoise.report.simulation import headline

POLICIES = ["uniform", "trace-ucb:width=0.5", "oracle"]


@pytest.fixture(scope="module")
def result():
    scenario = eq.GaussianScenario(noise=[0.1, 1.0, 3.0], dim=3, budget=60, covariance="ar1:0.5")
    return eq.simulate(scenario, POLICIES, trials=60, seed=9)


@pytest.fixture(scope="module")
def page(result):
    return Page(render(simulation_report(result, again="equipoise simulate --seed 9")))


def test_nothing_is_fetched(result):
    assert fetched(render(simulation_report(result))) == []
    assert fetched('<img src="a.png">')  # guards the pattern
    assert fetched("<p>http://example.org</p>")


def test_the_page_has_one_title_and_no_id_twice(page):
    assert page.tags.count("title") == page.tags.count("h1") == 1
    assert len(page.ids) == len(set(page.ids))
    assert page.tags.count("svg") == 4
    assert "data:," in page.links  # or browsers ask a server for an icon


def test_references_inside_drawings_lead_somewhere(result, page):
    text = render(simulation_report(result))
    used = {link[1:] for link in page.links if link.startswith("#")}
    used |= set(re.findall(r"url\(#([^)]*)\)", text))
    assert used
    assert used <= set(page.ids)


def test_the_losses_are_the_result_s(result, page):
    for name in POLICIES:
        row = page.cells.index(name)
        loss = result[name].expected_max()
        value, error = page.cells[row + 1].split(" ± ")
        assert float(value) == pytest.approx(loss.value, abs=0.6 * 10 ** -len(value.partition(".")[2]))
        assert float(error) == pytest.approx(loss.stderr, rel=0.06)


def test_differences_units_and_quantiles_are_there(result, page):
    difference = with_error(result.difference("oracle", "uniform"))
    assert difference.startswith("-")
    assert difference.replace("-", "−") in page.cells
    units = [cell for arm in result.scenario.arms for cell in page.cells[page.cells.index(arm) + 4 :][:1]]
    assert units == ["20", "20", "20"]  # uniform, after noise, optimal and best
    assert "99 %" in page.cells


def test_losses_have_names_for_people(page):
    assert {"largest mean error", "median worst error", "mean error"} <= set(page.cells)
    assert "largest mean error" in page.drawn
    assert not any("expected max" in word or "median max" in word for word in page.words)


def test_the_first_sentence_has_the_number(result, page):
    best = "trace-ucb:width=0.5"  # the oracle is told the noise
    sentence = headline(result)
    assert sentence in page.text
    assert sentence.startswith(best)
    assert with_error(result[best].expected_max()) in sentence
    few = eq.simulate(result.scenario, ["uniform", "trace-ucb"], trials=4, seed=1)
    assert headline(few).startswith("4 trials are too few for a verdict")
    same = dataclasses.replace(result, policies={"uniform": result["uniform"], "b-as": result["uniform"]})
    assert headline(same).startswith("No policy has a largest mean error clearly below that of uniform")


def test_settings_are_inside(result, page):
    assert page.metadata == json.loads(json.dumps(result.metadata))
    assert f"equipoise {eq.__version__}" in page.text
    assert "equipoise simulate --seed 9" in page.text


def test_the_python_in_it_runs(result, page):
    """Whatever lies beside the page: it needs no file."""
    namespace = {}
    exec(next(word for word in page.words if word.startswith("import equipoise")), namespace)
    assert namespace["scenario"] == result.scenario
    for mine, theirs in zip(result.policies.values(), namespace["result"].policies.values(), strict=True):
        assert (mine.errors == theirs.errors).all()


def test_the_scenario_is_where_the_report_says(result, tmp_path, monkeypatch):
    files = write_results(tmp_path, result)
    page = Page(files[0].read_text())
    assert "scenario.toml beside this page" in page.text
    assert eq.Scenario.from_toml((tmp_path / "scenario.toml").read_text()) == result.scenario
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(next(word for word in page.words if word.startswith("from pathlib")), namespace)
    assert namespace["scenario"] == result.scenario


def test_the_same_result_gives_the_same_bytes(result):
    assert render(simulation_report(result)) == render(simulation_report(result))


def test_names_are_escaped_everywhere():
    drawing = new_figure(lambda axes: axes.set_title(EVIL), caption=EVIL, description=EVIL)
    report = Report(
        title=EVIL,
        subtitle=EVIL,
        summary=EVIL,
        sections=[
            Section(EVIL, [Text(EVIL), Table([EVIL, EVIL], [[EVIL, EVIL]], caption=EVIL), Code(EVIL, EVIL)]),
            Section("drawings", [drawing, Figure(b"\x89PNG", EVIL, EVIL)]),
        ],
        settings={EVIL: EVIL},
        again=[Code(EVIL)],
        metadata={EVIL: EVIL},
    )
    text = render(report)
    page = Page(text)
    assert "alert" not in re.sub(
        r"&lt;script&gt;alert|\\u003cscript>alert|(?<=<!-- &lt;)script.*?-->", "", text
    )
    assert page.tags.count("script") == 2  # data, and the buttons that copy
    assert page.metadata == {EVIL: EVIL}
    assert page.text.count(EVIL) >= 13


def test_a_policy_with_an_evil_name(result):
    renamed = {EVIL: result["uniform"], "$x_1$": result["oracle"]}
    policies = {name: dataclasses.replace(policy, name=name) for name, policy in renamed.items()}
    odd = dataclasses.replace(result, policies=policies)
    text = render(simulation_report(odd))
    page = Page(text)
    assert page.tags.count("script") == 2  # data, and the buttons that copy
    assert text.count("<script>") == 1
    assert "$x_1$" in page.cells
    assert any("$x_1$" in word for word in page.drawn)  # not as mathematics


def test_without_matplotlib_there_are_tables(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(render(simulation_report(result)))
    assert "svg" not in page.tags
    assert page.tags.count("table") == 5
    assert "equipoise[plot]" in page.text
    with pytest.raises(eq.errors.MissingExtra):
        new_figure(lambda axes: None, caption="", description="")


@pytest.mark.parametrize(
    ("noise", "budget", "policies", "trials"),
    [
        ([1.0], 20, ["trace-ucb"], 5),  # nothing to compare
        ([1.0, 2.0], 5, ["uniform", "oracle"], 5),  # below m(d+1)
        ([0.0, 1.0], 20, ["uniform", "oracle"], 1),  # errors unknown
        ([1.0] * 70, 400, ["uniform", "oracle"], 3),  # more arms than the table shows
    ],
)
def test_edges(noise, budget, policies, trials):
    scenario = eq.GaussianScenario(noise, 3, budget)
    page = Page(render(simulation_report(eq.simulate(scenario, policies, trials=trials, seed=1))))
    assert "nan" not in page.text.lower().split()
    assert ("further arms" in page.text) == (len(noise) > 60)


def test_all_files_are_written(result, tmp_path):
    files = write_results(tmp_path / "new" / "folder", result, again="equipoise simulate")
    assert [file.name for file in files] == ["report.html", "losses.parquet", "scenario.toml", "result.npz"]
    assert sorted(files[0].parent.iterdir()) == sorted(files)
    assert eq.SimulationResult.load(files[3]).metadata == result.metadata


def test_without_pyarrow_losses_are_csv(result, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    table = write_results(tmp_path, result)[1]
    header, *rows = table.read_text().splitlines()
    assert table.name == "losses.csv"
    assert header == "policy,loss,value,stderr"
    assert len(rows) == len(result.losses())


def test_a_folder_that_cannot_be_written(result, tmp_path):
    (tmp_path / "file").write_text("")
    for check in (check_writable, lambda path: write_report(path / "report.html", result)):
        with pytest.raises(eq.errors.OutputNotWritable, match="cannot write to"):
            check(tmp_path / "file" / "below")


def test_checking_a_folder_makes_nothing(tmp_path):
    check_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_rows_must_fit_their_columns():
    with pytest.raises(eq.errors.InvalidArgument):
        Table(["a", "b"], [["1"]])


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_shows_it_without_complaint(result, tmp_path):
    path = write_report(tmp_path / "report.html", result, title="Seen by a browser")
    seen = seen_by_browser(path, tmp_path)
    assert "<h1>Seen by a browser</h1>" in seen
    # What the browser built is what was written: it moved or dropped no element.
    assert Page(seen).tags == Page(path.read_text()).tags


def test_the_course_of_a_trial_has_a_section():
    scenario = eq.GaussianScenario([0.5, 2.0], 2, 40, accrual=eq.Accrual(rate=4), delay=eq.Delay(mean=3))
    report = simulation_report(eq.simulate(scenario, ["uniform"], trials=3), title="Mine")
    assert report.title == "Mine"
    (section,) = [section for section in report.sections if section.title == "Course of a trial"]
    assert "times in weeks" in section.blocks[0].text


def test_an_earlier_report_is_not_overwritten(result, tmp_path):
    write_results(tmp_path, result)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    report = Report(title="another")
    for write in (
        lambda: write_report(tmp_path / "report.html", report),
        lambda: write_results(tmp_path, dataclasses.replace(result, seed=10)),
    ):
        with pytest.raises(eq.errors.OutputExists, match=r"report\.html is there already") as refused:
            write()
        assert "overwrite=True" in refused.value.hint
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "report.html").unlink()
    with pytest.raises(eq.errors.OutputExists, match="losses"):  # whatever is there
        write_results(tmp_path, result)
    assert not (tmp_path / "report.html").exists()
    write_report(tmp_path / "report.html", report, overwrite=True)
    assert "<h1>another</h1>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("content", [{}, None, 3.0, "text", [1, 2], np.ones(3)])
def test_what_has_no_report_is_refused_with_what_has_one(content, tmp_path):
    with pytest.raises(eq.errors.InvalidArgument, match="no report of") as refused:
        write_report(tmp_path / "report.html", content)
    for word in ("experiment", "estimates", "plan", "simulate", "replay", "Report"):
        assert word in refused.value.hint
    assert list(tmp_path.iterdir()) == []


def test_arguments_the_wrong_way_round(result, tmp_path):
    with pytest.raises(eq.errors.InvalidArgument, match="cannot be written to a SimulationResult") as refused:
        write_report(result, tmp_path / "report.html")
    assert "the file comes first" in refused.value.hint


@pytest.mark.parametrize("costs", [1.0, [1.0, 2.5, 1.0]])
def test_plans_have_reports(costs, tmp_path):
    plan = eq.plan(noise=[0.5, 1.0, (1.0, 4.0)], dim=5, target=0.1, costs=costs)
    page = Page(write_report(tmp_path / "plan.html", plan).read_text())
    assert f"{plan['oracle'].budget:,.10g}" in page.text.partition("Allocations")[0]
    assert {"uniform", "oracle", "arm-3"} <= set(page.cells)
    assert page.metadata["plan"]["target"] == 0.1


def test_the_report_of_a_plan_has_what_was_simulated_and_what_the_scenario_knows(tmp_path):
    world = eq.GaussianScenario(
        [1.0, 4.0], 2, 40, lost=0.1, accrual=eq.Accrual(rate=4), closures=[eq.Closure("arm-2", after=30)]
    )
    plan = eq.plan(world, policies=["uniform"], trials=4)
    page = Page(write_report(tmp_path / "plan.html", plan).read_text())
    assert set(plan.simulated[0].cells()) <= set(page.cells)
    assert "about weeks" in page.text
    for sentence in (*plan.remarks, *plan.simulation_remarks):
        assert sentence in page.text


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_dark_and_light_pages_differ_and_a_phone_scrolls_boxes_not_the_page(result, tmp_path):
    path = write_report(tmp_path / "report.html", result)
    probe = """<script>
    const styles = (what) => [...document.querySelectorAll(what)].map((e) => getComputedStyle(e));
    const buttons = [...document.querySelectorAll(".copy")];
    document.title = JSON.stringify({
      paper: getComputedStyle(document.body).backgroundColor,
      drawn: [...new Set(styles("figure svg text").map((style) => style.fill))],
      lines: [...new Set(styles("figure svg use").map((style) => style.stroke))],
      wide: document.documentElement.scrollWidth,
      buttons: buttons.filter((button) => !button.hidden).length,
      codes: document.querySelectorAll("pre code").length,
    });
    </script></body>"""
    path.write_text(path.read_text().replace("</body>", probe))
    light = measured_by_browser(path, tmp_path, width=1100)
    dark = measured_by_browser(path, tmp_path, width=500, dark=True)  # no narrower window is opened
    assert (light["paper"], dark["paper"]) == ("rgb(255, 255, 255)", "rgb(20, 24, 28)")
    assert not set(light["drawn"]) & set(dark["drawn"])
    assert not set(light["lines"]) & set(dark["lines"])
    assert dark["wide"] <= 500
    assert light["buttons"] == light["codes"] == 1


def test_every_code_has_a_button(page):
    assert page.tags.count("pre") == page.tags.count("button") == 2
