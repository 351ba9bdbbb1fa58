"""README.md and LICENSE.md of the published folder, in Chinese and English.

What belongs here: the words of the card. What does not: which figures there are (output.py). Every text from outside
goes through `markdown`, which leaves nothing of it that could be markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from opentwbench.dataset.card import markdown, size_category
from opentwbench.dataset.files import CSV_NAME
from opentwbench.evaluation.model import Rate
from opentwbench.formosa.accounting import Account
from opentwbench.formosa.curation import Edition, LeftOut, Transfer
from opentwbench.formosa.judge_study import JudgeResult
from opentwbench.formosa.model import LETTERS
from opentwbench.formosa.served import Served, otherwise, several
from opentwbench.formosa.shortcuts import Shortcut, shortcuts

LICENCE_ID = "cc-by-sa-4.0"
LICENCE_URL = "https://creativecommons.org/licenses/by-sa/4.0/"

LICENCE_TEXT = f"""# 授權 Licence

本資料集依據 Taiwan.md 及其貢獻者的文章編寫，採「創用 CC 姓名標示－相同方式分享 4.0 國際」（CC BY-SA 4.0）授權：
<{LICENCE_URL}>。每一題的 `attribution`、`url` 與 `commit` 欄位標明所依據的文章、作者與版本。

This data set is adapted from articles of Taiwan.md and its contributors, and is licensed under the Creative Commons
Attribution-ShareAlike 4.0 International licence (CC BY-SA 4.0): <{LICENCE_URL}>. The columns `attribution`, `url` and
`commit` of each row name the article, its authors and its version.

## 更動 Changes

原文經清理並切為段落視窗；題目與選項由模型依視窗命題，經篩選、由通過植入缺陷檢驗的評審核對，選項順序另經排列。
The articles were cleaned and cut into windows of whole paragraphs; questions and options were drafted by a model from
a window, screened, checked against it by a judge that had passed a planted-defect study, and the options were permuted.
"""


def card(
    slug: str,
    version: str,
    rows: Sequence[Mapping[str, str]],
    grounded: int,
    withdrawn: int,
    edition: Edition,
    transfer: Transfer | None,
    external: Sequence[LeftOut],
    judges: Sequence[JudgeResult],
    account: Account,
    served: Mapping[str, Mapping[str, Served]],
) -> str:
    """The README.md of the folder."""
    parts = [
        f"---\n{_front_matter(len(rows))}\n---",
        "# 認識臺灣知識評測集 Formosa Bench",
        f"`{slug}`，版本 version `{version}`，版次 edition `{markdown(edition.edition_id)}`。",
        f"公布 published {len(rows):,} 題，計分 scored {len(rows) - withdrawn:,} 題；完整有據題 full grounded set "
        f"{grounded:,} 題（`grounded.jsonl.gz`）。",
        "沒有任何答案由模型決定：每一題的答案都由所依據的段落支持。 No model writes a ground truth: every key is "
        "supported by the window that it was drafted from.",
        "## 類別 Categories",
        _table(("類別 category", "題數 items"), sorted(Counter(row["category"] for row in rows).items())),
        "## 帳目 Accounting",
        _table(("步驟 step", "數量 count"), _steps(account)),
        "## 難度帶 Difficulty band",
        f"保留凍結模型池 {len(edition.pool)} 個模型中答對數在 {edition.band.shown()} 之間的題目，日期 {edition.date}。 "
        f"Kept: items that {edition.band.shown()} of the {len(edition.pool)} models of a frozen pool answer rightly.",
        _table(
            ("模型 model", "協定 protocol", "答對 right", "答錯 wrong", "未讀到 unparsed", "角色 role"),
            [_pool_row(each, edition) for each in (*edition.pool, *edition.external)],
        ),
        *_transfer_parts(transfer, external),
        *_shortcut_parts(rows),
        *_served_parts(edition, judges, served),
        "## 評審 Judges",
        "評審先通過植入缺陷檢驗，才能核對題目。 A judge passes a planted-defect study before it grounds.",
        _table(
            ("評審 judge", "好題通過 good approved", "缺陷偵測 defects found"), [_judge_row(each) for each in judges]
        ),
        "## 授權 Licence",
        f"[CC BY-SA 4.0]({LICENCE_URL})；出處與更動見 `LICENSE.md` 與各題 `attribution` 欄。 Attribution by article: "
        "the column `attribution`; changes: `LICENSE.md`.",
    ]
    return "\n\n".join(parts) + "\n"


def options_and_key(row: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The options and the key of a published row, as the shortcuts are measured on."""
    return {letter: row[letter] for letter in LETTERS}, row["answer"]


