"""Drafting: one question a window, from any model, under a frozen prompt; and what came back, each reply in one kind.

What belongs here: the prompt, the requests, reading drafts from the journal, and what a newer corpus leaves to ask.
What does not: asking (evaluation.runner), the screens, and judging whether a draft is true (grounding.py).
No model's word is taken for a fact here: a draft is a proposal, whose key counts only once it is grounded.
Source: facts on the published construction, "The generation prompt begins, verbatim".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import MAX_TEXT, excerpt
from opentwbench.dataset.files import jsonl_bytes, read_jsonl
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.model import Response
from opentwbench.evaluation.scoring import CAPPED_REASONS, REFUSED_REASONS, declines
from opentwbench.formosa.asking import Ask, Prompt
from opentwbench.formosa.json_replies import Repair, read_object
from opentwbench.formosa.model import LETTERS, Draft, Exclusion, Finding, FormosaItem, Window

DRAFT_PROMPT = Prompt(
    name="formosa-draft",
    system=(
        "你是臺灣的測驗命題委員，正在編寫一份「認識臺灣」的知識評測集。 受測者只會看到題目，看不到任何參考資料，"
        "必須靠自己對臺灣的認識作答。"
        "請只依據使用者提供的材料命一道四選一的單選題，並遵守下列規定：\n"
        "一、考的是材料以外也查得到的事實（人物、地點、年代、制度、物產、事件），不考只有這份材料才有的瑣事，"
        "例如文章的段落、標題、作者、寫法或更新日期。\n"
        "二、題幹必須自足：寫出所問的人、事、物的全名，不以代名詞開頭，不出現「本文」、「上述」、「文中」、"
        "「作者」、「這篇」等指向材料的字眼，題幹中不得出現正確答案。\n"
        "三、四個選項同一類、長短相近、互不相同，只有一個正確；不用「以上皆是」、「以上皆非」之類的選項；"
        "錯誤的選項在材料中也不得成立。\n"
        "四、用臺灣的繁體中文與臺灣的用語。\n"
        "五、另附材料中足以證明正確答案的一句原文，一字不改。\n"
        "只輸出一個 JSON 物件，不加任何說明："
        '{"question": "題幹", "options": {"A": "選項", "B": "選項", "C": "選項", "D": "選項"}, '
        '"answer": "A、B、C、D 其中一個", "quote": "材料中的一句原文"}'
    ),
    template="主題：{title}\n材料：\n{window}",
    fields=("title", "window"),
    max_tokens=1_024,
)
"""The drafting prompt. The first two sentences are the published ones, verbatim; the rest puts the published rules
(facts checkable outside the corpus, no document-local trivia, self-containment, four options of one kind) in words."""

_FIELDS = frozenset(("question", "options", "answer", "quote"))


def draft_inputs(windows: Iterable[Window]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The requests' inputs, by window id. Only title and text of a window reach the prompt."""
    for window in windows:
        yield window.window_id, {"title": window.title, "window": window.text}


def draft_ask(windows: Sequence[Window], model: str, extra: Mapping[str, Any] | None = None) -> Ask:
    """Everything that drafting these windows asks of a model."""
    return Ask(model, DRAFT_PROMPT, list(draft_inputs(windows)), extra or {})


