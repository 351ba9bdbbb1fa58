"""`otb sample` and `otb submit` from outside: an edition drawn and kept, a submission checked, refused, folded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.datasets import make_dataset, make_id, make_row
from support.evaluation import boxed, make_response
from typer.testing import CliRunner

from opentwbench.dataset.contract import ItemRow
from opentwbench.dataset.manifest import write_dataset
from opentwbench.dataset.model import Withdrawal
from opentwbench.evaluation.items import ItemSet, item_file
from opentwbench.evaluation.journal import Journal, write_run
from opentwbench.evaluation.model import RunRecord
from opentwbench.evaluation.protocols import BOX
from opentwbench.evaluation.refusals import read_refusals
from opentwbench.evaluation.scoring import grade
from opentwbench.evaluation.submissions import read_all, row_of
from orchestration.cli import application

RUN = CliRunner()
ROWS = [make_row(n) for n in range(30)]


def publish(store: Path, rows: list[ItemRow], *withdrawn: str) -> ItemSet:
    withdrawals = tuple(Withdrawal(item_id, "圖表題", "2026-11-30", "see the paper") for item_id in withdrawn)
    folder = store / "publications" / "tw-sample-subject-bench"
    write_dataset(make_dataset(rows, withdrawals=withdrawals), folder, folder)
    return ItemSet((item_file(folder),))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    publish(tmp_path / "store", ROWS)
    return tmp_path / "store"


def otb(*arguments: object, status: int = 0) -> str:
    result = RUN.invoke(application([str(arguments[0])]), [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.stdout if status == 0 else result.stderr


def figures(edition: Path, store: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(otb("sample", "show", edition, "--store", store, "--json"))
    return found


def test_an_edition_is_drawn_once_and_loses_what_is_withdrawn(store: Path, tmp_path: Path) -> None:
    edition = tmp_path / "2026-11.json"
    draw = ("sample", "draw", "2026-11", "--out", edition, "--store", store, "--per-subject", "12")
    assert "12 items of 1 subjects" in otb(*draw)
    assert "stands already" in otb(*draw)
    ids = otb("sample", "show", edition, "--store", store, "--ids").split()
    assert len(ids) == 12
    publish(store, ROWS, ids[3])
    assert "stands already" in otb(*draw)  # a withdrawal changes no draw
    assert otb("sample", "show", edition, "--store", store, "--ids").split() == [*ids[:3], *ids[4:]]
    found = figures(edition, store)
    assert (found["drawn"], found["scored"], found["withdrawn"], found["gone"]) == (12, 11, 1, 0)
    publish(store, [*ROWS, *(make_row(n) for n in range(100, 160))], ids[3])
    assert "frozen" in otb(*draw, status=2)
    assert figures(edition, store) == found


def test_a_changed_text_is_followed(store: Path, tmp_path: Path) -> None:
    edition = tmp_path / "e.json"
    otb("sample", "draw", "e", "--out", edition, "--store", store)
    corrected = make_row(0, question="第 0 題更正：下列何者正確？", item_id="sample-subject-ffffffffffff")
    publish(store, [corrected, *ROWS[1:]])
    found = figures(edition, store)
    assert (found["scored"], found["renamed"], found["gone"]) == (30, 1, 0)


def test_no_edition(store: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    assert "format" in otb("sample", "show", tmp_path / "bad.json", "--store", store, status=3)
    assert "nothing is published" in otb(
        "sample", "draw", "e", "--out", tmp_path / "e.json", "--store", tmp_path / "none", status=3
    )


def files(folder: Path, items: ItemSet, **changes: Any) -> tuple[Path, Path]:
    """Results of the exact form and their provenance; every third item is wrong."""
    rows = []
    for n, item in enumerate(items):
        key = item.key if n % 3 else "ABCD"[("ABCD".index(item.key) + 1) % 4]
        rows.append(row_of(grade(make_response(item, boxed(item, key)), item.key), item.question))
    results, provenance = folder / "results.jsonl", folder / "provenance.json"
    results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    record = {
        "model": "some/[model]",
        "benchmark": "exam",
        "dataset_version": items.version,
        "protocol_id": BOX.protocol_id,
        "hardware": "1 x RTX 4090",
        "runtime": "vLLM",
        "consent": True,
        "hostname": "gpu-17",
    }
    provenance.write_text(json.dumps({**record, **changes}))
    return results, provenance


def test_check_and_fold(store: Path, tmp_path: Path) -> None:
    results, provenance = files(tmp_path, ItemSet((item_file(store / "publications" / "tw-sample-subject-bench"),)))
    arguments = (results, "--provenance", provenance, "--store", store)
    shown = otb("submit", "check", *arguments)
    assert "30 of 30 items" in shown
    assert "hostname" in shown
    assert not (store / "submissions").exists()
    first = json.loads(otb("submit", "fold", *arguments, "--json"))
    second = json.loads(otb("submit", "fold", *arguments, "--json"))
    assert (first["folded"], second["folded"]) == ("taken in", "was there already")
    assert first["rates"]["strict"]["hits"] == 20
    (folded,) = read_all(store / "submissions")
    assert folded.submission_id == first["submission_id"]
    assert "gpu-17" not in (store / "submissions" / folded.submission_id / "submission.json").read_text()


def test_a_submission_over_the_sample(store: Path, tmp_path: Path) -> None:
    edition = tmp_path / "e.json"
    otb("sample", "draw", "e", "--out", edition, "--store", store, "--per-subject", "10")
    whole = ItemSet((item_file(store / "publications" / "tw-sample-subject-bench"),))
    chosen = frozenset(otb("sample", "show", edition, "--store", store, "--ids").split())
    results, provenance = files(tmp_path, ItemSet(whole.files, "scored", chosen))
    arguments = (results, "--provenance", provenance, "--store", store)
    assert json.loads(otb("submit", "check", *arguments, "--sample", edition, "--json"))["rows_answered"] == 10
    assert "missing_items" in otb("submit", "check", *arguments, status=3)


def test_refusals_say_what_to_do(store: Path, tmp_path: Path) -> None:
    items = ItemSet((item_file(store / "publications" / "tw-sample-subject-bench"),))
    results, provenance = files(tmp_path, items, consent=False)
    words = otb("submit", "check", results, "--provenance", provenance, "--store", store, status=3)
    assert "no_consent" in words
    assert "What to do" in words
    results, provenance = files(tmp_path, items)
    publish(store, ROWS, ROWS[0].item_id)
    assert "other_version" in otb("submit", "fold", results, "--provenance", provenance, "--store", store, status=3)
    assert list(read_all(store / "submissions")) == []
    otb("submit", "check", tmp_path / "none", "--provenance", provenance, "--store", store, status=2)
    otb("submit", "check", results, "--provenance", provenance, "--store", tmp_path / "none", status=2)


def test_a_fold_that_is_refused_is_kept_for_the_maintainer(store: Path, tmp_path: Path) -> None:
    items = ItemSet((item_file(store / "publications" / "tw-sample-subject-bench"),))
    results, provenance = files(tmp_path, items, hardware="2 x H100, host=gpu-17")
    short = tmp_path / "short.jsonl"
    short.write_text("".join(results.read_text().splitlines(keepends=True)[:20]))
    arguments = (short, "--provenance", provenance, "--store", store)
    otb("submit", "check", *arguments, status=3)
    assert not (store / "submissions").exists(), "check writes nothing"
    for _ in range(2):
        assert "missing_items" in otb("submit", "fold", *arguments, status=3)
    (kept,) = read_refusals(store / "submissions")
    assert (kept.reason, kept.form, kept.rows, kept.model) == ("missing_items", "exact", 20, "some/[model]")
    assert "10 of 30 hashes have no row" in kept.detail
    otb("submit", "fold", results, "--provenance", provenance, "--store", store)
    files(tmp_path, items, consent=False, model="maker/secret-model")
    assert "no_consent" in otb("submit", "fold", *arguments, status=3)
    found = {each.reason: each for each in read_refusals(store / "submissions")}
    assert set(found) == {"missing_items", "no_consent"} and len(list(read_all(store / "submissions"))) == 1
    assert (found["no_consent"].model, found["no_consent"].rows) == ("", 0)
    written = "".join(path.read_text() for path in (store / "submissions" / "refused").iterdir())
    assert "gpu-17" not in written and "secret-model" not in written


def test_a_bundle_with_another_budget(store: Path, tmp_path: Path) -> None:
    items = ItemSet((item_file(store / "publications" / "tw-sample-subject-bench"),))
    protocol = tmp_path / "protocol.json"
    results, provenance = files(tmp_path, items, protocol_id=BOX.with_budget(8_192).protocol_id)
    arguments = ("submit", "check", results, "--provenance", provenance, "--store", store)
    assert "other_protocol" in otb(*arguments, status=3)
    protocol.write_text(json.dumps(BOX.with_budget(8_192).to_json()))
    assert "30 of 30 items" in otb(*arguments, "--protocol", protocol)
    protocol.write_text(json.dumps({**BOX.to_json(), "system": "只寫 A"}))
    assert "no published protocol" in otb(*arguments, "--protocol", protocol, status=2)
    protocol.write_text("[]")
    otb(*arguments, "--protocol", protocol, status=2)


def test_a_full_run_on_the_scale_of_the_sample(store: Path, tmp_path: Path) -> None:
    """40 items at 90 % and 10 at 50 %: the sample takes 10 of each, so that the anchor falls from 82 to 70 %."""
    sizes = {"tw-sample-subject-bench": (40, 36), "tw-other-subject-bench": (10, 5)}
    for slug, (n, _) in sizes.items():
        key = slug.removeprefix("tw-").removesuffix("-bench")
        rows = [make_row(k, question=f"{key} {k}？", item_id=make_id(k, key)) for k in range(n)]
        write_dataset(make_dataset(rows, slug=slug), store / "publications" / slug)
    edition = tmp_path / "e.json"
    otb("sample", "draw", "e", "--out", edition, "--store", store, "--per-subject", "10")
    items = ItemSet(tuple(item_file(store / "publications" / slug) for slug in sizes))
    record = RunRecord("full", "m", BOX.protocol_id, "exam", items.version, "scored", 50, 1, "2026-11-30")
    write_run(store / "runs" / "full", record, BOX)
    with Journal(store / "runs" / "full") as journal:
        for file in items.files:
            for n, item in enumerate(ItemSet((file,))):
                text = boxed(item, item.key) if n < sizes[file.subject][1] else "無"
                journal.append(make_response(item, text, run_id="full"))
    found = json.loads(otb("sample", "anchor", edition, "full", "--store", store, "--json"))
    assert found["population"] == pytest.approx(0.82)
    assert found["on_sample"] == pytest.approx(0.70)
    assert found["shift"] == pytest.approx(-0.12)
    assert found["low"] < 0.70 < found["high"]
    assert found["complete"] is True
    assert "70.00% on the sample's scale" in otb("sample", "anchor", edition, "full", "--store", store)
    otb("sample", "anchor", edition, "../full", "--store", store, status=2)


@pytest.mark.parametrize("missing", ["results", "provenance"])
def test_a_file_that_is_not_there_is_named(store: Path, tmp_path: Path, missing: str) -> None:
    names = {name: tmp_path / f"{name}.json" for name in ("results", "provenance")}
    for name, path in names.items():
        if name != missing:
            path.write_text("{}")
    said = otb("submit", "check", names["results"], "--provenance", names["provenance"], "--store", store, status=2)
    assert "".join(said.split()) == f"otbsubmit:{names[missing]}:Nosuchfileordirectory"