_RULES = {"always_a": "一律選 A always A", "pick_longest": "選最長 pick the longest"}


def _shortcut_parts(rows: Sequence[Mapping[str, str]]) -> list[str]:
    found = shortcuts(map(options_and_key, rows))
    parts = [
        "### 捷徑 Shortcuts",
        "不讀題目也能得到的分數；隨機為 25 %。 What a reader scores who reads no question; a guess scores 25 %.",
        _table(
            ("規則 rule", "答對 right", "比率 share (95 %)"),
            [(_RULES[name], f"{each.right:.1f} / {each.items:,}", _share(each)) for name, each in found.items()],
        ),
    ]
    if found["pick_longest"].pays:
        parts.append(
            "**注意：選最長選項的得分高於隨機，題目的正確選項偏長；模型的分數可能有一部分來自選項長度。** "
            "**Caution: picking the longest option scores above chance, because keys are longer than the other "
            "options. Part of a model's score on this band may be option length.**"
        )
    if found["always_a"].pays:
        parts.append("**注意：一律選 A 高於隨機。** **Caution: always answering A scores above chance.**")
    return parts


def _share(found: Shortcut) -> str:
    share = f"{found.right / found.items:.1%}" if found.items else "—"
    return f"{share} ({found.interval.low:.1%} to {found.interval.high:.1%})"


def served_by_role(
    edition: Edition, judges: Sequence[JudgeResult], served: Mapping[str, Mapping[str, Served]]
) -> dict[str, dict[str, dict[str, int]]]:
    """Role -> asked model -> served name -> replies: who drafted, was studied, judged, and answered in the pool."""
    found = {
        "drafted": served.get("drafted", {}),
        "studied": {each.judge: each.served for each in judges},
        "judged": served.get("judged", {}),
        "pool": {str(each["model"]): each.get("served", {}) for each in edition.pool},
        "external": {str(each["model"]): each.get("served", {}) for each in edition.external},
    }
    return {role: {model: dict(names) for model, names in sorted(of.items())} for role, of in found.items() if of}


def served_warnings(by_role: Mapping[str, Mapping[str, Served]]) -> list[str]:
    """Every asked model whose replies carry the name of another one, or several names, each in words."""
    found = []
    for role, models in by_role.items():
        for model, names in models.items():
            if others := otherwise(model, names):
                found.append(f"{role}: {model} was asked, {', '.join(others)} answered")
            elif why := several(names):
                found.append(f"{role}: {model}: {why}")
    return found


def _served_parts(
    edition: Edition, judges: Sequence[JudgeResult], served: Mapping[str, Mapping[str, Served]]
) -> list[str]:
    by_role = served_by_role(edition, judges, served)
    rows = [
        (role, model, "; ".join(f"{name} ({n:,})" for name, n in names.items()) or "未說明 not stated")
        for role, models in by_role.items()
        for model, names in models.items()
    ]
    parts = [
        "### 實際回覆的模型 Models asked and served",
        "端點在回覆中所稱的模型名稱（回覆數）。 The model's name that the endpoint's replies carry (replies).",
        _table(("用途 role", "所求 asked", "回覆名 served"), rows),
    ]
    if found := served_warnings(by_role):
        listed = "\n".join(f"- {markdown(each, 600)}" for each in found)
        parts.append(
            "**注意：下列模型以另一名稱回覆，所求名稱不足以認定其身分。** **Caution: these replies carry another "
            f"model's name; the asked name does not say who answered.**\n\n{listed}"
        )
    return parts


