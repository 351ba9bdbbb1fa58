"""README.md and LICENSE.md of tw-rag-bench, in Chinese and English.

What belongs here: the words of the card. What does not: which figures there are (output.py). Texts from outside (names
of categories and forms) go through `markdown`, which leaves nothing of them that could be markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opentwbench.dataset.card import markdown, size_category
from opentwbench.rag.tw_rag.model import Account

LICENCE_ID = "cc-by-sa-4.0"
LICENCE_URL = "https://creativecommons.org/licenses/by-sa/4.0/"

LICENCE_TEXT = f"""# 授權 Licence

本資料集的段落取自 Taiwan.md 及其貢獻者的文章，採「創用 CC 姓名標示－相同方式分享 4.0 國際」（CC BY-SA 4.0）授權：
<{LICENCE_URL}>。`ragas.jsonl` 每一題的 `context_attributions` 與 `context_urls` 依序標明四個段落的文章、作者與網址。

The passages are taken from articles of Taiwan.md and its contributors. The data set is licensed under the Creative
Commons Attribution-ShareAlike 4.0 International licence (CC BY-SA 4.0): <{LICENCE_URL}>. In `ragas.jsonl` the columns
`context_attributions` and `context_urls` name the article, the authors and the address of each of the four passages.

## 更動 Changes

原文經清理並切為段落視窗；題目出自 tw-formosa-bench 的有據題；參考答案由題幹與答案依樣板組成，未經模型改寫。
The articles were cleaned and cut into windows of whole paragraphs; the questions are grounded items of
tw-formosa-bench; references are composed by template from stem and answer, and no model writes one.
"""


def card(
    slug: str, version: str, account: Account, by_category: Mapping[str, Account], positions: Sequence[int]
) -> str:
    """The README.md of the folder."""
    parts = [
        f"---\n{_front_matter(account.items)}\n---",
        "# 臺灣檢索問答評測集 Taiwan RAG Bench",
        f"`{slug}`，版本 version `{version}`，{account.items:,} 題 items。",
        "每一題有四個段落：一個含有答案，三個是同類別的干擾段落；答案段落的位置由題目雜湊值決定。 "
        "Each item hands a system what a mediocre retriever would: the gold passage among three of its category. "
        f"Exactly one of four is relevant, so context precision has a known target of 1/4. Gold position 1 to 4: "
        f"{' / '.join(f'{n:,}' for n in positions)}.",
        "沒有任何內容由模型生成：問題與段落出自 tw-formosa-bench，參考答案依樣板組成。 Nothing here is generated: "
        "questions and passages are those of tw-formosa-bench, references are composed by template.",
        "## 執行 Running it",
        _RUNNING,
        "## 欄位 Fields",
        _table(("欄位 field", "說明 meaning"), _FIELDS),
        "## 保證 Guarantees",
        "發布前逐題檢查 checked over every item before publication：答案段落在所記位置；干擾段落不出自同一篇文章；"
        "干擾段落不含答案字串（台/臺、全半形、空白、數字寫法皆已摺疊）。 "
        "The gold passage stands at its recorded position; no distractor is from the gold's own article; no "
        "distractor holds the answer under folding. Position and length of the gold are balanced (chi-square).",
        _table(("剔除的候選段落 windows passed over", "數量 count"), sorted(account.rejected.items())),
        "## 帳目 Accounting",
        _table(("步驟 step", "數量 count"), _steps(account)),
        _table(("類別 category", "題數 items"), [(name, each.items) for name, each in by_category.items()]),
        "## 設定 Configs",
        "`ragas`（主要 primary）與 and `mcq`（`benchmark.csv`：同一批題目，段落在題幹中，四選一；"
        "`formosa_id` 對應閉卷題，可逐題計算 acc(open) − acc(closed)）。 "
        "The same items as four-option questions with the passages in the prompt, "
        "pairable one to one with the closed-book item by `formosa_id`.",
        "## 授權 Licence",
        f"[CC BY-SA 4.0]({LICENCE_URL})；出處見 `LICENSE.md` 與 `context_attributions`。",
    ]
    return "\n\n".join(parts) + "\n"


_RUNNING = """```
python run_rag_generation.py --base-url URL --model SYSTEM --out responses.jsonl   # answers from the four passages
python make_ragas_dataset.py --responses responses.jsonl --out eval/rag.jsonl      # question = the judge prompt
twinkle-eval --config ragas.yaml                                                   # evaluation_method: ragas
```

兩支程式只需要 Python 3.11 以上。 The scripts need Python 3.11 or newer and nothing else. A judge's mean over unreadable
replies is no score: read its parse rate beside every metric, and its mean context precision against 1/4."""

_FIELDS = (
    ("question", "題目 the bare question"),
    ("contexts", "四個段落 four passages, gold among distractors"),
    ("reference", "參考答案 declarative, composed by template"),
    ("gold_position", "答案段落的位置 which passage holds the answer, 1 to 4"),
    ("category, source_chunk", "類別與視窗 category and window of tw-formosa-bench"),
    ("answer_text", "答案字串 the keyed answer, which a folded look-up finds in a reply without a judge"),
    ("context_chunks, context_urls, context_attributions", "各段落的出處 where each passage comes from"),
    ("formosa_id, item_id", "閉卷題與本題的代號 ids of the closed-book item and of this one"),
)


def _front_matter(items: int) -> str:
    return f"""language:
- zh
language_bcp47:
- zh-Hant-TW
license: {LICENCE_ID}
pretty_name: "Taiwan RAG Bench (臺灣檢索問答評測集)"
task_categories:
- question-answering
- multiple-choice
size_categories:
- {size_category(items)}
annotations_creators:
- machine-generated
source_datasets:
- extended
tags:
- taiwan
- traditional-chinese
- rag
- opentwbench
configs:
- config_name: ragas
  default: true
  data_files:
  - split: test
    path: ragas.jsonl
- config_name: mcq
  data_files:
  - split: test
    path: benchmark.csv
  keep_default_na: false"""


def _steps(account: Account) -> list[tuple[str, int]]:
    found = [("有據題 grounded items", account.grounded)]
    found += [(f"未收 left out: {name}", n) for name, n in sorted(account.dropped.items())]
    found += [(f"需要樣板 needs a template: {name}", n) for name, n in sorted(account.needing.items())]
    found += [("收錄 items", account.items)]
    return found + [(f"題型 form: {name}", n) for name, n in sorted(account.forms.items())]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(markdown(str(cell), 400) for cell in row)} |" for row in rows]
    return "\n".join(lines)
