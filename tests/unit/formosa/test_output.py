"""The published folder: what is in it, every blocking check fired by a planted defect and silent on a sound folder."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.formosa import judgement_json, make_draft, make_screened, make_window, reply

from opentwbench.dataset.files import JSONL_NAME, jsonl_bytes, read_jsonl
from opentwbench.dataset.manifest import json_bytes, read_manifest, sha256
from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.dataset.publication import PublicationRefused, publish
from opentwbench.dataset.validators import CheckOutcome
from opentwbench.evaluation.items import Roster, item_set
from opentwbench.formosa.accounting import account
from opentwbench.formosa.band import Band, recut
from opentwbench.formosa.curation import Mark, Member, freeze, member_record, sidecar_of, transfer
from opentwbench.formosa.dataset_checks import CHECKS, judge, run_check
from opentwbench.formosa.drafting import Drafted
from opentwbench.formosa.grounding import JUDGE_PROMPT, ground, judgement_id
from opentwbench.formosa.judge_study import ClassFigures, Defect, JudgeResult
from opentwbench.formosa.model import LETTERS, FormosaItem
from opentwbench.formosa.output import (
    FOLDER_NAMES,
    Release,
    full_version,
    make_items,
    read_full,
    sidecar_bytes,
    write_release,
)
from opentwbench.formosa.permutation import permuted
from opentwbench.formosa.shortcuts import shortcuts
from opentwbench.statistics.intervals import mean_interval, wilson

N = 120
SCREENED = [make_screened(n) for n in range(N)]
WINDOWS = {make_window(n).window_id: make_window(n) for n in range(N)}
REPLIES = [reply(judgement_id(s.draft), judgement_json(quote=s.draft.quote), "judge") for s in SCREENED]
GROUNDING = ground(SCREENED, REPLIES, WINDOWS, "judge", JUDGE_PROMPT.prompt_id)
ITEMS = tuple(make_items(GROUNDING, WINDOWS))
JUDGE = JudgeResult(
    "judge",
    JUDGE_PROMPT.prompt_id,
    ClassFigures(60, 60, 60, 0, 0),
    {defect: ClassFigures(40, 40, 0, 40, 0) for defect in Defect},
    "ab" * 32,
)


def member(model: str, every: int) -> Member:
    """Wrong on each `every`-th item."""
    marks = {i.item_id: Mark.WRONG if n % every == 0 else Mark.RIGHT for n, i in enumerate(ITEMS)}
    served = {f"{model}-2026-01-01": len(marks)}
    return Member(model, marks, "box-0123456789ab", full_version(ITEMS), f"run-{model}", served=served)


def by_category(kept: set[str], category: str | None):  # type: ignore[no-untyped-def]
    screened = [s for s in SCREENED if category in (None, WINDOWS[s.draft.window_id].category)]
    own = ground(screened, REPLIES, WINDOWS, "judge", JUDGE_PROMPT.prompt_id)
    ids = [item.item_id for item in ITEMS if category in (None, item.category)]
    drafted = Drafted(len(screened), tuple(s.draft for s in screened))
    sidecar = [each for each in SIDECAR if each.item_id in ids]
    return account(drafted, screened, own, recut(sidecar, POOL, Band(0, 2)))


MEMBERS = [member("a", 2), member("b", 3), member("c", 5)]
POOL = [each.model for each in MEMBERS]
SIDECAR = tuple(sidecar_of([item.item_id for item in ITEMS], MEMBERS))


def release(**changes: object) -> Release:
    edition = freeze(
        "2026-11",
        "2026-11-30",
        full_version(ITEMS),
        Band(0, 2),
        SIDECAR,
        sha256(sidecar_bytes(SIDECAR)),
        [member_record(each) for each in MEMBERS],
        roles={"a": ("drafted",)},
    )
    kept = set(edition.cut.kept)
    made = Release(
        ITEMS,
        edition,
        SIDECAR,
        transfer(SIDECAR, POOL, edition.band, edition.roles),
        (JUDGE,),
        by_category(kept, None),
        {name: by_category(kept, name) for name in ("Food", "History", "Nature")},
        "test+0",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def screen(text: str) -> list[str]:
    return [f"简: {char}" for char in text if char in "这们"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tw-formosa-bench"
    write_release(release(), place)
    return place


def published(folder: Path) -> Path:
    """A publication of the folder beside it, past a gate without checks."""
    place = folder.parent / "publications" / folder.name
    publish(folder, (), place, (), FOLDER_NAMES)
    return place


# -- items and files --------------------------------------------------------------------------------------------------


def test_options_are_permuted_by_the_window_and_the_key_goes_with_its_text() -> None:
    counted: Counter[str] = Counter()
    for n in range(400):
        window, draft = make_window(n), make_draft(n, key="A")
        options, key = permuted(window.window_id, draft.options, "A")
        assert options[key] == draft.options["A"] and sorted(options) == list(LETTERS)
        assert sorted(options.values()) == sorted(draft.options.values())
        assert permuted(window.window_id, draft.options, "A") == (options, key)
        counted[key] += 1
    # Always A before; after, each letter within 4 standard deviations (8.7) of 100.
    assert all(65 <= counted[letter] <= 135 for letter in LETTERS)
    same = {"A": "x", "B": "x", "C": "y", "D": "z"}
    options, key = permuted("w", same, "B")
    assert options[key] == "x"
    with pytest.raises(KeyError):
        permuted("w", {"A": "x"}, "A")


def test_two_drafts_of_one_item_stop_the_build() -> None:
    twin = replace(make_window(500), window_id="Food/孿生/000000000000")
    screened = [make_screened(500), make_screened(500, draft=make_draft(500, window_id=twin.window_id))]
    windows = {make_window(500).window_id: make_window(500), twin.window_id: twin}
    replies = [reply(judgement_id(s.draft), judgement_json(), "judge") for s in screened]
    with pytest.raises(DatasetError, match="give one item"):
        make_items(ground(screened, replies, windows, "judge", "p"), windows)


def test_the_folder_holds_its_files_and_a_run_can_ask_it(folder: Path) -> None:
    assert {entry.name for entry in folder.iterdir()} == set(FOLDER_NAMES)
    manifest = read_manifest(folder)
    for name, entry in manifest["files"].items():
        assert entry["sha256"] == sha256((folder / name).read_bytes())
    kept = [n for n in range(N) if n % 2 == 0 or n % 3 == 0 or n % 5 == 0]
    assert manifest["counts"] == {"items": len(kept), "withdrawn": 0, "scored": len(kept), "grounded": N}
    assert read_full(folder) == sorted(ITEMS, key=lambda item: item.item_id)
    asked = item_set([folder], item_set="scored")
    assert len(Roster(asked)) == len(kept) and asked.version == manifest["version"]
    assert {"question", "answer"}.isdisjoint(read_jsonl(folder / "difficulty.jsonl")[0])


def test_equal_content_is_equal_bytes_and_a_changed_band_a_changelog(folder: Path, tmp_path: Path) -> None:
    before = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    write_release(release(), folder)
    assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == before
    gone = read_jsonl(folder / JSONL_NAME)[0]["item_id"]
    withdrawal = Withdrawal(gone, "key_in_doubt", "2026-11-30", "made up")
    first = read_manifest(folder)["version"]
    public = published(folder)
    other = Withdrawal(read_jsonl(folder / JSONL_NAME)[1]["item_id"], "key_in_doubt", "2026-11-30", "made up")
    withheld = write_release(release(withdrawals=(other,)), folder, public)
    second = write_release(release(withdrawals=(withdrawal,)), folder, public)
    log = (folder / "CHANGELOG.md").read_text("utf-8")
    assert first != second and log.index(second) < log.rindex(first)
    assert withheld not in log and other.item_id not in log, "a version that nobody published is no history"
    assert write_release(release(withdrawals=(withdrawal,)), folder, published(folder)) == second
    assert (folder / "CHANGELOG.md").read_text("utf-8") == log
    assert len(Roster(item_set([folder], item_set="scored"))) == read_manifest(folder)["counts"]["items"] - 1
    assert f"`{gone}`" in log.split(f"## {first}")[0], "the section of the version names what it withdrew"
    write_release(release(), folder, published(folder))
    log = (folder / "CHANGELOG.md").read_text("utf-8")
    assert log.count(f"`{gone}`") == 2, "and the next what it took back"
    assert log.count(f"## {first}") == 2  # the rows of before have the version of before
    assert run_check("card_matches", folder, screen).passed
    section = log[log.index("## ") :].split("\n## ")[0]
    twice = with_changelog(folder, log.replace(section, f"{section}\n{section}", 1))
    assert f"two sections of {first} with no other between them" in (twice.detail or "")


def with_changelog(folder: Path, log: str) -> CheckOutcome:
    """What the check says of another changelog that the manifest names with its right hash."""
    (folder / "CHANGELOG.md").write_text(log, "utf-8")
    manifest = read_manifest(folder)
    manifest["files"]["CHANGELOG.md"] = {"sha256": sha256(log.encode()), "bytes": len(log.encode())}
    (folder / "manifest.json").write_bytes(json_bytes(manifest))
    return run_check("card_matches", folder, screen)


def test_the_card_says_what_was_measured(folder: Path) -> None:
    card = (folder / "README.md").read_text("utf-8")
    for words in ("license: cc-by-sa-4.0", "| Food | ", "drafted", "Leave-one-out", "60 / 60", "CC BY-SA 4.0"):
        assert words in card
    hostile = release(judges=(replace(JUDGE, judge="<script>|x|"),))
    write_release(hostile, folder)
    assert "<script>" not in (folder / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"items": ITEMS[1:]}, "not in the grounded set|another version"),
        ({"items": (replace(ITEMS[0], quote="另一句"), *ITEMS[1:])}, "another version"),
        ({"sidecar": SIDECAR[1:]}, "another sidecar"),
        ({"account": replace(release().account, windows=9)}, "does not close"),
        ({"withdrawals": (Withdrawal("formosa-" + "0" * 12, "x", "2026-11-30", "x"),)}, "not published"),
    ],
)
def test_a_release_that_does_not_hold_together_is_not_written(
    changes: dict[str, object], words: str, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError, match=words):
        write_release(release(**changes), tmp_path / "x")
    assert not (tmp_path / "x").exists()


# -- checks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(CHECKS))
def test_no_check_fires_on_a_sound_folder(name: str, folder: Path) -> None:
    outcome = run_check(name, folder, screen)
    assert outcome.passed, outcome.detail


def rows(change: Callable[[list[dict[str, str]]], None]) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        records = read_jsonl(folder / "benchmark.jsonl")
        change(records)
        (folder / "benchmark.jsonl").write_bytes(jsonl_bytes(records))

    return plant


def full(change: Callable[[list[dict[str, object]]], None]) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        path = folder / "grounded.jsonl.gz"
        records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        change(records)
        path.write_bytes(gzip.compress(jsonl_bytes(records)))

    return plant


def stats(change: Callable[[dict[str, object]], None], name: str = "build_stats.json") -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        record = json.loads((folder / name).read_bytes())
        change(record)
        (folder / name).write_bytes(json_bytes(record))

    return plant


def text(name: str, old: str, new: str) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        before = (folder / name).read_text("utf-8")
        assert old in before
        (folder / name).write_text(before.replace(old, new, 1), "utf-8")

    return plant


def append(name: str, more: str) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        (folder / name).write_text((folder / name).read_text("utf-8") + more, "utf-8")

    return plant


def withdrawn(pick: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        ids = pick([each["item_id"] for each in read_jsonl(folder / "benchmark.jsonl")])
        records = [Withdrawal(each, "key_in_doubt", "2026-11-30", "made up").to_json() for each in ids]
        (folder / "withdrawn.jsonl").write_bytes(jsonl_bytes(records))

    return plant


def aside(records: list[dict[str, object]]) -> dict[str, object]:
    """A record of the full set that is not in the band: always the same, whatever was changed in it."""
    kept = {item.item_id for item in release().published()}
    return next(each for each in records if each["item_id"] not in kept)


def inside(records: list[dict[str, object]]) -> dict[str, object]:
    kept = {item.item_id for item in release().published()}
    return next(each for each in records if each["item_id"] in kept)


def next_letter(record: dict[str, object]) -> str:
    return "BCDA"["ABCD".index(str(record["answer"]))]


def move_key(record: dict[str, object]) -> None:
    record.update(answer=next_letter(record))


def judges(record: dict[str, object]) -> dict[str, object]:
    return record["judges"][0]  # type: ignore[index,no-any-return]


def all_at_a(records: list[dict[str, str]]) -> None:
    for record in records:
        record["answer"] = "A"


DEFECTS: list[tuple[str, str, Callable[[Path], None]]] = [
    ("row_contract", "empty option", rows(lambda r: r[0].update(A=" "))),
    ("row_contract", "equal options", rows(lambda r: r[0].update(A=r[0]["B"]))),
    ("row_contract", "no letter", rows(lambda r: r[0].update(answer="E"))),
    ("row_contract", "wide space", rows(lambda r: r[0].update(question="題　目"))),
    ("row_contract", "private use", rows(lambda r: r[0].update(question="題\ue000"))),
    ("row_contract", "id of another text", rows(lambda r: r[0].update(question="另一題？"))),
    ("row_contract", "column gone", rows(lambda r: r[0].pop("url") and None)),
    ("row_contract", "twice", rows(lambda r: r.append(r[0]))),
    ("row_contract", "no text", rows(lambda r: r[0].update(title=3))),  # type: ignore[arg-type]
    ("answer_position", "always A", rows(all_at_a)),
    ("csv_mirrors_jsonl", "another cell", text("benchmark.csv", "舉辦", "舉行")),
    ("csv_mirrors_jsonl", "a row less", rows(lambda r: r.pop() and None)),
    (
        "residual_duplicates",
        "same item twice",
        full(lambda r: r.append({**r[0], "question": f"{r[0]['question']}！"})),
    ),
    ("residual_duplicates", "one window twice", full(lambda r: r[0].update(window_id=r[1]["window_id"]))),
    ("orthography", "a Simplified character", rows(lambda r: r[0].update(question="这是什麼？"))),
    ("orthography", "in an option", rows(lambda r: r[0].update(D="他们"))),
    ("grounding_recorded", "key moved", rows(lambda r: r[0].update(answer="ABCDA"["ABCD".index(r[0]["answer"]) + 1]))),
    ("grounding_recorded", "not in the full set", full(lambda r: r.clear() or None)),
    ("grounding_recorded", "quotation lost", full(lambda r: [each.update(quote="短") for each in r] and None)),
    ("grounding_recorded", "judge unknown", stats(lambda s: s.update(judges=[]))),
    ("grounding_recorded", "judge failed", stats(lambda s: s["judges"][0]["good"].update(approved=20, rejected=40))),  # type: ignore[index]
    ("band_matches", "row outside the band", rows(lambda r: r.pop() and None)),
    ("band_matches", "sidecar changed", text("difficulty.jsonl", "false", "true")),
    ("band_matches", "edition changed", stats(lambda e: e.update(band="0-1"), "edition.json")),
    ("licence_present", "another licence", text("README.md", "license: cc-by-sa-4.0", "license: mit")),
    ("licence_present", "licence cut", text("LICENSE.md", "## 更動 Changes", "")),
    ("licence_present", "no attribution", rows(lambda r: r[0].update(attribution="某網站"))),
    ("licence_present", "no address", rows(lambda r: r[0].update(url="x"))),
    ("accounting_closes", "one window more", stats(lambda s: s["account"].update(windows=N + 1))),  # type: ignore[attr-defined,index]
    ("accounting_closes", "category gone", stats(lambda s: s["by_category"].pop("Food") and None)),  # type: ignore[attr-defined,index]
    ("accounting_closes", "row lost", rows(lambda r: r.pop() and None)),
    # What is said of items is looked at in the full set, of which the band is a part.
    ("row_contract", "no letter, outside the band", full(lambda r: aside(r).update(answer="E"))),
    ("row_contract", "id of another text, outside the band", full(lambda r: aside(r).update(question="另一題？"))),
    ("orthography", "outside the band", full(lambda r: aside(r).update(C="他们"))),
    ("licence_present", "no attribution, outside the band", full(lambda r: aside(r).update(attribution="某網站"))),
    ("licence_present", "no address, outside the band", full(lambda r: aside(r).update(url="http://example.org"))),
    (
        "grounding_recorded",
        "key moved, outside the band",
        full(lambda r: move_key(aside(r))),
    ),
    ("grounding_recorded", "judge unknown, outside the band", full(lambda r: aside(r).update(judge="someone"))),
    (
        "grounding_recorded",
        "article's title, outside the band",
        full(lambda r: aside(r).update(title="別的文章")),
    ),
    ("grounding_recorded", "a quotation emptied in the band", full(lambda r: inside(r).update(quote=""))),
    (
        "grounding_recorded",
        "a quotation invented",
        full(lambda r: inside(r).update(quote="沒有的一句話")),
    ),
    ("grounding_recorded", "the judge changed underway", stats(lambda s: judges(s).update(served={"a": 90, "b": 90}))),
    # What the folder says of itself.
    ("card_matches", "leave-one-out figure", text("README.md", "| a | 50&#46;0% |", "| a | 60&#46;0% |")),
    ("card_matches", "count of items", text("README.md", f"{N:,} 題", f"{N + 1:,} 題")),
    ("card_matches", "judge's interval", text("README.md", "60 / 60 (", "61 / 61 (")),
    ("card_matches", "served name", text("README.md", "a-2026-01-01", "a-2026-02-02")),
    ("card_matches", "shortcut", text("README.md", "選最長 pick the longest | ", "選最長 pick the longest | 1")),
    ("card_matches", "stats: account", stats(lambda s: s["account"].update(unanswered=1))),  # type: ignore[attr-defined,index]
    ("card_matches", "stats: shortcuts", stats(lambda s: s["shortcuts"].pop("band") and None)),  # type: ignore[attr-defined,index]
    ("card_matches", "stats: served", stats(lambda s: s.update(served={"drafted": {"d": {"d": 1}}}))),
    ("card_matches", "stats: edition", stats(lambda s: s.update(edition="other-0123456789ab"))),
    ("card_matches", "manifest: counts", stats(lambda m: m["counts"].update(items=1), "manifest.json")),  # type: ignore[attr-defined,index]
    ("card_matches", "manifest: grounded version", stats(lambda m: m.update(grounded_version="0"), "manifest.json")),
    ("card_matches", "manifest: served", stats(lambda m: m.update(served={}), "manifest.json")),
    ("card_matches", "withdrawn: one more", withdrawn(lambda ids: ids[:1])),
    ("card_matches", "withdrawn: not published", withdrawn(lambda _: ["formosa-" + "0" * 12])),
    ("card_matches", "withdrawn: twice", withdrawn(lambda ids: [ids[0], ids[0]])),
    ("card_matches", "changelog: count", text("CHANGELOG.md", " 題 items", "0 題 items")),
    ("card_matches", "changelog: version", text("CHANGELOG.md", "\n## ", "\n## 0")),
    ("card_matches", "changelog: a section more", append("CHANGELOG.md", "\n## 0123456789ab\n\n9 題 items.\n")),
    ("card_matches", "sidecar", text("difficulty.jsonl", "false", "true")),
    ("card_matches", "licence text", text("LICENSE.md", "授權", "授予")),
]


@pytest.mark.parametrize(("check", "what", "plant"), DEFECTS, ids=[f"{c}-{w}" for c, w, _ in DEFECTS])
def test_a_planted_defect_fires_its_check(check: str, what: str, plant: Callable[[Path], None], folder: Path) -> None:
    plant(folder)
    outcome = run_check(check, folder, screen)
    assert outcome.blocks and outcome.detail


def regrounded(change: Callable[[FormosaItem], FormosaItem], folder: Path) -> Path:
    """A folder over changed items whose hashes all agree: only the windows can tell."""
    items = tuple(change(item) for item in ITEMS)
    edition = replace(release().edition, dataset_version=full_version(items))
    write_release(release(items=items, edition=edition), folder)
    return folder


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"quote": "從來沒有人說過的一句話"}, "its quotation is not in its window"),
        ({"attribution": "別人, CC BY-SA 4.0"}, "attribution is not its window's"),
        ({"window_id": "Food/無/000000000000"}, "no window"),
        ({"commit": "1" * 40}, "commit is not its window's"),
    ],
)
def test_the_windows_tell_what_consistent_hashes_do_not(changes: dict[str, str], words: str, tmp_path: Path) -> None:
    folder = regrounded(lambda item: replace(item, **changes), tmp_path / "x")  # type: ignore[arg-type]
    alone = run_check("grounding_recorded", folder, screen)
    assert alone.passed and "no window was at hand" in alone.detail
    found = run_check("grounding_recorded", folder, screen, WINDOWS)
    assert found.blocks and words in found.detail and found.figures["offenders"] == N
    # One invented item among many is found as well, wherever it is.
    last = ITEMS[-1].item_id
    one = regrounded(lambda i: replace(i, **changes) if i.item_id == last else i, tmp_path / "y")  # type: ignore[arg-type]
    assert run_check("grounding_recorded", one, screen, WINDOWS).figures["offenders"] == 1


def test_an_item_without_a_quotation_needs_its_answer_in_the_window(tmp_path: Path) -> None:
    folder = regrounded(lambda item: replace(item, quote=""), tmp_path / "x")
    assert run_check("grounding_recorded", folder, screen, WINDOWS).passed  # the answers stand there
    wrong = regrounded(
        lambda item: replace(item, quote="", answer=next_letter({"answer": item.answer})), tmp_path / "y"
    )
    found = run_check("grounding_recorded", wrong, screen, WINDOWS)
    assert found.figures["offenders"] == N and "neither its answer nor a quotation" in found.detail


def test_with_windows_a_sound_folder_passes_and_says_so(folder: Path) -> None:
    found = run_check("grounding_recorded", folder, screen, WINDOWS)
    assert found.passed and "every window was looked up" in found.detail and found.figures["grounded"] == N


def becomes(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def field(name: str, key: str, value: object) -> Callable[[Path], object]:
    return stats(lambda record: record.update({key: value}), name)


def a_folder_in_its_place(folder: Path) -> None:
    (folder / "benchmark.csv").unlink()
    (folder / "benchmark.csv").mkdir()


OF_RECORDS = ("grounding_recorded", "band_matches", "accounting_closes", "card_matches")
"""Checks that read the records beside the rows."""

FIELDS = {
    "build_stats.json": ("account", "by_category", "judges", "served", "shortcuts"),
    "manifest.json": ("files", "counts", "version"),
    "edition.json": ("pool", "items", "roles", "band", "external"),
}

DAMAGES: list[tuple[str, Callable[[Path], object], tuple[str, ...]]] = [
    *((f"no {name}", without(name), tuple(CHECKS)) for name in FOLDER_NAMES),
    *((f"{name} is no text", becomes(name, b"\xff\x00"), tuple(CHECKS)) for name in FOLDER_NAMES),
    *((f"{name} is {data!r}", becomes(name, data), OF_RECORDS) for name in FIELDS for data in (b"", b"[1]\n", b"{}\n")),
    ("a folder in the CSV's place", a_folder_in_its_place, ("csv_mirrors_jsonl",)),
    *(
        (f"{name}.{key} is {value!r}", field(name, key, value), OF_RECORDS)
        for name, keys in FIELDS.items()
        for key in keys
        for value in (None, [1], {"x": [1]})
    ),
]


def test_a_damaged_folder_is_a_failed_check_and_never_an_exception(tmp_path: Path) -> None:
    sound = tmp_path / "sound"
    write_release(release(), sound)
    fired = Counter[str]()
    for what, damage, checks in DAMAGES:
        folder = Path(shutil.copytree(sound, tmp_path / "damaged"))
        damage(folder)
        failed = [each for each in (run_check(name, folder, screen, WINDOWS) for name in checks) if not each.passed]
        assert failed, what
        assert all(each.detail and str(tmp_path) not in each.detail for each in failed), what
        fired.update(each.name for each in failed)
        shutil.rmtree(folder)
    assert set(fired) == set(CHECKS)


def test_the_card_says_what_shortcuts_score_and_warns_when_they_pay(tmp_path: Path) -> None:
    # The made drafts' keys are three characters and their distractors five: nobody gains by the longest.
    write_release(release(), tmp_path / "short")
    calm = (tmp_path / "short" / "README.md").read_text("utf-8")
    assert "選最長 pick the longest" in calm and "一律選 A always A" in calm and "Caution: picking" not in calm
    items = tuple(
        replace(i, options={k: t + "慶典活動期間" * (k == i.answer) for k, t in i.options.items()}) for i in ITEMS
    )
    edition = replace(release().edition, dataset_version=full_version(items))
    write_release(release(items=items, edition=edition), tmp_path / "long")
    card = (tmp_path / "long" / "README.md").read_text("utf-8")
    assert "Caution: picking the longest option scores above chance" in card and "選最長選項的得分高於隨機" in card
    found = json.loads((tmp_path / "long" / "build_stats.json").read_bytes())["shortcuts"]
    kept = len(edition.cut.kept)
    assert found["band"]["pick_longest"] == {
        "right": kept, "items": kept, "low": round(wilson(kept, kept).low, 6), "high": 1.0,
    }  # fmt: skip
    assert found["grounded"]["pick_longest"]["items"] == N and set(found["band"]) == {"always_a", "pick_longest"}


def test_a_tie_of_lengths_is_a_share_and_the_interval_is_of_the_observed_share() -> None:
    pairs = [(dict(zip("ABCD", texts, strict=True)), key) for texts, key in (
        (("aa", "bb", "c", "d"), "A"), (("a", "b", "c", "d"), "B"), (("aaa", "b", "c", "d"), "D"),
    )]  # fmt: skip
    found = shortcuts(pairs)
    assert (found["always_a"].right, found["pick_longest"].right) == (1.0, 0.75)
    assert found["pick_longest"].interval == mean_interval([0.5, 0.25, 0.0])
    assert not found["pick_longest"].pays and not shortcuts([])["always_a"].pays


def test_the_card_says_who_answered_in_whose_name(tmp_path: Path) -> None:
    calm = tmp_path / "calm"
    write_release(release(), calm)
    assert "a-2026-01-01 (120)" in (calm / "README.md").read_text("utf-8")
    assert "another model's name" not in (calm / "README.md").read_text("utf-8")
    lying = [replace(MEMBERS[0], served={"cheap-model": N}), *MEMBERS[1:]]
    edition = replace(release().edition, pool=tuple(member_record(each) for each in lying))
    served = {"drafted": {"drafter": {"other-drafter": 3}}, "judged": {"judge": {"judge": 2}}}
    judge = replace(JUDGE, served={"judge": 180})
    write_release(release(edition=edition, served=served, judges=(judge,)), tmp_path / "x")
    card = (tmp_path / "x" / "README.md").read_text("utf-8")
    assert "another model's name" in card
    for words in ("pool: a was asked, cheap-model answered", "drafted: drafter was asked, other-drafter answered"):
        assert words in card.replace("&#58;", ":"), words
    assert read_manifest(tmp_path / "x")["served"] == {
        "drafted": served["drafted"],
        "judged": served["judged"],
        "pool": {"a": {"cheap-model": N}, "b": {"b-2026-01-01": N}, "c": {"c-2026-01-01": N}},
        "studied": {"judge": {"judge": 180}},
    }
    assert run_check("card_matches", tmp_path / "x", screen).passed


def test_every_check_has_a_planted_defect_and_none_passes_without_its_file(folder: Path) -> None:
    assert {check for check, _, _ in DEFECTS} == set(CHECKS)
    (folder / "benchmark.jsonl").write_bytes(b"")
    assert not any(run_check(name, folder, screen).passed for name in CHECKS if name != "residual_duplicates")
    (folder / "grounded.jsonl.gz").write_bytes(b"no gzip")
    assert "not read" in run_check("residual_duplicates", folder, screen).detail
    assert not run_check("orthography", folder, None).passed


def test_only_the_judged_bytes_are_published(folder: Path, tmp_path: Path) -> None:
    verdicts = [judge(name, folder, screen, "test+0")[1] for name in CHECKS]
    out = tmp_path / "public"
    names = tuple(CHECKS)
    with pytest.raises(PublicationRefused, match="no verdict"):
        publish(folder, verdicts[1:], out, names, FOLDER_NAMES)
    published = publish(folder, verdicts, out, names, FOLDER_NAMES)
    assert {entry.name for entry in out.iterdir()} == set(FOLDER_NAMES) == set(published.files)
    text("README.md", "Formosa", "Formosa!")(folder)
    with pytest.raises(PublicationRefused):
        publish(folder, verdicts, out, names, FOLDER_NAMES)
