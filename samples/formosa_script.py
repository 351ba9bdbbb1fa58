"""Scripted drafts, judgements and answers of the Formosa track: what a model endpoint without a model says to each.

Everything is a pure function of the request (and of a file of answers for the models of a pool): a draft keys a fact
that really stands in its window, by rule, and faults of every kind come at declared rates; a judge looks the statement
up in the window and errs at declared rates; a model of the pool knows an answer or does not, by its ability.
What belongs here: the script and its rates. What does not: HTTP (model_endpoint.py) and anything of the platform: the
three kinds of request are told apart by the words of their prompts.
Names begin with `scripted/`, so that nothing can take what they say for a result.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

DRAFTER = "scripted/drafter"

BLANK = "＿＿"
ASKS = "，下列敘述的空格應填入哪一項："
KEY_AT_A = 0.84
"""Share of drafts with the key at A. Source: facts on the published construction, before the permutation."""


def share(*seed: str) -> float:
    """A number in 0..1 from a hash of texts."""
    return int.from_bytes(hashlib.sha256("\0".join(seed).encode("utf-8", "replace")).digest()[:6], "big") / 2**48


# -- facts of a window ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fact:
    """A piece of a sentence that can be asked for: `sentence` holds `answer` once."""

    sentence: str
    answer: str
    kind: str
    """'number', 'title', 'term' or 'clause'."""


_SENTENCE = re.compile(r"[^。！？；\n]{10,100}")
_PIECES = (
    ("number", re.compile(r"(?<![\d.,])\d{2,}(?:,\d{3})*(?:\.\d+)?(?![\d.,])")),
    ("title", re.compile(r"(?<=《)(?=[^《》]*[\u4e00-\u9fff])[^《》，]{2,16}(?=》)")),
    ("term", re.compile(r"(?<=「)[\u4e00-\u9fff]{2,10}(?=」)")),
    ("clause", re.compile(r"(?<=[，、：])[\u4e00-\u9fff]{3,12}(?=[，、]|$)")),
)
_NOT_ONES_OWN = re.compile(r"[這那該此其他她它牠祂]")
"""A clause with such a word says nothing by itself."""


def facts(window: str, title: str) -> dict[str, list[Fact]]:
    """Kind -> what can be asked of a window. A piece that stands twice in its sentence, or in the title, is none."""
    found: dict[str, list[Fact]] = {}
    for match in _SENTENCE.finditer(window):
        sentence = match[0].strip()
        for kind, pattern in _PIECES:
            for piece in pattern.findall(sentence):
                alone = sentence.count(piece) == 1 and piece not in title
                if alone and not (kind == "clause" and _NOT_ONES_OWN.search(piece)):
                    found.setdefault(kind, []).append(Fact(sentence, piece, kind))
    return found


_TITLES = ("樣本紀事", "山下的樣本", "樣本之歌", "無人的樣本", "樣本選集", "夜行樣本")
_TERMS = ("樣本風", "試作法", "假名社", "備用名", "空想派", "仿製品")
_CLAUSES = (
    "由鄰近鄉鎮輪流供應",
    "只在閏年公開陳列",
    "交給外地團體代管",
    "原先設在離島地區",
    "全部改以機器製作",
    "僅供研究人員使用",
)
"""Distractors of the project's own making; one that stands in a window is passed over."""


def distractors(fact: Fact, window: str) -> list[str]:
    """Three options of the answer's kind that the window does not hold."""
    if fact.kind == "number":
        return list(_other_numbers(fact.answer, window))[:3]
    pool = {"title": _TITLES, "term": _TERMS, "clause": _CLAUSES}[fact.kind]
    turn = int(share(fact.sentence, "turn") * len(pool))
    return [each for each in (*pool[turn:], *pool[:turn]) if each not in window][:3]


def _other_numbers(answer: str, window: str) -> Iterator[str]:
    whole, _, part = answer.replace(",", "").partition(".")
    for step in (1, -1, 2, 3, -2, 4, 5, 6, 7, 8, 9, 11, 12, 13):
        number = int(whole) + step * (1 if int(whole) < 1_000 else 3)
        text = f"{number:,}" if "," in answer else str(number)
        text = f"{text}.{part}" if part else text
        if number > 9 and text not in window:
            yield text


