"""What the site asks of the mart: every query stands here, and nothing else of the site touches the database.

What belongs here: SQL over the mart's tables, read-only, and the rows as they come. What does not: what a page makes of
them (pages.py). A mart that lacks a table is refused by name, never shown as if there were nothing to show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from opentwbench.board import rag_page
from opentwbench.evaluation.mart import SOURCES_TABLE, MartError

Row = Mapping[str, Any]
"""A row of an answer by column name."""

ITEMS_AT_A_TIME = 2_000
"""Items held while their pages are written."""

NEEDED = (
    "apparatus_studies", "attributions", "build_accounting", "check_results", "dataset_versions", "field_scores",
    "head_to_head", "item_difficulty", "item_texts", "key_changes", "key_consistency", "leaderboard", "model_cards",
    "parse_alarms", "protocols", "rank_agreement", "removed_items", "run_failures", "run_log", "score_history",
    "subject_items", "subject_scores", "submission_provenance", "submissions_log", "version_changes", "withdrawals",
    "year_scores", SOURCES_TABLE,
)  # fmt: skip
"""Every table that the site reads."""

_BOARD = """
SELECT l.*, c.is_sample, c.family, c.developer, c.licence, c.released, c.parameters_b, c.active_parameters_b,
       c.open_weights, c.taiwan_tuned
FROM leaderboard AS l LEFT JOIN model_cards AS c USING (model)
ORDER BY benchmark, protocol_name, rank_band NULLS LAST, accuracy DESC NULLS LAST, model, run_id
"""

# What complete runs of one benchmark and protocol name usually score in a subject, and every model with the best score.
_TYPICAL = """
WITH cells AS (
    SELECT l.benchmark, l.protocol_name, l.model, s.subject, s.accuracy, s.n,
           s.accuracy = max(s.accuracy) OVER (PARTITION BY l.benchmark, l.protocol_name, s.subject) AS is_best
    FROM subject_scores AS s JOIN leaderboard AS l USING (run_id)
    WHERE l.is_complete
)
SELECT benchmark, protocol_name, subject, count(*) AS runs, count(DISTINCT model) AS models,
       median(accuracy) AS typical, min(accuracy) AS lowest, max(accuracy) AS best,
       list_sort(list(DISTINCT model) FILTER (WHERE is_best)) AS best_models,
       quantile_cont(accuracy, 0.25) AS lower_quarter, quantile_cont(accuracy, 0.75) AS upper_quarter, max(n) AS n
FROM cells GROUP BY ALL ORDER BY ALL
"""

_FIELD_TYPICAL = """
SELECT l.benchmark, l.protocol_name, f.field, median(f.accuracy) AS typical
FROM field_scores AS f JOIN leaderboard AS l USING (run_id)
WHERE l.is_complete GROUP BY ALL ORDER BY ALL
"""

# A run under an earlier version, with what tells it from the other runs of its model.
_HISTORY = """
SELECT h.*, p.name AS protocol_name, p.max_tokens
FROM score_history AS h LEFT JOIN protocols AS p USING (protocol_id)
WHERE NOT h.is_graded_version
ORDER BY h.model, h.benchmark, p.name, p.max_tokens, h.serving_precision, h.run_id, h.dataset_version
"""

# An item's page exists when some response names it; its texts may be gone from what is published.
_ITEMS = """
SELECT d.item_id, any_value(d.subject) AS subject, any_value(d.key) AS judged_key, any_value(d.year_roc) AS sitting,
       max(d.n) AS n, bool_or(d.key_is_suspect) AS key_is_suspect,
       list({'benchmark': d.benchmark, 'protocol_name': d.protocol_name, 'n': d.n, 'hits': d.hits,
             'pass_rate': d.pass_rate, 'pass_rate_low': d.pass_rate_low, 'pass_rate_high': d.pass_rate_high,
             'lenient_hits': d.lenient_hits, 'parsed': d.parsed, 'errors': d.errors, 'chose_a': d.chose_a,
             'chose_b': d.chose_b, 'chose_c': d.chose_c, 'chose_d': d.chose_d, 'key_is_suspect': d.key_is_suspect}
            ORDER BY d.benchmark, d.protocol_name) AS difficulty
