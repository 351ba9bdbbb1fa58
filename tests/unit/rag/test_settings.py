"""Settings: the documented schema is the real one, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel
from typer.testing import CliRunner

from opentwbench.board import rag_page
from opentwbench.rag.adapters import ADAPTERS
from opentwbench.rag.downloads import OFFERS
from opentwbench.rag.model import DATASETS, SYSTEMS, RagError
from opentwbench.rag.prompts import CATEGORY
from orchestration.rag_command import app
from resources.rag_settings import OPENERS, RagSettings, merged, read_settings, settings_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "rag.md"


def documented() -> dict[str, object]:
    text = PAGE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    return yaml.safe_load(text)


def test_the_documented_settings_are_read_and_name_every_field() -> None:
    values = documented()
    settings = settings_of(values)
    assert set(values) == set(RagSettings.model_fields)
    for name, field in RagSettings.model_fields.items():
        held = getattr(settings, name)
        if isinstance(held, BaseModel) and name not in ("judge", "embedding"):
            assert set(values[name]) == set(type(held).model_fields), field  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dataset: locomo\nsampling:\n  sed: 1\n", "sampling.sed"),
        ("dataset: locomo\nretrieval: {top_k: 0}\n", "retrieval.top_k"),
        ("dataset: locomo\ndataset: qasper\n", "line 2: dataset stands twice"),
        ("a: &x [1]\nb: *x\n", "line 2: aliases are not read"),
        ("- 1\n", "not a mapping"),
        ("dataset: [\n", "line 2"),
        ("system: {kind: bm25}\n", "dataset: field required"),
        ("a: !!set {x, y}\n", "line 1: tags are not read"),
        ("a:\n  - !!binary aGk=\n", "line 2: tags are not read"),
        ("a: !<tag:yaml.org,2002:python/name:os.system> x\n", "line 1"),
        ("? [a, b]\n: 1\n", "line 1: a key that is no text"),
        ("1: 2\n", "line 1: a key that is no text"),
        (f"dataset: locomo\nsampling: {{seed: {'1' * 5_000}}}\n", "line 2: an integer of more than 40 digits"),
        (f"dataset: locomo\nsampling: {{seed: {'1' * 30}}}\n", "sampling.seed"),
        (f"a: {'[' * 500}{']' * 500}\n", "line 1: deeper than 20 levels"),
        ('dataset: "\\ud800"\n', "a lone surrogate"),
        ("dataset: locomo\nanswers: {parameters: {a: .nan}}\n", "not finite"),
        ("dataset: locomo\nanswers: {timeout: .inf}\n", "answers.timeout"),
        (f"dataset: locomo\nanswers: {{parameters: {{a: {'1' * 20}}}}}\n", "beyond 64 bits"),
        ('dataset: locomo\nanswers: {parameters: {a: ["\\ud800"]}}\n', "a lone surrogate"),
    ],
)
def test_a_slip_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RagError) as error:
        settings_of(read_settings(path), path.name)
    assert said in str(error.value) and "run.yaml" in str(error.value)


def test_what_looks_like_a_date_is_the_text_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("dataset: locomo\nanswers: {model: 2026-13-45, parameters: {seed: 7, day: 2026-11-30}}\n")
    settings = settings_of(read_settings(path), path.name)
    assert settings.answers.model == "2026-13-45"
    assert settings.answers.parameters == {"seed": 7, "day": "2026-11-30"}


@pytest.mark.parametrize("part", ["answers", "judge", "embedding"])
@pytest.mark.parametrize("name", ["model", "messages", "input", "stream", "n"])
def test_parameters_set_neither_who_is_asked_nor_what(part: str, name: str) -> None:
    with pytest.raises(RagError, match=f"{part}.parameters: .*{name} cannot be set here"):
        settings_of({"dataset": "locomo", part: {"model": "m", "parameters": {name: "other"}}})
    assert settings_of({"dataset": "locomo", part: {"model": "m", "parameters": {"top_p": 0.5}}})


@pytest.mark.parametrize(
    ("kind", "change", "other"),
    [
        ("openviking", {"system": {"base_url": "http://b:1"}}, True),
        ("openviking", {"system": {"base_url": "http://a:1/"}}, False),
        ("openviking", {"embedding": {"parameters": {"dimensions": 8}}}, False),
        ("bm25", {"system": {"base_url": "http://b:1"}}, False),
        ("bm25", {"embedding": {"parameters": {"dimensions": 8}}}, False),
        ("dense", {"embedding": {"parameters": {"dimensions": 8}}}, True),
        ("hybrid", {"embedding": {"parameters": {"dimensions": 8}}}, True),
        ("dense", {"embedding": {"base_url": "http://b:1/v1"}}, False),
        ("bm25", {"answers": {"base_url": "http://b:1/v1"}}, False),
        ("bm25", {"answers": {"parameters": {"top_p": 0.5}}}, True),
        ("bm25", {"judge": {"parameters": {"top_p": 0.5}}}, True),
        ("bm25", {"judge": {"base_url": "http://b:1/v1"}}, False),
    ],
)
def test_a_run_is_named_by_who_answers_and_not_by_where_a_model_stands(
    kind: str, change: dict[str, object], other: bool
) -> None:
    before = {
        "dataset": "locomo",
        "system": {"kind": kind, "base_url": "http://a:1"},
        "answers": {"model": "m", "base_url": "http://a:1/v1"},
        "judge": {"model": "j", "base_url": "http://a:1/v1"},
        "embedding": {"model": "e", "base_url": "http://a:1/v1"},
    }
    names = [settings_of(values).plan().name for values in (before, merged(before, change))]
    assert (names[0] != names[1]) is other


def test_the_command_line_goes_before_the_file() -> None:
    assert merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": None}, "d": None}) == {"a": {"b": 3, "c": 2}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prepare"], "name a data set"),
        (["prepare", "--dataset", "nothing", "--model", "m"], "there are locomo"),
        (["prepare", "--dataset", "locomo", "--model", "m", "--data", "absent"], "absent: not there"),
        (["generate", "--dataset", "locomo", "--model", "m"], "run the stage prepare"),
        (["download", "tw_rag"], "built by this project"),
    ],
)
def test_a_command_that_cannot_run_says_why(tmp_path: Path, arguments: list[str], said: str) -> None:
    store = [] if arguments[0] == "download" else ["--store", str(tmp_path)]
    done = CliRunner().invoke(app, [*arguments, *store])
    assert done.exit_code == 2 and said in done.output


def test_a_download_shows_size_and_licence_and_fetches_nothing(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["download", "locomo"])
    assert done.exit_code == 0 and "CC BY-NC 4.0" in done.output and "about 2.8 MB" in done.output


def test_every_data_set_of_the_vocabulary_has_its_adapter() -> None:
    assert tuple(ADAPTERS) == DATASETS
    assert tuple(OPENERS) == SYSTEMS


def test_every_data_set_has_what_its_adapter_alone_does_not_ask_for() -> None:
    """Steps of "Add a data-set adapter" that nothing else misses: instructions, source and licence, names, its row."""
    assert set(CATEGORY) == set(DATASETS)
    assert set(OFFERS) == set(DATASETS) - {"tw_rag"}  # built by this project, not downloaded
    assert set(rag_page.DATASETS) == set(DATASETS)
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in DATASETS if f"\n| `{name}` |" not in page] == []
