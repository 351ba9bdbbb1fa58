"""Pushes to a loopback hub by the real client: what goes out, what a fault leaves, what is read back."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.hub_store import FIRST, SECOND, THIRD, hub_store, write_subject

from opentwbench.dataset.hub_plan import COMBINED, HubNameError
from opentwbench.dataset.publication import PublicationRefused
from opentwbench.dataset.validators import BLOCKING_CHECKS
from opentwbench.evaluation.sample import Edition, write_edition
from resources import exam_products as products
from resources.hub_client import HubConflict, HubError, HubRefused, Patience
from resources.hub_publishing import (
    Hub,
    HubSettings,
    NotTheSame,
    Release,
    combined_release,
    in_parallel,
    subject_release,
)
from resources.store import Store
from samples.hub import READ, WRITE, HubFault, LoopbackHub
from samples.loopback import FaultKind

TOKEN = "hf_loopbackSecret0123456789"
READER = "hf_loopbackReader0123456789"
PLACE = f"Org/{FIRST}"
Open = Callable[..., Hub]


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    # Small, so that rows go as a large file and cards as regular ones.
    with LoopbackHub({TOKEN: WRITE, READER: READ}, lfs_bytes=15_000) as server:
        yield server


@pytest.fixture
def opened(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> Open:
    def opener(token: str = TOKEN, **settings: object) -> Hub:
        monkeypatch.setenv("HF_TOKEN", token)
        patience = Patience(attempts=3, backoff_seconds=0.001)
        return HubSettings(**{"namespace": "Org", "endpoint": hub.endpoint, "patience": patience, **settings}).open()  # type: ignore[arg-type]

    return opener


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return subject_release(hub_store(tmp_path_factory.mktemp("hub") / "store"), FIRST)


def push(hub: Hub, release: Release) -> int:
    """Push without reading back; how often a step was tried again."""
    return hub.client.push(
        hub.repository(release.name), release.files, release.version, release.title, release.versioned
    ).retries


def commits(hub: LoopbackHub, place: str = PLACE) -> int:
    """Commits after the hub's own first one."""
    return len(hub.repositories[place].commits) - 1


def test_a_subject_is_one_commit_with_its_tag_and_counts_once_it_is_read_back(
    hub: LoopbackHub, opened: Open, tmp_path: Path
) -> None:
    store, client = hub_store(tmp_path / "store"), opened()
    release = subject_release(store, FIRST)
    plan, items, _ = client.plan(release)
    assert (plan.create, set(plan.add), items, PLACE in hub.repositories) == (True, set(release.files), {}, False)
    outcome = client.publish(store, release)
    assert (outcome.rows, commits(hub), hub.files(PLACE)) == ({"default": 60}, 1, dict(release.files))
    assert hub.repositories[PLACE].tags == {f"v{release.version}": outcome.commit}
    record = store.read_json(store.hub(FIRST))
    assert (record["commit"], record["repository"], record["rows"]) == (outcome.commit, PLACE, {"default": 60})
    # Large and regular files both went; the storage behind the hub was shown no token.
    assert {blob.large for blob in hub.repositories[PLACE].head.files.values()} == {True, False}
    assert not any("authorization" in request.headers for request in hub.log if request.method == "PUT")
    hub.heal()
    again = client.publish(store, release)
    assert (again.changed, again.rows) == (False, {})
    assert {request.method for request in hub.log} == {"GET"}


def test_a_new_version_is_one_more_commit_and_the_old_tag_stays(
    hub: LoopbackHub, opened: Open, release: Release, tmp_path: Path
) -> None:
    client, store = opened(), hub_store(tmp_path / "store")
    push(client, release)
    hub.write(PLACE, {"stray.csv": b"a,b\n"})
    write_subject(store, FIRST, 61, C="另一敘述")
    newer = subject_release(store, FIRST)
    plan, items, _ = client.plan(newer)
    assert plan.delete == ("stray.csv",)
    assert items["added"] == 1
    push(client, newer)
    assert hub.files(PLACE) == dict(newer.files)
    assert hub.files(PLACE, f"v{release.version}") == dict(release.files)
    assert set(hub.repositories[PLACE].tags) == {f"v{release.version}", f"v{newer.version}"}


