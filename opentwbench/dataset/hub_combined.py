"""The combined data set: every published subject in one repository, with a configuration for each way to read it.

What belongs here: its files, made from the bytes that passed the gate, as pure functions. What does not: the gate
(publication.py), the draw of the sample (evaluation/sample.py) and the push.
A subject's rows are its own benchmark.jsonl byte for byte. Configurations: `all`, `sample` when an edition is given,
`field-<field>` and each subject's slug. JSONL and declared features keep every loader from guessing a type.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentwbench.dataset.card import LICENCE_LINK, markdown, size_category, yaml_string
from opentwbench.dataset.contract import COLUMNS, INT_COLUMNS, ItemRow
from opentwbench.dataset.files import JSONL_NAME, jsonl_bytes
from opentwbench.dataset.hub_plan import COMBINED
from opentwbench.dataset.manifest import (
    CARD_NAME,
    CHANGELOG_NAME,
    MANIFEST_NAME,
    STATS_NAME,
    WITHDRAWN_NAME,
    json_bytes,
    sha256,
)
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.versions import CHANGELOG_HEADER, VERSION_DIGITS, grow_changelog

ALL, SAMPLE = "all", "sample"
SAMPLE_NAME = "sample.jsonl"


@dataclass(frozen=True, slots=True)
class Part:
    """One subject of the combined set, as it passed the gate."""

    slug: str
    name_zh: str
    name_en: str
    field: str
    version: str
    rows: tuple[ItemRow, ...]
    files: Mapping[str, bytes]
    """The files of its publication."""

    @property
    def path(self) -> str:
        """Where its rows are in the combined repository."""
        return f"data/{self.slug}.jsonl"

    @property
    def withdrawn(self) -> int:
        """How many of its items left the scored set."""
        return self.files[WITHDRAWN_NAME].count(b"\n")


@dataclass(frozen=True, slots=True)
class Sample:
    """An edition of the stratified sample, as far as it is published."""

    edition: str
    digest: str
    ids: tuple[str, ...]
    """Ids of published items, in the order of the edition."""


@dataclass(frozen=True, slots=True)
class Before:
    """The combined set that was published last."""

    version: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Subject -> version."""
    changelog: str | None = None


@dataclass(frozen=True, slots=True)
class Combined:
    """The combined set: what is pushed, and what each configuration must read."""

    version: str
    files: Mapping[str, bytes]
    configs: Mapping[str, tuple[ItemRow, ...]]
    versioned: tuple[str, ...]
    """The files that the version is made of."""


def combine(parts: Sequence[Part], sample: Sample | None = None, before: Before | None = None) -> Combined:
    """The combined set of these subjects; raises DatasetError for none, an item that stands twice, or a sampled id that
    no subject publishes.
    """
    parts, before = sorted(parts, key=lambda part: part.slug), before or Before()
    rows = _rows(parts)
    chosen = _sampled(sample, rows)
    version = _version(parts, sample)
    data = {part.path: part.files[JSONL_NAME] for part in parts}
    if sample is not None:
        data[SAMPLE_NAME] = jsonl_bytes(row.to_json() for row in chosen)
    data[WITHDRAWN_NAME] = b"".join(part.files[WITHDRAWN_NAME] for part in parts)
    stats = _stats(parts, version, sample, len(chosen))
    files = {
        **data,
        CARD_NAME: _card(parts, version, sample, len(chosen)).encode(),
        STATS_NAME: json_bytes(stats),
        CHANGELOG_NAME: _changelog(parts, version, before).encode(),
    }
    manifest = {
        "format": 1,
        "slug": COMBINED,
        "version": version,
        "counts": stats["counts"],
        "parts": {p.slug: {"version": p.version, "manifest_sha256": sha256(p.files[MANIFEST_NAME])} for p in parts},
        "files": {path: {"sha256": sha256(content), "bytes": len(content)} for path, content in files.items()},
    }
    files[MANIFEST_NAME] = json_bytes(manifest)
    return Combined(version, files, _configs(parts, sample, chosen), tuple(data))


