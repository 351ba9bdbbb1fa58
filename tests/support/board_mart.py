"""An invented mart with everything that the site can show: two axes, cards, texts, corrections, submissions, accounts.

No row is a real result and no text is a real question. `hostile` puts names and texts into it that must do no harm.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from opentwbench.evaluation.model import AskedItem
from opentwbench.evaluation.protocols import BOX, PATTERN, REASONING_BUDGET
from opentwbench.evaluation.sample import stem_hash
from opentwbench.exam.subjects import REGISTRY
from support.mart_rows import VERSION, Tables, draw

EARLIER = "fedcba987654"
FORMOSA = "tw-formosa-bench"
CATEGORIES = ("食物", "歷史", "人物", "自然", "藝術", "社會")
LETTERS = "ABCD"

FAMILIES = ("青山", "白川", "Lanyang", "玉露", "Tamsui", "Dapeng")
SIZES = (0.27, 1.0, 4.0, 8.0, 14.0, 32.0, 70.0, 235.0, 671.0)

HOSTILE = (
    "<script>alert(1)</script>",
    "javascript:alert(1)",
    "../../etc/passwd",
    "maker/\u202ereversed\u202c\u200f\u2067name",
    "=HYPERLINK(1)",
    "maker/" + "長" * 10_000,
)
"""Names of models that would do harm where one is not escaped, bounded or kept out of paths."""

HOSTILE_STEM = (
    "<img src=x onerror=alert(1)>\n\u202e反轉\u202c 下列何者正確？</script><script>alert(2)</script>" + "字" * 10_000
)


@dataclass(frozen=True)
class Size:
    """How large the invented board is."""

    models: int = 12
    exam_items: int = 480
    subjects: int = 12
    formosa_items: int = 120
    seed: int = 20_261_130


def exam_items(size: Size) -> list[AskedItem]:
    """Made-up items over the first subjects of the registry."""
    source = np.random.default_rng(size.seed)
    subjects = list(REGISTRY.values())[: size.subjects]
    keys, years = source.integers(0, 4, size.exam_items), source.integers(100, 116, size.exam_items)
    items = []
    for n in range(size.exam_items):
        subject = subjects[n * size.subjects // size.exam_items]
        items.append(
            AskedItem(
                f"{subject.key}-{n:012x}",
                f"（樣本）關於{subject.name_zh}的第 {n + 1} 道示範題，下列敘述何者正確？",
                {letter: f"示範選項{letter}，敘述之{n % 97}" for letter in LETTERS},
                LETTERS[keys[n]],
                subject.slug,
                subject.field,
                int(years[n]),
            )
        )
    return items


def formosa_items(size: Size) -> list[AskedItem]:
    """Made-up items of the other axis."""
    keys = np.random.default_rng(size.seed + 1).integers(0, 4, size.formosa_items)
    return [
        AskedItem(
            f"formosa-{n:012x}",
            f"（樣本）關於臺灣日常生活的第 {n + 1} 道示範題，下列何者為是？",
            {letter: f"示範答案{letter}" for letter in LETTERS},
            LETTERS[keys[n]],
            CATEGORIES[n * len(CATEGORIES) // size.formosa_items],
            "formosa",
        )
        for n in range(size.formosa_items)
    ]


def text_row(item: AskedItem, number: int) -> dict[str, object]:
    """The row of `item_texts` of a made item."""
    exam = item.year_roc is not None
    return {
        "dataset": item.subject if exam else FORMOSA,
        "item_id": item.item_id,
        "question": item.question,
        **{f"option_{letter.lower()}": item.options[letter] for letter in LETTERS},
        "key": item.key,
        "exam_name": f"{item.year_roc}年示範考試" if exam else None,
        "exam_level": "高等考試" if exam else None,
        "subject_group": "示範類科" if exam else None,
        "paper_id": f"{item.year_roc}010-001-0{number % 9}01" if exam else None,
        "article": None if exam else f"示範條目 {number % 40}",
        "article_url": None if exam else f"https://example.org/knowledge/{number % 40}",
        "year_roc": item.year_roc,
        "q_no": number % 80 + 1 if exam else None,
        "n_source_papers": number % 4 + 1 if exam else None,
    }


def model_card(n: int, model: str, *, sample: bool) -> dict[str, object]:
    """The row of `model_cards` of an invented model; every fifth states nothing but its name."""
    stated = n % 5 != 4
    return {
        "model": model,
        "is_sample": sample,
        "family": FAMILIES[n % len(FAMILIES)] if stated else None,
        "developer": f"maker-{n % 7}" if stated else None,
        "licence": ("Apache-2.0", "MIT", "closed service")[n % 3] if stated else None,
        "released": f"2026-{n % 12 + 1:02d}-01" if stated else None,
        "parameters_b": SIZES[n % len(SIZES)] if stated else None,
        "active_parameters_b": 3.0 if n % 9 == 6 and stated else None,
        "open_weights": n % 3 != 2 if stated else None,
        "taiwan_tuned": n % 4 == 1 if stated else None,
    }


def model_name(n: int) -> str:
    """An invented name; no two agree below 378 models."""
    return f"maker-{n % 7}/{FAMILIES[n % len(FAMILIES)]}-{SIZES[n % len(SIZES)]:g}B-v{n // 9 + 1}"


def fill_board(raw: Path, size: Size, *, hostile: bool = False, sample: bool = True) -> Tables:
    """Raw tables of an invented board, written; every third model ran under the larger budget, four under both
    protocols. One subject of one model reads badly, one key was corrected, one item is withdrawn."""
    exam, formosa = exam_items(size), formosa_items(size)
    if hostile:
        exam[0] = replace(exam[0], question=HOSTILE_STEM, options={x: f"<b onclick=alert(1)>{x}" for x in LETTERS})
    tables = Tables(raw, [*exam, *formosa])
    source = np.random.default_rng(size.seed)
    hard_exam, hard_formosa = source.normal(0, 1.2, len(exam)), source.normal(0.6, 1.1, len(formosa))
    abilities, parse_rates = source.normal(0.8, 1.3, size.models), 1 - source.beta(0.7, 12, size.models)
    names = [model_name(n) for n in range(size.models)]
    if hostile:
        names[: len(HOSTILE)] = HOSTILE
    for n, model in enumerate(names):
        protocol = BOX.with_budget(REASONING_BUDGET) if n % 3 == 0 else BOX
        common = {"protocol": protocol, "precision": "quantised" if n % 4 == 0 else "native"}
        started = f"2026-{10 + n % 2}-{n % 27 + 1:02d}T08:00:00+00:00"
        strict, lenient = draw(len(exam), abilities[n], hard_exam, parse_rates[n], size.seed + n)
        if n == 1:
            subject = np.arange(len(exam)) * size.subjects // len(exam)
            strict = np.where((subject == 2) & (np.arange(len(exam)) % 2 == 0), "unparsed", strict)
        if n == 2:
            strict[:9], lenient[:9] = "error", "error"
        tables.run(f"exam-{n:03d}", model, strict, lenient=lenient, items=exam, started=started, seed=n, **common)
        if n % 6 != 5:
            skill = abilities[n] + source.normal(0, 0.5)
            strict, lenient = draw(len(formosa), skill, hard_formosa, parse_rates[n], size.seed + 500 + n)
            tables.run(
                f"formosa-{n:03d}", model, strict, lenient=lenient, items=formosa, benchmark="formosa",
                started=started, seed=n, **common,
            )  # fmt: skip
        if n < 4:
            bare, _ = draw(len(exam), abilities[n], hard_exam, 0.8, size.seed + 900 + n)
            tables.run(f"bare-{n:03d}", model, bare, items=exam, started=started, seed=n, protocol=PATTERN)
    tables.annotations = [{"model": names[3], "annotation": "wrote the draft items", "note": "made up"}]
    tables.withdrawn = (exam[7].item_id,)
    tables.extra = _extra(tables, exam, formosa, names, sample=sample)
    tables.write()
    return tables


def _extra(
    tables: Tables, exam: list[AskedItem], formosa: list[AskedItem], names: list[str], *, sample: bool
) -> dict[str, list[dict[str, object]]]:
    every = [*exam, *formosa]
    subjects = sorted({item.subject for item in exam})
    versions = []
    for item in every:
        row = {
            "dataset": item.subject if item.year_roc else FORMOSA,
            "dataset_version": VERSION,
            "item_id": item.item_id,
            "key": item.key,
            "withdrawn": item.item_id in tables.withdrawn,
            "is_current": True,
        }
        versions.append(row)
        if item.subject == subjects[0]:
            key = "ABCD"["ABCD".index(item.key) - 1] if item.item_id == exam[3].item_id else item.key
            versions.append(row | {"dataset_version": EARLIER, "key": key, "withdrawn": False, "is_current": False})
    accounts = []
    for scope in subjects:
        lines = {"published": 40, "folded": 260, "english": 12, "figure": 31, "voided": 2, "not_four_choice": 5}
        accounts += [("questions", line, n) for line, n in lines.items()]
        accounts += [("questions", "total", sum(lines.values()))]
        accounts += [("papers", "total", 12), ("papers", "accepted", 11), ("papers", "no_text_layer", 1)]
        tables.extra.setdefault("build_accounting", []).extend(
            {"scope": scope, "section": section, "line": line, "count": n} for section, line, n in accounts
        )
        accounts = []
    checks = ("row_contract", "rows_match_records", "answer_position", "csv_mirrors_jsonl", "accounting_closes")
    return {
        "item_texts": [text_row(item, n) for n, item in enumerate(every)],
        "attributions": [
            # A distractor of the retrieval set from an article of which no item was asked.
            *({"dataset": FORMOSA, "url": f"https://example.org/knowledge/{n}", "items": 3,
               "attribution": f"「示範條目 {n}」, made up, CC BY-SA 4.0"} for n in range(40)),
            {"dataset": "tw-rag-bench", "url": "https://example.org/knowledge/0", "items": 2,
             "attribution": "「示範條目 0」, made up, CC BY-SA 4.0"},
            {"dataset": "tw-rag-bench", "url": "https://example.org/knowledge/unasked", "items": 1,
             "attribution": "「沒有被問到」, made up, CC BY-SA 4.0"},
        ],
        "item_versions": versions,
        "withdrawals": [
            {
                "dataset": exam[7].subject,
                "item_id": exam[7].item_id,
                "reason": "示範撤回",
                "date": "2026-11-02",
                "evidence": "made up",
            }
        ],
        "model_cards": [model_card(n, model, sample=sample) for n, model in enumerate(names)],
        "build_accounting": tables.extra["build_accounting"],
        "key_figures": [
            {"scope": s, "groups": 52, "agreeing": 52 - (s == subjects[1]), "independent_groups": 40,
             "independent_agreeing": 40 - (s == subjects[1])}
            for s in subjects
        ],
        "check_results": [
            {"dataset": s, "check_name": check, "passed": True, "blocking": True, "warned": False, "detail": "",
             "code_version": "1", "judged_manifest": "aa"}
            for s in subjects
            for check in checks
        ],
        "run_scores": [
            {"run_id": "exam-000", "dataset_version": version, "item_set": "scored", "n": len(exam) - 1, "hits": hits}
            for hits, version in enumerate((EARLIER, VERSION), len(exam) // 5)
        ] + [  # regraded, and not moved
            {"run_id": "exam-001", "dataset_version": version, "item_set": "scored", "n": len(exam) - 1, "hits": 3}
            for version in (EARLIER, VERSION)
        ],
        "removed_items": [
            {"dataset": subjects[0], "item_id": "made-gone", "last_version": EARLIER, "reason": "folded",
             "detail": exam[1].item_id}
        ],
        "submissions": [
            {"submission_id": "volunteer-1", "model": names[0], "benchmark": "exam_sample", "dataset_version": VERSION,
             "protocol_id": BOX.protocol_id, "serving_precision": "quantised", "form": "exact",
             "received": "2026-11-12T00:00:00+00:00", "n_items": len(exam), "rows": len(exam)}
        ],
        "submission_answers": [
            {"submission_id": "volunteer-1", "item_id": item.item_id, "stem_hash": stem_hash(item.question),
             "strict_correct": n % 3 == 0, "lenient_correct": n % 2 == 0 or n % 3 == 0, "strict_parsed": n % 3 != 1,
             "lenient_parsed": True, "strict_answer": "A" if n % 3 != 1 else None, "lenient_answer": "A"}
            for n, item in enumerate(exam)
        ],
        "submission_provenance": [
            {"submission_id": "volunteer-1", "field": "hardware", "value": "1 x 24 GB"},
            {"submission_id": "volunteer-1", "field": "runtime", "value": "llama.cpp b7000"},
        ],
    }  # fmt: skip


def study_payload() -> str:
    """A study of the contract, invented."""
    return json.dumps(
        {
            "title": {"zh": "抽取方式的示範", "en": "Extraction, made up"},
            "question": {"zh": "同一批回覆，不同讀法差多少？", "en": "How far apart are readings of the same replies?"},
            "method": {"zh": "示範資料。", "en": "Made-up data."},
            "finding": {"zh": "示範結果，相差 3 點。", "en": "Made up: 3 points apart."},
            "n": 480,
            "labelled": {"zh": "示範", "en": "made up"},
            "tables": [
                {
                    "name": {"zh": "正確率", "en": "Accuracy"},
                    "columns": [
                        {"name": "model", "label": {"zh": "模型", "en": "Model"}, "unit": ""},
                        {"name": "strict", "label": {"zh": "嚴格", "en": "Strict"}, "unit": "%"},
                    ],
                    "rows": [["maker/a", 61.5], ["<script>alert(3)</script>", None]],
                }
            ],
            "charts": [
                {
                    "title": {"zh": "正確率", "en": "Accuracy"},
                    "spec": {
                        "data": {"values": [{"model": "maker/a", "strict": 61.5}, {"model": "maker/b", "strict": 40}]},
                        "mark": "bar",
                        "encoding": {
                            "x": {"field": "strict", "type": "quantitative", "title": "%"},
                            "y": {"field": "model", "type": "nominal", "title": None},
                        },
                    },
                }
            ],
        },
        ensure_ascii=False,
    )