@pytest.mark.parametrize("kind", [FaultKind.DROP, FaultKind.CUT])
def test_a_cut_at_any_request_leaves_all_of_before_or_all_of_after_and_the_next_push_resumes(
    kind: FaultKind, hub: LoopbackHub, opened: Open, release: Release
) -> None:
    before = {"README.md": b"---\nlicense: other\n---\nthe version before\n", "old.csv": b"a\n1\n"}
    patient = opened()
    impatient = opened(patience=Patience(attempts=1))
    hub.write(PLACE, before)
    push(patient, release)
    requests, after = len(hub.log), hub.files(PLACE)
    resumed = 0
    for number in range(requests):
        hub.repositories.clear()
        hub.objects.clear()
        hub.heal()
        hub.write(PLACE, before)
        hub.plant(HubFault(kind, after=number))
        with pytest.raises(HubError, match="given up after 1 attempts"):
            push(impatient, release)
        assert hub.files(PLACE) in (before, after)
        push(impatient, release)
        resumed += 1
        # One commit of before, one of after: a commit whose answer was lost is not made twice.
        assert (hub.files(PLACE), commits(hub)) == (after, 2)
        assert list(hub.repositories[PLACE].tags) == [f"v{release.version}"]
    assert resumed == requests >= 12


@pytest.mark.parametrize(("status", "kind"), [(429, "busy"), (500, "broken"), (503, "broken"), (409, "conflict")])
def test_what_passes_is_asked_again_at_every_request(
    status: int, kind: str, hub: LoopbackHub, opened: Open, release: Release
) -> None:
    client, pattern = opened(), "/commit/" if kind == "conflict" else ""
    push(client, release)
    requests = 1 if pattern else len(hub.log)
    retries = []
    for number in range(requests):
        hub.repositories.clear()
        hub.objects.clear()
        hub.heal()
        hub.plant(HubFault(FaultKind.STATUS, pattern, after=number, status=status, retry_after="0"))
        retries.append(push(client, release))
        assert (hub.files(PLACE), commits(hub)) == (dict(release.files), 1)
    assert retries == [1] * requests


def test_a_retry_after_is_waited_for_and_one_of_hours_ends_the_push(
    hub: LoopbackHub, opened: Open, release: Release
) -> None:
    waited: list[float] = []
    client = opened()
    client.client._pause._sleep = waited.append
    client.client._pause._clock = lambda: sum(waited)
    hub.plant(HubFault(FaultKind.STATUS, "preupload", status=429, retry_after="7"))
    push(client, release)
    assert waited == [7.0]
    hub.plant(HubFault(FaultKind.STATUS, "refs", status=429, retry_after="7200"))
    with pytest.raises(HubError, match="a pause of 7200 s"):
        push(client, release)


def test_refusals_are_asked_once_and_stop_what_has_not_begun(hub: LoopbackHub, opened: Open, release: Release) -> None:
    for token, words in (("hf_unknown", "does not know the token"), (READER, "may not do this")):
        client = opened(token)
        hub.heal()
        with pytest.raises(HubRefused, match=words) as refused:
            push(client, release)
        assert refused.value.everything
        assert max([request.line for request in hub.log].count(request.line) for request in hub.log) == 1
    asked: list[str] = []

    def act(name: str) -> object:
        asked.append(name)
        return push(opened("hf_unknown"), release)

    ends = list(in_parallel("abcdef", act, 1))  # type: ignore[arg-type]
    assert asked == ["a"]
    assert [type(end) for _, end in ends] == [HubRefused] * 6


def test_somebody_elses_commit_is_not_overwritten(hub: LoopbackHub, opened: Open, release: Release) -> None:
    client = opened()
    push(client, release)
    newer = {**release.files, "README.md": b"---\nlicense: other\n---\nnewer\n"}
    genuine = hub._take_commit

    def late(name: str, repository: object, body: bytes) -> object:
        hub._take_commit = genuine  # type: ignore[method-assign]
        hub.write(PLACE, {"README.md": b"theirs"})
        return genuine(name, repository, body)  # type: ignore[arg-type]

    hub._take_commit = late  # type: ignore[assignment,method-assign]
    with pytest.raises(HubConflict, match="changed by somebody else"):
        client.client.push(PLACE, newer, release.version, "t", ())
    assert hub.files(PLACE)["README.md"] == b"theirs"


