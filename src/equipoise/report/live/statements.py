"""What only the experimenter knows, said in their words; and where guidelines find their answers."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.errors import InvalidArgument
from equipoise.report.document import Block, Table, Text

NOT_STATED = "not stated"
SEEING = {
    "blinding": "Who was kept from knowing the arms of units",
    "access": "Who could see arms, scores, outcomes and estimates while units came in",
    "seed": "Who chose the seed, and who knew it",
    "keys": "Who gave units their keys, and when",
}
"""Who could see what: no log can hold it."""
FURTHER = {
    "eligibility": "Who was eligible, from where and when units came",
    "treatments": "What was done in every arm",
    "outcome": "What was measured, when and by whom",
    "budget": "How the budget was set",
    "interim": "Interim looks: who took them, when, and what followed",
    "stopping": "Why the experiment ended when it did",
    "oversight": "Who watched over it",
    "registration": "Where it is registered, and where the protocol is",
    "funding": "Who paid",
}
"""What else guidelines ask for and no log can hold."""


def check_statements(statements: Mapping[str, str] | None) -> dict[str, str]:
    """Texts by what they are about."""
    given = {} if statements is None else dict(statements)
    for name, text in given.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise InvalidArgument(
                f"the statement {name!r}: {text!r} is not text",
                hint='e.g. statements={"blinding": "Patients and raters did not know the arms."}',
            )
    return given


def seeing_blocks(statements: Mapping[str, str]) -> list[Block]:
    """Who could see what, as stated."""
    text = (
        "In the words of whoever wrote this report; no program has checked them. "
        "They are stated under the words in the first column: in a file of lines such as "
        "blinding = \"…\", given to 'equipoise report NAME --statements FILE.toml', or in Python by "
        'write_report(…, statements={"blinding": "…"}).'
    )
    return [Text(text), _table(SEEING, statements)]


def further_blocks(statements: Mapping[str, str]) -> list[Block]:
    """What else was stated, or asked for and not stated."""
    others = {name: "" for name in statements if name not in SEEING and name not in FURTHER}
    return [Text("Likewise in the experimenters' words."), _table({**FURTHER, **others}, statements)]


def _table(asked: Mapping[str, str], statements: Mapping[str, str]) -> Table:
    rows = [[name, question or "–", statements.get(name, NOT_STATED)] for name, question in asked.items()]
    return Table(["about", "asked for", "statement"], rows, text_columns=3)


# In our own words: what the CONSORT extension for adaptive designs (2020) and ICH E20 (draft) want reported.
_ITEMS = (
    ("that the design is adaptive, and which kind", "The rule"),
    ("what was planned to adapt, and by which rule", "The rule; Planned and changed"),
    ("what information drove adaptations, and when they began", "The rule"),
    ("important changes after the start, with reasons", "Planned and changed; Deviations"),
    (
        "how the sample size was set, planned against achieved",
        "Planned and changed; Stated by the experimenters",
    ),
    ("interim looks and decisions that were made", "Planned and changed; Stated by the experimenters"),
    (
        "how the sequence came about: kind, ratio, restrictions, changes of the ratio",
        "The rule; Course; Chance",
    ),
    ("how the next arm was concealed; how far it could be guessed", "Chance; Who could see what"),
    ("who was blinded, who saw interim data, how confidentiality was kept", "Who could see what"),
    ("methods of analysis, and what in them allows for adaptation", "Models; Naive beside adjusted"),
    ("flow of units through every stage, with losses and reasons", "Flow of units; Deviations"),
    ("dates of recruitment and follow-up", "Course; Flow of units"),
    ("baseline by arm, and by period of the design", "Target population; Balance; Balance by period"),
    ("numbers analysed, and in which group", "Flow of units; Units and errors"),
    (
        "estimates with precision, adjusted for adaptation beside naive ones",
        "Naive beside adjusted; Contrasts",
    ),
    ("time trends, and whether stages can be pooled", "Time trends; Balance by period"),
    (
        "operating characteristics, simulated: assumptions, error, bias, coverage",
        "Simulated operating characteristics",
    ),
    ("limits: bias, imprecision, and what depends on the design", "Limitations; Lack of fit"),
    ("whom the results apply to", "Target population"),
    ("where code, log and simulation can be found and checked", "Proof; Settings"),
    ("protocol, registration, oversight, funding", "Stated by the experimenters"),
)


def checklist_blocks() -> list[Block]:
    """Which section answers what."""
    text = (
        "What guidelines ask of adaptive trials (the CONSORT extension for adaptive designs of 2020, "
        "the ICH E20 "
        "draft), in our words, and the sections that answer it. A list is no certificate: statements that "
        "are not stated answer nothing."
    )
    return [Text(text), Table(["asked for", "sections"], [list(item) for item in _ITEMS], text_columns=2)]