# -- drafts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Written:
    """A draft before it is put in JSON."""

    stem: str
    options: Mapping[str, str]
    key: str
    quote: str


def draft(window: str, title: str, seed: str) -> Written | None:
    """A sound draft by rule; None for a window without a fact that can be asked."""
    of_kind = facts(window, title)
    kinds = [kind for kind, _ in _PIECES if kind in of_kind]
    if not kinds:
        return None
    mine = of_kind[kinds[int(share(seed, "kind") * len(kinds))]]
    fact = mine[int(share(seed, "fact") * len(mine))]
    others = distractors(fact, window)
    if len(others) < 3:
        return None
    before, after = fact.sentence.split(fact.answer)
    key = "A" if share(seed, "at A") < KEY_AT_A else "BCD"[int(3 * share(seed, "key"))]
    rest = iter(others)
    options = {letter: fact.answer if letter == key else next(rest) for letter in "ABCD"}
    return Written(f"關於{title}{ASKS}{before}{BLANK}{after}。", options, key, fact.sentence)


def _moved(key: str) -> str:
    return "ABCD"["ABCD".index(key) - 1]


def _without(options: Mapping[str, str], letter: str) -> dict[str, str]:
    return {name: text for name, text in options.items() if name != letter}


def _with(sound: Written, letter: str, text: str) -> Written:
    return replace(sound, options={**sound.options, letter: text})


def _answer_in_stem(sound: Written) -> Written:
    return replace(sound, stem=f"談到{sound.options[sound.key]}時，{sound.stem}")


def _longest(sound: Written) -> Written:
    """Every distractor cut to its first two characters where they stay different: the key sticks out."""
    texts = {letter: text if letter == sound.key else text[:2] for letter, text in sound.options.items()}
    return replace(sound, options=texts) if len(set(texts.values())) == 4 else sound


DRAFT_FAULTS: tuple[tuple[str, float, Callable[[Written], Written]], ...] = (
    ("wrong_key", 0.04, lambda sound: replace(sound, key=_moved(sound.key))),
    ("ungrounded_fact", 0.04, lambda sound: _with(sound, sound.key, "樣本以外的說法")),
    ("answer_not_in_window", 0.02, lambda sound: _with(sound, sound.key, f"約莫{sound.options[sound.key]}")),
    ("three_options", 0.01, lambda sound: replace(sound, options=_without(sound.options, _moved(sound.key)))),
    ("equal_options", 0.01, lambda sound: _with(sound, _moved(sound.key), f" {sound.options[sound.key]}")),
    ("all_of_the_above", 0.01, lambda sound: _with(sound, _moved(sound.key), "以上皆是")),
    (
        "mixed_options",
        0.01,
        lambda sound: replace(sound, options={n: t if n == sound.key else f"No {n}" for n, t in sound.options.items()}),
    ),
    ("asks_nothing", 0.01, lambda sound: replace(sound, stem="臺灣各地的歷史與文化")),
    ("pronoun", 0.01, lambda sound: replace(sound, stem=f"它是{sound.stem}")),
    ("points_at_text", 0.01, lambda sound: replace(sound, stem=f"根據本文，{sound.stem}")),
    ("document_local", 0.01, lambda sound: replace(sound, stem=f"文章的開頭說，{sound.stem}")),
    ("answer_in_stem", 0.01, _answer_in_stem),
    ("simplified", 0.01, lambda sound: _with(sound, _moved(sound.key), "发现的说法")),
    ("mainland", 0.01, lambda sound: _with(sound, _moved(sound.key), "看視頻的出租車")),
    ("longest_key", 0.02, _longest),
    (
        "same_question",
        0.02,
        lambda sound: Written("臺灣最高的山是哪一座？", dict(zip("ABCD", _MOUNTAINS, strict=True)), "A", sound.quote),
    ),
)
"""Fault of a draft's content -> its rate, and what it does to a sound draft."""

_MOUNTAINS = ("玉山", "雪山", "合歡山", "大霸尖山")