def test_a_tag_that_names_other_bytes_is_found(hub: LoopbackHub, opened: Open, release: Release) -> None:
    client = opened()
    push(client, release)
    repository = hub.repositories[PLACE]
    repository.tags[f"v{release.version}"] = repository.commits[0].oid
    with pytest.raises(HubConflict, match="names other bytes of"):
        push(client, release)
    with pytest.raises(NotTheSame, match="names other bytes of"):
        client.verify(release)


@pytest.mark.parametrize("check", BLOCKING_CHECKS)
def test_no_byte_goes_out_that_a_check_has_not_passed(check: str, tmp_path: Path) -> None:
    store = hub_store(tmp_path / "store")
    verdict = store.read_json(store.verdict(FIRST, check))
    store.write_json(store.verdict(FIRST, check), {**verdict, "passed": False})
    with pytest.raises(PublicationRefused, match=f"check {check}: did not pass"):
        subject_release(store, FIRST)
    store.remove(store.verdict(FIRST, check))
    with pytest.raises(PublicationRefused, match=f"check {check}: no verdict"):
        subject_release(store, FIRST)


def test_changed_bytes_are_refused(tmp_path: Path) -> None:
    store = hub_store(tmp_path / "store")
    card = tmp_path / "store" / store.dataset(FIRST) / "README.md"
    card.write_bytes(card.read_bytes() + b"\n")
    with pytest.raises(PublicationRefused, match=r"not those that manifest\.json lists"):
        subject_release(store, FIRST)


def test_rows_that_come_back_different_do_not_count(hub: LoopbackHub, opened: Open, tmp_path: Path) -> None:
    store, client = hub_store(tmp_path / "store"), opened()
    good = subject_release(store, FIRST)
    # Without this line of the card a loader takes None and NA for missing values.
    card = good.files["README.md"].replace(b"  keep_default_na: false\n", b"")
    assert card != good.files["README.md"]
    bad = Release(good.name, good.version, {**good.files, "README.md": card}, good.configs)
    with pytest.raises(NotTheSame, match=r"1 rows came back different: row 0 .* B: sent None, came back NoneType"):
        client.publish(store, bad)
    assert not store.exists(store.hub(FIRST))
    assert client.publish(store, good).rows == {"default": 60}
    assert client.verify(good).rows == {"default": 60}
    hub.write(PLACE, {"benchmark.csv": b"question\n"})
    with pytest.raises(NotTheSame, match=r"change benchmark\.csv"):
        client.verify(good)


def test_the_combined_set_reads_the_same_in_every_configuration(hub: LoopbackHub, opened: Open, tmp_path: Path) -> None:
    store, client = hub_store(tmp_path / "store", (FIRST, SECOND, THIRD)), opened()
    ids = tuple(row.item_id for row in subject_release(store, SECOND).configs["default"][5:9])
    write_edition(Edition("2026-11", 10, {}, {SECOND: ids}), tmp_path / "edition.json")
    release = combined_release(store, str(tmp_path / "edition.json"))
    outcome = client.publish(store, release)
    sizes = {FIRST: 60, SECOND: 61, THIRD: 62}
    fields = {name: count for name, count in outcome.rows.items() if name.startswith("field-")}
    assert sum(fields.values()) == 183
    assert {k: v for k, v in outcome.rows.items() if k not in fields} == {"all": 183, "sample": 4, **sizes}
    assert commits(hub, f"Org/{COMBINED}") == 1
    assert hub.files(f"Org/{COMBINED}")[f"data/{FIRST}.jsonl"] == subject_release(store, FIRST).files["benchmark.jsonl"]
    again = combined_release(store, str(tmp_path / "edition.json"))
    assert (again.version, again.files["CHANGELOG.md"]) == (release.version, release.files["CHANGELOG.md"])
    write_subject(store, FIRST, 70)
    newer = combined_release(store, str(tmp_path / "edition.json"))
    assert f"previous version: {release.version}" in newer.files["CHANGELOG.md"].decode()
    with pytest.raises(PublicationRefused, match=f"{COMBINED} holds a sample and no edition is named"):
        combined_release(store)
    assert "sample" not in combined_release(store, "none").configs
    store.remove(store.verdict(THIRD, "merged_stems"))
    with pytest.raises(PublicationRefused, match=f"{THIRD}, which {COMBINED} holds, is withheld"):
        combined_release(store, "none")