# -- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drafted:
    """What came back. windows = drafts + rejected without DUPLICATE_DRAFT and UNKNOWN_WINDOW + unanswered."""

    windows: int
    drafts: tuple[Draft, ...]
    rejected: tuple[tuple[str, Finding], ...] = ()
    """(window id, why there is no draft)."""
    unanswered: tuple[str, ...] = ()
    """Windows without a reply yet: asked again by the same command."""
    repairs: Mapping[Repair, int] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Every figure of the drafting by name; the kinds of rejection all named, zero or not."""
        kinds = Counter(finding.exclusion for _, finding in self.rejected)
        counted = {kind.value: kinds[kind] for kind in DRAFT_KINDS}
        repaired = {f"repaired_{each.value}": self.repairs.get(each, 0) for each in Repair}
        return {
            "windows": self.windows,
            "well_formed": len(self.drafts),
            **counted,
            "unanswered": len(self.unanswered),
            **repaired,
        }

    def open_sums(self) -> list[str]:
        """Sums that do not close, in words; empty when every window is in one kind."""
        apart = (Exclusion.DUPLICATE_DRAFT, Exclusion.UNKNOWN_WINDOW)
        rejected = sum(finding.exclusion not in apart for _, finding in self.rejected)
        found = len(self.drafts) + rejected + len(self.unanswered)
        return [] if found == self.windows else [f"{self.windows} windows, {found} in kinds"]


DRAFT_KINDS = (
    Exclusion.MALFORMED,
    Exclusion.EMPTY,
    Exclusion.REFUSED,
    Exclusion.DUPLICATE_DRAFT,
    Exclusion.UNKNOWN_WINDOW,
)
"""Why a reply is no draft."""


def collect(responses: Iterable[Response], windows: Collection[str]) -> Drafted:
    """Drafts from the stored replies, in the order in which they came; the first reply to a window counts.

    A reply for a window that is not among `windows` is UNKNOWN_WINDOW: the corpus has moved on, and nothing is lost.
    An error is no reply: its window is unanswered.
    """
    known, seen = frozenset(windows), set[str]()
    drafts: list[Draft] = []
    rejected: list[tuple[str, Finding]] = []
    repairs: Counter[Repair] = Counter()
    for response in responses:
        if response.error:
            continue
        if response.item_id not in known:
            rejected.append((response.item_id, Finding(Exclusion.UNKNOWN_WINDOW, "not among the windows given")))
        elif response.item_id in seen:
            rejected.append((response.item_id, Finding(Exclusion.DUPLICATE_DRAFT, "a second reply for the window")))
        else:
            seen.add(response.item_id)
            found = read_draft(response, repairs)
            if isinstance(found, Draft):
                drafts.append(found)
            else:
                rejected.append((response.item_id, found))
    return Drafted(len(known), tuple(drafts), tuple(rejected), tuple(sorted(known - seen)), dict(repairs))


def read_draft(response: Response, repairs: Counter[Repair] | None = None) -> Draft | Finding:
    """One reply as a draft, or why it is none. `repairs` counts what was mended in drafts that came of it."""
    text = response.content or ""
    if not text.strip():
        refused = response.finish_reason in REFUSED_REASONS
        return Finding(Exclusion.REFUSED, "filtered") if refused else Finding(Exclusion.EMPTY, "no text")
    read = read_object(text)
    if read.record is None:
        if response.finish_reason in REFUSED_REASONS or declines(text):
            return Finding(Exclusion.REFUSED, excerpt(text))
        cut = "cut by the budget: " if response.finish_reason in CAPPED_REASONS else ""
        return Finding(Exclusion.MALFORMED, f"{cut}{read.fault}")
    fault = _fault(read.record)
    if fault:
        return Finding(Exclusion.MALFORMED, fault)
    if repairs is not None:
        repairs.update(read.repairs)
    record = read.record
    return Draft(
        response.item_id,
        record["question"],
        dict(record["options"]),
        record["answer"],
        record["quote"],
        response.model,
        response.protocol_id,
    )


def _fault(record: Mapping[str, Any]) -> str:
    """What keeps an object from being of the asked shape, '' when nothing does. What it says is for the screens."""
    if set(record) != _FIELDS:
        return f"fields are {excerpt(sorted(record), 100)}"
    options = record["options"]
    if not isinstance(options, dict) or not 0 < len(options) <= 10:
        return "options is no object of options"
    texts = {"question": record["question"], "answer": record["answer"], "quote": record["quote"], **options}
    for name, text in texts.items():
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            return f"{excerpt(name)} is no text of at most {MAX_TEXT} characters"
    return ""


# -- files ------------------------------------------------------------------------------------------------------------


def drafts_bytes(drafts: Iterable[Draft]) -> bytes:
    """Drafts as JSONL, one a line."""
    return jsonl_bytes(asdict(draft) for draft in drafts)


def read_drafts(path: Path) -> list[Draft]:
    """Drafts of a JSONL file; raises DatasetError naming line and field for a record that is none."""
    names = [each.name for each in fields(Draft)]
    found = []
    for number, record in enumerate(read_jsonl(path), 1):
        where = f"{path.name} line {number}"
        if set(record) != set(names):
            raise DatasetError(f"{where}: a draft has {', '.join(names)}; got {excerpt(sorted(record), 200)}")
        for name in names:
            texts = record[name].values() if name == "options" and isinstance(record[name], dict) else (record[name],)
            if not all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts):
                raise DatasetError(f"{where}: {name} is no text")
        found.append(Draft(**record))
    return found


# -- a newer corpus ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a newer corpus asks for: only windows whose text changed are drafted again."""

    kept: tuple[str, ...]
    """Window ids with a reply that still are windows."""
    to_draft: tuple[str, ...]
    lost: tuple[str, ...]
    """Window ids with a reply that are windows no more."""


def renewal(answered: Iterable[str], windows: Iterable[str]) -> Renewal:
    """Windows with a reply against the windows of a newer corpus. A window's id holds the hash of its text."""
    before, now = set(answered), set(windows)
    return Renewal(tuple(sorted(before & now)), tuple(sorted(now - before)), tuple(sorted(before - now)))


def lost_ground(items: Iterable[FormosaItem], windows: Collection[str]) -> list[FormosaItem]:
    """Items whose window is not in the corpus any more: what they were grounded in has been changed or removed."""
    known = frozenset(windows)
    return [item for item in items if item.window_id not in known]


def letters_of(drafts: Iterable[Draft]) -> dict[str, int]:
    """How often each letter is the key as drafted, before the permutation; other keys under 'other'."""
    counted = Counter(draft.key if draft.key in tuple(LETTERS) else "other" for draft in drafts)
    return {letter: counted[letter] for letter in (*LETTERS, "other")}