def _rows(parts: Sequence[Part]) -> dict[str, ItemRow]:
    if not parts:
        raise DatasetError(f"{COMBINED}: no subject is published")
    times = Counter(row.item_id for part in parts for row in part.rows)
    if twice := [item_id for item_id, count in times.items() if count > 1]:
        raise DatasetError(f"{COMBINED}: {twice[0]} is published by two subjects")
    return {row.item_id: row for part in parts for row in part.rows}


def _sampled(sample: Sample | None, rows: Mapping[str, ItemRow]) -> tuple[ItemRow, ...]:
    ids = sample.ids if sample else ()
    if missing := [item_id for item_id in ids if item_id not in rows]:
        raise DatasetError(f"{COMBINED}: sampled {missing[0]} is not published")
    return tuple(rows[item_id] for item_id in ids)


def _version(parts: Sequence[Part], sample: Sample | None) -> str:
    """12 hex digits over the versions of the parts and the sampled ids: equal rows and withdrawals, equal version."""
    lines = [f"{part.slug} {part.version}\n" for part in parts]
    # The ids themselves: an id that left, or follows its item to a corrected text, changes the file of the sample.
    lines += [f"{SAMPLE} {item_id}\n" for item_id in sample.ids] if sample else []
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:VERSION_DIGITS]


def _configs(
    parts: Sequence[Part], sample: Sample | None, chosen: tuple[ItemRow, ...]
) -> dict[str, tuple[ItemRow, ...]]:
    configs = {ALL: tuple(row for part in parts for row in part.rows)}
    if sample is not None and chosen:
        configs[SAMPLE] = chosen
    for name, members in _fields(parts).items():
        configs[name] = tuple(row for part in members for row in part.rows)
    return configs | {part.slug: part.rows for part in parts}


def _fields(parts: Sequence[Part]) -> dict[str, list[Part]]:
    fields: dict[str, list[Part]] = {}
    for part in parts:
        fields.setdefault(f"field-{part.field}", []).append(part)
    return dict(sorted(fields.items()))


def _stats(parts: Sequence[Part], version: str, sample: Sample | None, sampled: int) -> dict[str, Any]:
    items, withdrawn = sum(len(part.rows) for part in parts), sum(part.withdrawn for part in parts)
    return {
        "slug": COMBINED,
        "version": version,
        "counts": {"subjects": len(parts), "items": items, "withdrawn": withdrawn, "scored": items - withdrawn},
        "sample": {"edition": sample.edition, "digest": sample.digest, "items": sampled} if sample else None,
        "subjects": {
            part.slug: {
                "version": part.version,
                "field": part.field,
                "items": len(part.rows),
                "withdrawn": part.withdrawn,
                "build": json.loads(part.files[STATS_NAME]),
            }
            for part in parts
        },
    }


def _changelog(parts: Sequence[Part], version: str, before: Before) -> str:
    if before.changelog is not None and before.version == version:
        return before.changelog
    now = {part.slug: part.version for part in parts}
    lines = [f"## {version}", "", f"{sum(len(part.rows) for part in parts)} 題 items, {len(parts)} 科 subjects."]
    if not before.version:
        lines += ["", "本紀錄的首個版本 First version in this log."]
    else:
        lines[-1] += f" 前一版 previous version: {before.version}."
        lines += _moved("新增 added", sorted(now.keys() - before.parts.keys()), now)
        lines += _moved("移除 removed", sorted(before.parts.keys() - now.keys()), before.parts)
        kept = sorted(now.keys() & before.parts.keys())
        lines += _moved("更新 changed", [slug for slug in kept if now[slug] != before.parts[slug]], now, before.parts)
    known = before.changelog if before.changelog and before.changelog.startswith(CHANGELOG_HEADER) else None
    return grow_changelog(known, "\n".join(lines) + "\n")


def _moved(label: str, slugs: Sequence[str], now: Mapping[str, str], old: Mapping[str, str] | None = None) -> list[str]:
    if not slugs:
        return []
    shown = [f"- `{slug}` " + (f"{old[slug]} → {now[slug]}" if old else now[slug]) for slug in slugs]
    return ["", f"{label}: {len(slugs)}", "", *shown]


