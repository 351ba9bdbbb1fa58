"""Settings of the Formosa track: what is given wins, what is not is what the store keeps; names that are no paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from opentwbench.formosa.band import Band, CurationError
from opentwbench.formosa.windows import LIMIT, TAIL
from resources.api_keys import secret_of
from resources.formosa_asking import AskingStopped
from resources.formosa_places import Track, inputs_of, of_category
from resources.formosa_plan import SETTINGS, FormosaPlan, PlanError
from resources.store import Store, StoreError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))


FULL = FormosaPlan(corpus="corpus", model="m", judges=("a", "b"), pool=("p", "q"), limit=60, tail=0, lexicon="lists")


def test_what_is_not_given_is_what_the_store_keeps(store: Store) -> None:
    FULL.keep(store)
    assert FormosaPlan().kept_in(store) == FULL
    other = FormosaPlan(model="n", judges=("c",), limit=1_180).kept_in(store)
    assert (other.model, other.judges, other.limit, other.tail) == ("n", ("c",), 1_180, 0)
    assert (other.corpus, other.pool) == ("corpus", ("p", "q"))
    assert FormosaPlan(lexicon="none").kept_in(store).lexicon == ""
    assert FormosaPlan().kept_in(Store(f"{store.url}-other")) == FormosaPlan()


def test_a_setting_that_nobody_knows_is_refused(store: Store) -> None:
    store.write_json(SETTINGS, {"corpus": "c", "corpse": "d"})
    with pytest.raises(PlanError, match="corpse"):
        FormosaPlan().kept_in(store)


def test_cutting_band_and_candidates() -> None:
    assert FormosaPlan().cutting == (LIMIT, TAIL) and FULL.cutting == (60, 0)
    assert FULL.band_of(7) == Band(0, 6) and FormosaPlan(band="1-3").band_of(4) == Band(1, 3)
    with pytest.raises(CurationError):
        FormosaPlan(band="0-8").band_of(7)
    assert FULL.candidates == ("a", "b") and FormosaPlan(judges=("a",), judge="z").candidates == ("a", "z")
    for plan, words in ((FormosaPlan(), "judges: not set"), (FormosaPlan(judges=("a", "a")), "named twice")):
        with pytest.raises(PlanError, match=words):
            _ = plan.candidates


@pytest.mark.parametrize("name", ["../Food", "food", "Food/..", "F", "食物", "Food.jsonl", ""])
def test_what_is_no_category_is_no_path(name: str) -> None:
    with pytest.raises(StoreError, match="no category"):
        of_category("drafts", name)


def test_a_product_holds_only_with_its_inputs_and_bytes(store: Store) -> None:
    track = Track(store, FormosaPlan())
    store.write("formosa/items.jsonl", b"one\n")
    track.keep("formosa/items.json", "in", ["formosa/items.jsonl"], {"items": 1})
    assert track.holds("formosa/items.json", "in", ["formosa/items.jsonl"])
    assert not track.holds("formosa/items.json", "other", ["formosa/items.jsonl"])
    assert not track.holds("formosa/items.json", "in", [])
    store.write("formosa/items.jsonl", b"two\n")
    assert not track.holds("formosa/items.json", "in", ["formosa/items.jsonl"])
    store.remove("formosa/items.jsonl")
    assert not track.holds("formosa/items.json", "in", ["formosa/items.jsonl"])
    assert inputs_of("a", "b") != inputs_of("ab") and inputs_of("a") == inputs_of("a")


def test_a_store_without_a_disk_is_refused() -> None:
    with pytest.raises(StoreError, match="local store"):
        Track(Store("memory://formosa", Path("cache")), FormosaPlan())


def test_a_key_comes_from_its_variable_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_A_TEST", "s3cret")
    assert "s3cret" not in repr(secret_of("KEY_OF_A_TEST"))
    with pytest.raises(ValueError, match="NOT_SET_AT_ALL"):
        secret_of("NOT_SET_AT_ALL")
    assert issubclass(AskingStopped, Exception)