def _front_matter(rows: int) -> str:
    return f"""language:
- zh
language_bcp47:
- zh-Hant-TW
license: {LICENCE_ID}
pretty_name: "Formosa Bench (認識臺灣知識評測集)"
task_categories:
- multiple-choice
- question-answering
size_categories:
- {size_category(rows)}
annotations_creators:
- machine-generated
source_datasets:
- original
tags:
- taiwan
- traditional-chinese
- opentwbench
configs:
- config_name: default
  default: true
  data_files:
  - split: test
    path: {CSV_NAME}
  keep_default_na: false"""


def _steps(account: Account) -> list[tuple[str, int]]:
    # In the order of names, not of the mapping: an account read back from JSON gives the same card.
    found = [("視窗 windows", account.windows)]
    found += [(f"未成題 no draft: {name}", n) for name, n in sorted(account.not_drafted.items())]
    found += [("未回覆 unanswered", account.unanswered), ("格式完整 well-formed", account.well_formed)]
    found += [(f"篩除 screened out: {name}", n) for name, n in sorted(account.screened_out.items())]
    found += [(f"評審剔除 dropped by the judge: {name}", n) for name, n in sorted(account.dropped.items())]
    found += [("未審 unjudged", account.unjudged), ("有據 grounded", account.grounded)]
    return found + [(f"難度帶 band: {name}", n) for name, n in sorted(account.band.items())]


def _pool_row(member: Mapping[str, object], edition: Edition) -> tuple[str, ...]:
    roles = list(edition.roles.get(str(member["model"]), ()))
    if member in edition.external:
        roles.append("external")
    names = ("model", "protocol_id", "right", "wrong", "unparsed")
    return (*(str(member[name]) for name in names), ", ".join(roles) or "—")


def _transfer_parts(transfer: Transfer | None, external: Sequence[LeftOut]) -> list[str]:
    if transfer is None:
        return ["模型少於三個，無法留一檢驗。 Fewer than three models: nothing can be left out."]
    rho = "—" if transfer.agreement.rho is None else f"{transfer.agreement.rho:.3f}"
    return [
        "### 留一檢驗 Leave-one-out transfer",
        f"{markdown(transfer.verdict(), 600)} 排名一致 rank agreement: {rho} (n = {transfer.agreement.n}).",
        _table(_TRANSFER, map(_left_out, (*transfer.rows, *external))),
    ]


_TRANSFER = (
    "模型 model",
    "全部 full",
    "題數 n",
    "帶內 band",
    "其餘平均 others' mean",
    "偏差 bias",
    "淨偏差 net (95 %)",
    "角色 role",
)


def _left_out(row: LeftOut) -> tuple[str, ...]:
    net = "—"
    if row.net is not None and row.net_low is not None and row.net_high is not None:
        net = f"{100 * row.net:+.1f} ({100 * row.net_low:+.1f} to {100 * row.net_high:+.1f})"
    mean = "—" if row.pool_mean is None else f"{row.pool_mean:.1%}"
    bias = "—" if row.bias is None else f"{100 * row.bias:+.1f}"
    roles = ", ".join(row.roles) or "—"
    return row.model, _percent(row.full), f"{row.band.n:,}", _percent(row.band), mean, bias, net, roles


def _judge_row(judge: JudgeResult) -> tuple[str, str, str]:
    found = "; ".join(f"{kind.value} {counted(each.detection)}" for kind, each in sorted(judge.planted.items()))
    return judge.judge, counted(judge.good.approval), found


def _percent(rate: Rate) -> str:
    return "—" if rate.value is None else f"{rate.value:.1%}"


def counted(rate: Rate) -> str:
    """Hits of trials with the 95 % interval."""
    return f"{rate.hits} / {rate.n} ({rate.low:.1%} to {rate.high:.1%})"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(markdown(str(cell), 400) for cell in row)} |" for row in rows]
    return "\n".join(lines)
