"""Settings: the documented schema is the real one, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel
from typer.testing import CliRunner

from opentwbench.rag.adapters import ADAPTERS
from opentwbench.rag.model import DATASETS, SYSTEMS, RagError
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
    ],
)
def test_a_slip_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RagError) as error:
        settings_of(read_settings(path), path.name)
    assert said in str(error.value) and "run.yaml" in str(error.value)


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