# -- the card ---------------------------------------------------------------------------------------------------------


def _front_matter(parts: Sequence[Part], sample: Sample | None, sampled: int) -> str:
    paths = {ALL: [part.path for part in parts]}
    if sample is not None and sampled:
        paths[SAMPLE] = [SAMPLE_NAME]
    paths |= {name: [part.path for part in members] for name, members in _fields(parts).items()}
    paths |= {part.slug: [part.path] for part in parts}
    features = [{"name": c, "dtype": "int64" if c in INT_COLUMNS else "string"} for c in COLUMNS]
    # One JSON value a line, which is YAML. No anchors: readers bound how often one may be used.
    configs = [
        {"config_name": name, "default": name == ALL, "data_files": [{"split": "test", "path": found}]}
        for name, found in paths.items()
    ]
    infos = [{"config_name": name, "features": features} for name in paths]
    items = sum(len(part.rows) for part in parts)
    return "\n".join(
        [
            "language:\n- zh\nlanguage_bcp47:\n- zh-Hant-TW",
            f"license: other\nlicense_name: ogdl-1.0\nlicense_link: {LICENCE_LINK}",
            f"pretty_name: {yaml_string('OpenTWBench national examinations (國家考試)')}",
            "task_categories:\n- multiple-choice\n- question-answering\ntask_ids:\n- multiple-choice-qa",
            f"size_categories:\n- {size_category(items)}",
            "tags:\n- taiwan\n- traditional-chinese\n- national-examination\n- opentwbench",
            "configs:",
            *(f"- {json.dumps(config)}" for config in configs),
            "dataset_info:",
            *(f"- {json.dumps(info)}" for info in infos),
        ]
    )


def _card(parts: Sequence[Part], version: str, sample: Sample | None, sampled: int) -> str:
    items, withdrawn = sum(len(part.rows) for part in parts), sum(part.withdrawn for part in parts)
    lines = [
        f"---\n{_front_matter(parts, sample, sampled)}\n---\n",
        "# 國家考試評測集 OpenTWBench national examinations\n",
        f"全部學科合為一個資料集：{items:,} 題，{len(parts)} 科，其中 {withdrawn:,} 題已撤回計分。版本 `{version}`。",
        f"Every subject in one data set: {items:,} items of {len(parts)} subjects, {withdrawn:,} of them withdrawn "
        f"from the scored set. Version `{version}`.\n",
        "每一科的題目與該科自己的資料集逐位元組相同；出處、篩選、核帳與檢查見各科的資料卡。",
        "The rows of a subject are byte for byte those of its own data set, whose card states sources, exclusions, "
        "accounts and checks.\n",
        "## 設定 Configurations\n",
        "| 設定 Configuration | 內容 What it holds | 題數 Items |\n|---|---|---:|",
        f"| `{ALL}` | 全部 everything | {items:,} |",
        _sample_line(sample, sampled),
    ]
    for name, members in _fields(parts).items():
        held = sum(len(part.rows) for part in members)
        lines.append(f"| `{name}` | {len(members)} 科 subjects | {held:,} |")
    for part in parts:
        names = f"{markdown(part.name_zh)} {markdown(part.name_en)}"
        lines.append(f"| `{part.slug}` | {names} (`{part.version}`) | {len(part.rows):,} |")
    lines += [
        "\n## 授權 Licence\n",
        "題目與答案：考選部，政府資料開放授權條款第 1 版；彙整：Apache-2.0。",
        "Questions and keys: Ministry of Examination (考選部), Open Government Data License, version 1.0; "
        "packaging: Apache-2.0.",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _sample_line(sample: Sample | None, sampled: int) -> str:
    if sample is None or not sampled:
        return ""
    about = f"分層樣本 stratified sample, edition {markdown(sample.edition)} (`{sample.digest}`)"
    return f"| `{SAMPLE}` | {about} | {sampled:,} |"
