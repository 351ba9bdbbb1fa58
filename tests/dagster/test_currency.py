"""Whether a publication is what its sources give now: silent on what is, with a reason on what is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import pytest
from support.exam_store import CHINESE, LIBRARY
from support.hub_store import FIRST, SECOND, hub_store, write_subject
from support.tw_rag import CATEGORIES, items, windows

from checks.currency import CURRENCY_CHECKS, SHOWN, result
from opentwbench.dataset.hub_plan import COMBINED
from opentwbench.formosa.output import items_bytes
from opentwbench.formosa.window_files import windows_bytes
from orchestration.configuration import Configuration
from orchestration.definitions import build_defs
from orchestration.formosa_endpoint import ARTICLES
from resources import currency, formosa_drafts, rag_products
from resources.currency import NOTHING, Currency
from resources.formosa_places import DATASET_RECORD, Track
from resources.formosa_plan import FormosaPlan
from resources.hub_publishing import subject_release
from resources.settings import ListSettings
from resources.store import Store

LISTS = ListSettings()


def exam(store: Store) -> Currency:
    return currency.exam_publications(store, store, LISTS.lists(), LISTS.withdrawals())


def release(store: Store) -> Currency:
    return currency.exam_release(store, store, LISTS.lists(), LISTS.withdrawals())


def test_before_anything_was_made_nothing_is_called_stale(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "new"))
    track = Track(store, FormosaPlan())
    answers = [exam(store), release(store), currency.formosa_windows(track), currency.rag_publication(store, store)]
    answers += [currency.formosa_publication(track, store), currency.hub_combined(store, is_on=True)]
    assert answers == [Currency(words=NOTHING)] * 6
    assert currency.hub_publications(store, is_on=True).is_current


def test_what_a_build_made_is_current_and_stays_so(store: Store) -> None:
    assert exam(store) == Currency()
    assert release(store) == Currency()


@pytest.mark.parametrize("what", ["year", "items", "verdict", "publication"])
def test_each_stage_that_is_not_what_its_source_gives_is_named(store: Store, what: str) -> None:
    if what == "year":
        record = store.read_json(store.index_record())
        store.write_json(store.index_record(), {**record, "years": {**record["years"], "107": "other"}})
        expected = ["sitting year 107: rows or parser changed"]
    elif what == "items":
        store.write(store.items(LIBRARY), b"")
        expected = [f"{LIBRARY}: papers, lists or code changed since its items were settled"]
    else:
        if what == "verdict":
            store.remove(store.verdict(LIBRARY, "rows_match_records"))
        else:
            store.write(f"{store.publication(LIBRARY)}/README.md", b"another card")
        expected = [f"{LIBRARY}: data set, checks or publication are not what its items give now"]
    assert list(exam(store).why) == expected


def test_a_release_that_says_something_else_is_not_current(store: Store) -> None:
    record = store.read_json(store.release())
    store.write_json(store.release(), {**record, "closes": ["another sum"]})
    assert len(release(store).why) == 1


@pytest.mark.parametrize("is_out", [True, False])
def test_a_withheld_subject_is_out_of_date_only_while_an_older_version_is_out(store: Store, is_out: bool) -> None:
    path = store.verdict(CHINESE, "row_contract")
    store.write_json(path, {**store.read_json(path), "passed": False, "detail": "planted"})
    if not is_out:
        with store.folder(store.publication(CHINESE)) as folder:
            shutil.rmtree(folder)
    why = (f"{CHINESE}: an older version is out, because row_contract: planted",)
    assert exam(store).why == (why if is_out else ())


def test_the_hub_is_compared_with_what_passes_the_gate_now(tmp_path: Path) -> None:
    store = hub_store(tmp_path / "store", (FIRST, SECOND))
    for slug in (FIRST, SECOND):
        made = subject_release(store, slug)
        store.write_json(store.hub(slug), {"version": made.version, "files": dict(_hashes(made.files))})
    parts = {slug: subject_release(store, slug).version for slug in (FIRST, SECOND)}
    store.write_json(store.hub(COMBINED), {"parts": parts})
    assert currency.hub_publications(store, is_on=True) == currency.hub_combined(store, is_on=True) == Currency()
    write_subject(store, FIRST, 59)
    new = subject_release(store, FIRST).version
    assert new != parts[FIRST]
    found = currency.hub_publications(store, is_on=True)
    assert found.why == (f"{FIRST}: the Hub has other files, of version {parts[FIRST]}, not those of {new}",)
    assert currency.hub_combined(store, is_on=True).why == (f"{FIRST}: {parts[FIRST]} is out, {new} passes",)
    store.remove(store.hub(SECOND))
    assert f"{SECOND}: version {parts[SECOND]} was never pushed" in currency.hub_publications(store, is_on=True).why
    # A deployment without the Hub has nothing to be late with.
    assert currency.hub_publications(store, is_on=False).is_current
    assert currency.hub_combined(store, is_on=False).is_current


def _hashes(files):  # type: ignore[no-untyped-def]
    from opentwbench.dataset.manifest import sha256

    return ((name, sha256(data)) for name, data in files.items())


def test_windows_are_compared_with_the_corpus_folder_as_it_is(tmp_path: Path) -> None:
    corpus = Path(shutil.copytree(ARTICLES, tmp_path / "corpus"))
    track = Track(Store(str(tmp_path / "store")), FormosaPlan(corpus=str(corpus), limit=60, tail=20))
    formosa_drafts.make_windows(track)
    assert currency.formosa_windows(track) == Currency()
    article = corpus / "knowledge" / "Culture" / "樣本元宵.md"
    article.write_text(article.read_text() + "\n多一句話。\n")
    assert currency.formosa_windows(track).why == ("the corpus or how it is cut changed since the windows were made",)
    shutil.rmtree(corpus)
    (why,) = currency.formosa_windows(track).why
    assert why.startswith("the corpus cannot be read: ")


def test_an_edition_that_was_not_built_from_what_is_there_is_named(tmp_path: Path) -> None:
    track = Track(Store(str(tmp_path)), FormosaPlan())
    track.store.write_json(DATASET_RECORD, {"inputs": "other", "files": {}})
    assert len(currency.formosa_publication(track, track.store).why) == 1


def test_the_retrieval_set_is_compared_with_the_items_of_now(tmp_path: Path) -> None:
    store, held = Store(str(tmp_path)), windows(120)
    for name in CATEGORIES:
        store.write(f"formosa/windows/{name}.jsonl", windows_bytes(w for w in held if w.category == name))
        store.write(f"formosa/grounded/{name}.jsonl", items_bytes(i for i in items(held) if i.category == name))
    store.write_json("formosa/windows.json", {"categories": list(CATEGORIES)})
    assert rag_products.build(store, store).state == "published"
    assert currency.rag_publication(store, store) == Currency()
    store.write("formosa/grounded/Food.jsonl", items_bytes(i for i in items(held)[6:] if i.category == "Food"))
    assert len(currency.rag_publication(store, store).why) == 1


def test_an_answer_names_every_reason_and_warns() -> None:
    shown = result(Currency(tuple(f"subject-{n}: why | <b>" for n in range(SHOWN + 1))))
    assert not shown.passed and shown.severity == dg.AssetCheckSeverity.WARN
    assert shown.metadata["not_current"].value == SHOWN + 1
    words = str(shown.metadata["why_not"].value)
    assert words.count("subject-") == SHOWN and "<b>" not in words
    assert result(Currency(words=NOTHING)).metadata["detail"].value == NOTHING


def test_one_job_runs_all_of_them_and_no_other_job_any(store: Store, tmp_path: Path) -> None:
    """Through Dagster: a good store passes every check, a planted fault fails exactly its own."""
    defs = build_defs(Configuration(store=store.url))
    names = {key.name for check in CURRENCY_CHECKS for key in check.check_keys}
    nodes = {
        f"{key.asset_key.to_python_identifier()}_{key.name}" for check in CURRENCY_CHECKS for key in check.check_keys
    }
    jobs = {job.name: {node.name for node in job.nodes} & nodes for job in defs.resolve_all_job_defs()}
    jobs.pop("__ASSET_JOB")  # what a person materializes by hand is judged at once
    assert jobs.pop("currency_job") == nodes
    assert {name for name, found in jobs.items() if found} == set()
    assert len(jobs) >= 10
    store.remove(store.verdict(LIBRARY, "rows_match_records"))
    with dg.DagsterInstance.ephemeral() as instance:
        made = defs.resolve_job_def("currency_job").execute_in_process(instance=instance)
    found = {each.check_name: each for each in made.get_asset_check_evaluations()}
    assert set(found) == names
    assert {name for name, each in found.items() if not each.passed} == {
        "publications_are_current",
        "release_is_current",  # its record names where each subject stands
    }
    assert not any(each.blocking for each in found.values())
    assert LIBRARY in str(found["publications_are_current"].metadata["why_not"].value)