REPLY_FAULTS: tuple[tuple[str, float, Callable[[str], str]], ...] = (
    ("cut", 0.01, lambda text: text[: 2 * len(text) // 3]),
    ("other_fields", 0.01, lambda text: text.replace('"quote"', '"source"')),
    ("empty", 0.01, lambda text: ""),
    ("refused", 0.01, lambda text: "抱歉，我無法協助命題。"),
    ("fenced", 0.02, lambda text: f"```json\n{text}\n```"),
    ("trailing_comma", 0.01, lambda text: f"{text[:-1]},}}"),
    ("thought", 0.01, lambda text: f"<think>先找一個事實。</think>{text}"),
)
"""Fault of a reply's form -> its rate, and what it does to a sound reply. The last three are mended by a reader."""

RATES: Mapping[str, float] = {name: rate for name, rate, _ in (*DRAFT_FAULTS, *REPLY_FAULTS)}


def fault_of(seed: str) -> str:
    """Which fault a draft of this seed has, '' for none: shares of one draw, so that a draft has at most one."""
    left = share(seed, "fault")
    for name, rate in RATES.items():
        if left < rate:
            return name
        left -= rate
    return ""


def draft_reply(model: str, window: str, title: str) -> str:
    """What the drafting model writes for a window."""
    seed = f"{model} {window}"
    sound = draft(window, title, seed)
    if sound is None:
        return "抱歉，這份材料沒有可以命題的事實，我無法命題。"
    fault = fault_of(seed)
    for name, _, damage in DRAFT_FAULTS:
        if name == fault:
            sound = damage(sound)
    record = {"question": sound.stem, "options": dict(sound.options), "answer": sound.key, "quote": sound.quote}
    text = json.dumps(record, ensure_ascii=False)
    for name, _, spoil in REPLY_FAULTS:
        if name == fault:
            text = spoil(text)
    return text


# -- judges -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judge:
    """A scripted judge: shares of what it sees."""

    rejects_good: float
    finds: Mapping[str, float]
    """Reason -> share of drafts with that defect that it rejects."""
    silent: float = 0.0
    """Share of replies without a readable verdict."""
    invents: float = 0.0
    """Share of approvals whose quotation stands in no window."""
    alike: str = ""
    """Name whose draws it shares: a copy is no second opinion."""


def _finds(wrong_key: float, unsupported: float, malformed: float) -> dict[str, float]:
    return {"wrong_key": wrong_key, "unsupported": unsupported, "malformed_options": malformed}


JUDGES: Mapping[str, Judge] = {
    "scripted/judge-careful": Judge(0.005, _finds(0.999, 0.995, 1.0), silent=0.004, invents=0.004),
    "scripted/judge-sharp": Judge(0.03, _finds(0.99, 0.98, 0.99), silent=0.01),
    "scripted/judge-steady": Judge(0.02, _finds(0.97, 0.95, 0.98), silent=0.01, invents=0.01),
    "scripted/judge-twin": Judge(0.005, _finds(0.999, 0.995, 1.0), alike="scripted/judge-careful"),
    "scripted/judge-lenient": Judge(0.01, _finds(0.70, 0.45, 0.80)),
    "scripted/judge-fast": Judge(0.12, _finds(0.85, 0.75, 0.60), silent=0.02),
    "scripted/judge-strict": Judge(0.45, _finds(0.99, 0.99, 0.99)),
    "scripted/judge-mute": Judge(0.02, _finds(0.98, 0.97, 0.98), silent=0.30),
    "scripted/judge-yes": Judge(0.0, _finds(0.0, 0.0, 0.0)),
    "scripted/judge-no": Judge(1.0, _finds(1.0, 1.0, 1.0)),
}
"""Ten candidates: four that a study may let pass, one of them a copy, and six that none may."""

_ANSWER, _QUESTION = "\n標示的答案：", "\n\n題目："
_OPTION = re.compile(r"^([A-J])\. ?(.*)$", re.MULTILINE)


def judged(message: str) -> tuple[str, str, dict[str, str], str]:
    """Window, stem, options and key of a judge's request."""
    asked, _, key = message.rpartition(_ANSWER)
    window, _, question = asked.rpartition(_QUESTION)
    options = dict(_OPTION.findall(question))
    return window.removeprefix("材料：\n"), _OPTION.split(question)[0].strip(), options, key.strip()


def verdict(window: str, stem: str, options: Mapping[str, str], key: str) -> tuple[str, str]:
    """What a judge without fault says: the reason, and the sentence that supports the key."""
    texts = [text.strip() for text in options.values()]
    combined = any(text.startswith("以上") for text in texts)
    if tuple(options) != tuple("ABCD") or not all(texts) or len(set(texts)) < 4 or combined or key not in options:
        return "malformed_options", ""
    fits = [letter for letter, text in options.items() if _statement(stem, text) in window]
    if fits == [key]:
        return "supported", _statement(stem, options[key])
    return ("wrong_key" if fits and key not in fits else "several_answers" if fits else "unsupported"), ""


def _statement(stem: str, answer: str) -> str:
    """The sentence that the stem becomes with an answer; without a blank, what no window holds."""
    said = stem.partition(ASKS)[2].removesuffix("。")
    plain = answer.removeprefix("約莫")
    return said.replace(BLANK, plain) if BLANK in said else f"{stem}{answer}"


def judge_reply(model: str, message: str) -> str:
    """What a judge says of a draft; an unknown name is the careful one."""
    judge = JUDGES.get(model, JUDGES["scripted/judge-careful"])
    reason, quote = verdict(*judged(message))
    # Half of what a judge sees lies in the draft, so that judges agree beyond chance.
    seen = (share(message, "draft") + share(judge.alike or model, message, "own")) / 2
    limit = judge.rejects_good if reason == "supported" else judge.finds.get(reason, judge.finds["wrong_key"])
    rejects = seen < _quantile(limit)
    if share(model, message, "silent") < judge.silent:
        return "這一題需要再討論。"
    if not rejects:
        quote = "窗外並沒有這一句話" if share(model, message, "quote") < judge.invents else quote
        return json.dumps({"verdict": "approve", "reason": "supported", "quote": quote}, ensure_ascii=False)
    reason = "several_answers" if reason == "supported" else reason
    return json.dumps({"verdict": "reject", "reason": reason, "quote": ""}, ensure_ascii=False)


def _quantile(limit: float) -> float:
    """The value below which the mean of two even draws falls with this probability."""
    if limit >= 1.0:
        return 2.0
    return (limit / 2) ** 0.5 if limit <= 0.5 else 1 - ((1 - limit) / 2) ** 0.5


# -- the pool ---------------------------------------------------------------------------------------------------------

POOL: Mapping[str, float] = {
    "scripted/pool-a": 0.97,
    "scripted/pool-b": 0.93,
    "scripted/pool-c": 0.90,
    "scripted/pool-d": 0.84,
    "scripted/pool-e": 0.78,
    "scripted/pool-f": 0.70,
    "scripted/pool-g": 0.62,
    "scripted/pool-outside": 0.80,
}
"""Model -> ability: it knows a question when three parts of the question's difficulty and one part of its own draw lie
below. The last one is measured outside the pool."""

UNREAD = 0.01
"""Share of replies of the pool in which no letter stands."""


def answer_reply(model: str, stem: str, options: Mapping[str, str], known: Mapping[str, str]) -> str:
    """What a model of the pool answers: the right option by its ability, else another one."""
    letters = "".join(options) or "ABCD"
    right = next((letter for letter, text in options.items() if text.strip() == known.get(stem, "").strip()), "")
    if share(model, stem, "unread") < UNREAD:
        return "這一題我不確定。"
    # Mostly the question decides, so that models find the same questions hard.
    knows = 0.75 * share(stem, "difficulty") + 0.25 * share(model, stem, "own") < POOL.get(model, 0.5)
    others = [letter for letter in letters if letter != right]
    letter = right if right and knows else others[int(share(model, stem, "other") * len(others))]
    return f"\\boxed{{{letter}}}"


# -- a request --------------------------------------------------------------------------------------------------------

_DRAFTS, _JUDGES = "測驗命題委員", "審題委員"


def reply(body: Mapping[str, Any], question: Callable[[str], Any], known: Callable[[], Mapping[str, str]]) -> str:
    """The content that answers a request. `question` reads stem and options off a message, `known` gives answers."""
    messages: Sequence[Mapping[str, str]] = body["messages"]
    system, message, model = messages[0]["content"], messages[-1]["content"], str(body.get("model", ""))
    if _DRAFTS in system:
        title, _, window = message.removeprefix("主題：").partition("\n材料：\n")
        return draft_reply(model, window, title)
    if _JUDGES in system:
        return judge_reply(model, message)
    asked = question(message)
    return answer_reply(model, asked.stem, asked.options, known())