FROM item_difficulty AS d GROUP BY d.item_id
"""

_ITEM_PAGES = f"""
SELECT i.*, t.dataset, t.question, t.option_a, t.option_b, t.option_c, t.option_d, t.key, t.exam_name, t.exam_level,
       t.subject_group, t.paper_id, t.article, t.article_url, coalesce(t.year_roc, i.sitting) AS year_roc, t.q_no,
       t.n_source_papers
FROM ({_ITEMS}) AS i LEFT JOIN item_texts AS t USING (item_id) ORDER BY i.item_id
"""


@dataclass(frozen=True)
class Mart:
    """Everything that pages share, read once; items are streamed (`items`)."""

    board: list[Row]
    """Rows of the leaderboard with what is stated of the model, in the order of a board."""
    protocols: dict[str, Row]
    subject_scores: dict[str, list[Row]]
    """Run -> its subjects."""
    field_scores: dict[str, list[Row]]
    year_scores: dict[str, list[Row]]
    typical: dict[tuple[str, str], dict[str, Row]]
    """(benchmark, protocol name) -> subject -> what complete runs usually score."""
    field_typical: dict[tuple[str, str], dict[str, float]]
    alarms: dict[str, list[Row]]
    """Run -> its parse alarms."""
    failures: dict[str, list[Row]]
    pairs: dict[str, list[Row]]
    """Run -> the pairs in which it stands, on either side."""
    runs: list[Row]
    submissions: list[Row]
    provenance: dict[str, list[Row]]
    subject_items: list[Row]
    versions: list[Row]
    version_changes: list[Row]
    key_changes: list[Row]
    withdrawals: list[Row]
    removed: list[Row]
    score_history: list[Row]
    accounting: dict[str, list[Row]]
    """Scope -> lines of its accounts."""
    key_consistency: dict[str, Row]
    checks: list[Row]
    agreement: list[Row]
    studies: list[Row]
    item_index: dict[str, list[Row]]
    """Subject -> its evaluated items, hardest first, without texts."""
    articles: list[Row]
    """Articles that published items were written from or show, asked or not: address, attribution, items a data set."""
    rag: dict[str, list[Row]]
    """Table of the retrieval track -> its rows, none where the mart lacks it (rag_page.py)."""
    digest: str
    """sha256 over the names and digests of everything that the mart was made from: what this site shows."""


def read_mart(mart: duckdb.DuckDBPyConnection) -> Mart:
    """Every row that pages share. Raises MartError naming the tables that the mart lacks."""
    there = {str(row["name"]) for row in _rows(mart, "SELECT table_name AS name FROM duckdb_tables()")}
    if missing := sorted(set(NEEDED) - there):
        raise MartError(f"the mart lacks {', '.join(missing)}: build it again")
    return Mart(
        board=_rows(mart, _BOARD),
        protocols={row["protocol_id"]: row for row in _rows(mart, "FROM protocols")},
        subject_scores=_by(_rows(mart, "FROM subject_scores ORDER BY run_id, field, subject"), "run_id"),
        field_scores=_by(_rows(mart, "FROM field_scores ORDER BY run_id, field"), "run_id"),
        year_scores=_by(_rows(mart, "FROM year_scores ORDER BY run_id, year_roc"), "run_id"),
        typical=_nested(_rows(mart, _TYPICAL), "subject"),
        field_typical={
            board: {name: row["typical"] for name, row in of.items()}
            for board, of in _nested(_rows(mart, _FIELD_TYPICAL), "field").items()
        },
        alarms=_by(_rows(mart, "FROM parse_alarms"), "run_id"),
        failures=_by(_rows(mart, "FROM run_failures ORDER BY run_id, n DESC, outcome, error"), "run_id"),
        pairs=_pairs(_rows(mart, "FROM head_to_head ORDER BY run_a, run_b")),
        runs=_rows(mart, "FROM run_log ORDER BY started NULLS LAST, run_id"),
        submissions=_rows(mart, "FROM submissions_log WHERE is_accepted ORDER BY received NULLS LAST, submission_id"),
        provenance=_by(_rows(mart, "FROM submission_provenance ORDER BY submission_id, field"), "submission_id"),
        subject_items=_rows(mart, "FROM subject_items ORDER BY dataset"),
        versions=_rows(mart, "FROM dataset_versions ORDER BY dataset, is_current DESC, dataset_version"),
        version_changes=_rows(mart, "FROM version_changes ORDER BY dataset, dataset_version"),
        key_changes=_rows(mart, "FROM key_changes ORDER BY dataset, item_id, earlier_version"),
        withdrawals=_rows(mart, "FROM withdrawals ORDER BY withdrawn_on DESC NULLS LAST, dataset, item_id"),
        removed=_rows(mart, "FROM removed_items ORDER BY dataset, item_id, last_version"),
        score_history=_rows(mart, _HISTORY),
        accounting=_by(_rows(mart, "FROM build_accounting ORDER BY scope, section, line"), "scope"),
        key_consistency={row["scope"]: row for row in _rows(mart, "FROM key_consistency")},
        checks=_rows(mart, "FROM check_results ORDER BY check_name, dataset"),
        agreement=_rows(mart, "FROM rank_agreement ORDER BY ALL"),
        studies=_rows(mart, "FROM apparatus_studies ORDER BY study_id"),
        item_index=_by(
            _rows(
                mart,
                f"SELECT item_id, subject, sitting AS year_roc, n, key_is_suspect, difficulty FROM ({_ITEMS})"
                " ORDER BY subject, difficulty[1].pass_rate NULLS LAST, item_id",
            ),
            "subject",
        ),
        articles=_rows(
            mart,
            "SELECT attribution, url, list({'dataset': dataset, 'items': items} ORDER BY dataset) AS used"
            " FROM attributions GROUP BY ALL ORDER BY ALL",
        ),
        rag={name: _rows(mart, f"FROM {name} ORDER BY ALL") if name in there else [] for name in rag_page.TABLES},
        digest=_digest(mart),
    )


def read_items(mart: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    """Every evaluated item with its texts and how models did, by id, a batch at a time."""
    answer = mart.execute(_ITEM_PAGES)
    names = [column[0] for column in answer.description or ()]
    while rows := answer.fetchmany(ITEMS_AT_A_TIME):
        yield from (dict(zip(names, row, strict=True)) for row in rows)


def mart_digest(path: Path) -> str:
    """The digest of a mart on disk. Raises MartError when it cannot be opened or lacks its sources."""
    try:
        with duckdb.connect(str(path), read_only=True) as mart:
            return _digest(mart)
    except duckdb.Error as error:
        raise MartError(f"{path.name}: {error}") from None


def _digest(mart: duckdb.DuckDBPyConnection) -> str:
    query = f"SELECT sha256(string_agg(file || ' ' || sha256, chr(10) ORDER BY file)) AS digest FROM {SOURCES_TABLE}"
    return str(_rows(mart, query)[0]["digest"] or "")


def _rows(mart: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[object] = ()) -> list[Row]:
    answer = mart.execute(query, list(parameters))
    names = [column[0] for column in answer.description or ()]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def _by(rows: list[Row], column: str) -> dict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(row)
    return dict(found)


def _nested(rows: list[Row], column: str) -> dict[tuple[str, str], dict[str, Row]]:
    found: defaultdict[tuple[str, str], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        found[row["benchmark"], row["protocol_name"]][row[column]] = row
    return dict(found)


def _pairs(rows: list[Row]) -> dict[str, list[Row]]:
    """Each pair from both sides: `ours` and `theirs` are the items that only the one or the other has right."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for ours, theirs, sign in (("a", "b", 1), ("b", "a", -1)):
            found[row[f"run_{ours}"]].append(
                {
                    "run_id": row[f"run_{theirs}"],
                    "model": row[f"model_{theirs}"],
                    "n": row["n"],
                    "ours": row[f"only_{ours}"],
                    "theirs": row[f"only_{theirs}"],
                    "difference": None if row["difference"] is None else sign * row["difference"],
                    "p": row["mcnemar_exact_p"],
                }
            )
    return dict(found)