def test_a_subject_that_was_never_in_the_combined_set_is_left_out_with_its_reason(tmp_path: Path) -> None:
    store = hub_store(tmp_path / "store", (FIRST, SECOND))
    store.remove(store.verdict(SECOND, "merged_stems"))
    release = combined_release(store)
    assert (set(release.parts), dict(release.left_out)) == ({FIRST}, {SECOND: "check merged_stems: no verdict"})


def test_at_most_so_many_pushes_at_once(hub: LoopbackHub, opened: Open, tmp_path: Path) -> None:
    store, client = hub_store(tmp_path / "store", (FIRST, SECOND, THIRD)), opened()
    hub.plant(HubFault(FaultKind.DELAY, "preupload|/commit/", times=None, seconds=0.1))
    for jobs, most in ((1, 1), (2, 2)):
        hub.repositories.clear()
        hub.objects.clear()
        list(in_parallel((FIRST, SECOND, THIRD), lambda slug: push(client, subject_release(store, slug)), jobs))  # type: ignore[arg-type,return-value]
        assert len(hub.repositories) == 3
        assert hub.most_at_once == most


def test_names_come_from_the_registry_alone(opened: Open) -> None:
    client = opened()
    for name in ("tw-nobody-bench", "../x", f"{FIRST}/..", "", "Org/x"):
        with pytest.raises(HubNameError, match="no data set of the registry"):
            client.repository(name)
    for namespace in ("a/b", "..", "-x", "a--b", "x" * 97):
        with pytest.raises(HubNameError, match="no user or organisation"):
            opened(namespace=namespace).repository(FIRST)
    assert client.repository(COMBINED) == f"Org/{COMBINED}"


def test_it_is_off_without_a_namespace_and_pushes_nothing_without_a_token(
    hub: LoopbackHub, opened: Open, release: Release, tmp_path: Path
) -> None:
    with pytest.raises(HubError, match="the Hub is off"):
        opened(namespace="")
    with pytest.raises(HubRefused, match="set HF_TOKEN"):
        opened("").publish(Store(str(tmp_path)), release)
    with pytest.raises(HubError, match="HF_TOKEN holds no token"):
        opened("two words\n")
    assert hub.log == ()


def test_the_token_is_in_no_word_log_or_file(
    hub: LoopbackHub,
    opened: Open,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    store, client = hub_store(tmp_path / "store"), opened(private=True)
    release = subject_release(store, FIRST)
    client.publish(store, release)
    said = [repr(client), repr(client.client)]
    # A hub that repeats what it was sent, at every request and with every status.
    for status in (400, 401, 403, 404, 409, 422, 500):
        for pattern in ("create", "refs", "yaml", "preupload", "batch", "PUT", "commit", "tag/"):
            hub.repositories.clear()
            hub.objects.clear()
            hub.heal()
            echo = json.dumps({"error": f"Bearer {TOKEN}", "errors": [{"message": TOKEN}]})
            hub.plant(HubFault(FaultKind.STATUS, pattern, times=None, status=status, body=echo))
            with pytest.raises(HubError) as refused:
                push(client, release)
            chain: BaseException | None = refused.value
            while chain is not None:
                said.append(repr(chain))
                chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
    assert len(said) >= 58
    printed = capfd.readouterr()
    everything = "\n".join([*said, printed.out, printed.err, caplog.text])
    assert TOKEN not in everything
    assert "***" in everything
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and TOKEN.encode() in p.read_bytes()]
    # The hub itself was shown it, so the search is for the right word.
    assert any(TOKEN in request.headers.get("authorization", "") for request in hub.log)


def test_after_a_push_the_next_build_names_the_repository(opened: Open, tmp_path: Path) -> None:
    """The card is part of what the checks judge, so it is built anew, judged and pushed like any other change."""
    store = hub_store(tmp_path / "store")
    before = products.dataset_inputs(store, FIRST, {})
    assert products.hub_repository(store, FIRST) is None
    opened().publish(store, subject_release(store, FIRST))
    assert products.hub_repository(store, FIRST) == PLACE
    assert products.dataset_inputs(store, FIRST, {}) == {**before, "repository": PLACE}
    products.keep_hub_namespace(store, "")  # a build without a namespace forgets nothing
    assert products.hub_repository(store, SECOND) == f"Org/{SECOND}"
