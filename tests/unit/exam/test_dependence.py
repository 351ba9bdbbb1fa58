"""The second pass on stems written for this file: each sign fires on what needs a scene, none on a scene of its own."""

from __future__ import annotations

import pytest

from opentwbench.exam.dependence import PROPOSED_FROM, WEIGHTS, Earlier, Evidence, Sign, proposals, score, signs
from opentwbench.exam.dependence_audit import figures, without_pointer
from opentwbench.exam.filter_audit import Ground, Record, Round, Verdict, printed_items
from opentwbench.exam.items import FOLDED, PUBLISHED, PrintedItem
from opentwbench.exam.model import Declared, Exclusion, PaperItem, PaperRecord

NAMES = {"A": "青黴素", "B": "紅黴素", "C": "四環素", "D": "萬古黴素"}
SAYINGS = {letter: f"這是第{letter}項自成一句而無須他題說明之敘述，因此較長一些也無妨" for letter in "ABCD"}


def four(*texts: str) -> dict[str, str]:
    return dict(zip("ABCD", texts, strict=True))


DEPENDENT = [
    (Sign.NO_ANTECEDENT, "對於此病人，最適當之處置為何？", NAMES, ()),
    (Sign.NO_ANTECEDENT, "關於前者，何者正確？", NAMES, ()),
    (Sign.NO_ANTECEDENT, "在此情況下，何種抗生素最適當？", NAMES, ()),
    (Sign.NO_ANTECEDENT, "如果她懷孕，何種抗生素可用？", NAMES, ()),
    (Sign.CONTINUES, "則下列何種細菌最可能？", NAMES, ()),
    (Sign.CONTINUES, "接下來應給予何種抗生素？", NAMES, ()),
    (Sign.CONTINUES, "其左側瞳孔無反應之原因為何？", NAMES, ()),
    (Sign.CONTINUES, "得知培養結果後，應選用何種抗生素？", NAMES, ()),
    (Sign.ASKS_ABOUT_NOTHING, "最適當之治療為何？", NAMES, ()),
    (Sign.ASKS_ABOUT_NOTHING, "下列何者為最可能的診斷？", NAMES, ()),
    (Sign.ASKS_ABOUT_NOTHING, "下列選項最符合旨意的是：", SAYINGS, ()),
    (Sign.NAMED_BEFORE, "林先生最可能罹患何種感染？", NAMES, (Earlier(6, "林先生，六十歲，發燒三日。"),)),
    (Sign.NAMED_BEFORE, "在「港口案」中，何者有管轄權？", NAMES, (Earlier(6, "「港口案」與「機場案」之爭議為何？"),)),
    (Sign.LABELS_UNDEFINED, "何者之電位最高？", four("甲", "乙", "丙", "丁"), ()),
    (Sign.LABELS_UNDEFINED, "何處為消費者剩餘？", four("區域A", "區域B", "區域C", "區域D"), ()),
    (Sign.LABELS_UNDEFINED, "流程之順序為何？", four("①②③", "②①③", "③②①", "③①②"), ()),
    (Sign.LABELS_UNDEFINED, "水流至A點時之壓力為何？", four("最大", "最小", "不變", "為零"), ()),
    (Sign.DATA_ABSENT, "根據資料，需求彈性之大小為何？", four("彈性大", "彈性小", "單位彈性", "無彈性"), ()),
    (Sign.DATA_ABSENT, "某班成績之資料如下，何者為眾數？", four("甲組", "乙組", "丙組", "丁組"), ()),
    (
        Sign.PARTIES_UNINTRODUCED,
        "下列敘述，何者正確？",
        four("丙得對甲起訴", "丙不得起訴", "乙應負賠償責任", "甲仍須返還"),
        (),
    ),
    (Sign.PARTIES_UNINTRODUCED, "乙屢次抗議無效後，得向何機關陳情？", NAMES, ()),
]

SOUND = [
    ("一位病人發燒三日，此病人最適當之處置為何？", NAMES),
    ("關於正當防衛與緊急避難之區別，後者之要件為何？", NAMES),
    ("甲女懷孕，如果她感染肺炎，何種抗生素可用？", NAMES),
    ("其他條件不變時，價格上升之效果為何？", NAMES),
    ("其中不屬於抗生素者為何？", NAMES),
    ("又稱為抗生素之王者為何？", NAMES),
    ("並非抗生素者為何？", NAMES),
    ("「又聞子規啼夜月」一句所用之修辭為何？", NAMES),
    ("梅毒最適當之治療為何？", NAMES),
    ("最常見之原發性腦瘤是：", NAMES),
    ("下列敘述何者正確？", SAYINGS),
    ("林先生，現年六十歲，發燒三日，最可能罹患何種感染？", NAMES),
    ("甲、乙、丙、丁四點之電位依序遞減，何者最高？", four("甲", "乙", "丙", "丁")),
    ("夜盲症與缺乏何種維生素有關？", four("A", "B", "C", "D")),
    ("下列敘述何者正確？①甲說 ②乙說 ③丙說", four("①②③", "②①③", "③②①", "③①②")),
    ("根據資料，甲收入為 100、支出為 40，其餘額為何？", four("60", "40", "100", "140")),
    ("某班成績之資料如下：60、70、70、80，何者為眾數？", four("60", "70", "80", "90")),
    ("甲向乙借款，下列敘述，何者正確？", four("丙得對甲起訴", "丙不得起訴", "乙應負賠償責任", "甲仍須返還")),
    ("下列何者成立竊盜罪？", four("甲取走乙之傘", "甲借用乙之車", "甲誤拿乙之書", "甲拾得乙之錶")),
    ("乙為甲之配偶，其繼承權之順序為何？", NAMES),
    ("乙類危險物品之標示為何？", NAMES),
    ("丙二酸可抑制何種酵素？", NAMES),
]


@pytest.mark.parametrize(("sign", "question", "options", "earlier"), DEPENDENT)
def test_a_dependent_stem_shows_its_sign_and_is_proposed(
    sign: Sign, question: str, options: dict[str, str], earlier: tuple[Earlier, ...]
) -> None:
    found = signs(question, options, earlier)
    assert sign in {each.sign for each in found}
    assert score(found) >= PROPOSED_FROM
    assert all(each.words and each.place for each in found)


@pytest.mark.parametrize(("question", "options"), SOUND)
def test_a_stem_with_its_own_scene_is_not_proposed(question: str, options: dict[str, str]) -> None:
    assert signs(question, options, (Earlier(6, "王先生，六十歲，咳嗽三日。"),)) == ()


def test_each_sign_has_a_positive_here_and_a_weight() -> None:
    assert {sign for sign, *_ in DEPENDENT} == set(Sign) == set(WEIGHTS)
    assert all(PROPOSED_FROM <= weight < 1 for weight in WEIGHTS.values())


def test_a_namesake_far_above_is_nobody() -> None:
    far = (Earlier(1, "林先生，六十歲，發燒。"), *(Earlier(n, "下列何者正確？") for n in (2, 3, 4)))
    assert not signs("林先生最可能罹患何種感染？", NAMES, far)


def test_the_score_grows_with_signs_and_stays_a_share() -> None:
    one = Evidence(Sign.CONTINUES, "則", "stem 0-1")
    other = Evidence(Sign.DATA_ABSENT, "根據資料", "stem 2-6")
    assert score(()) == 0.0
    assert score([one]) == pytest.approx(0.8)
    assert score([one, other]) == pytest.approx(1 - 0.2 * 0.4)


def printed(q_no: int, question: str, bucket: str = PUBLISHED, paper_id: str = "p-1-1") -> PrintedItem:
    return PrintedItem(
        item_id=f"medicine-{q_no:012x}",
        bucket=bucket,
        exclusions=(),
        folded_into="",
        fingerprint="0" * 64,
        n_source_papers=1,
        question=question,
        options=tuple(NAMES.items()),
        key="A",
        accepted=("A",),
        corrected=False,
        remark=None,
        q_no=q_no,
        page=1,
        paper_id=paper_id,
        question_sha256="",
        key_sha256="",
        subject="",
        subject_group="",
        exam_level="",
        exam_name="",
        year_roc=100,
    )


def test_proposals_are_of_published_items_the_surest_first_and_look_at_every_earlier_question() -> None:
    items = [
        printed(3, "林先生最適當之處置為何？"),
        printed(1, "林先生，六十歲，發燒三日。", bucket="figure"),
        printed(2, "則最適當之處置為何？", bucket=FOLDED),
        printed(4, "梅毒最適當之治療為何？"),
        printed(5, "則何種抗生素最適當？"),
        printed(6, "林先生之診斷為何？", paper_id="p-1-2"),
    ]
    found = proposals(items)
    assert [(each.q_no, [e.sign for e in each.evidence]) for each in found] == [
        (3, [Sign.NAMED_BEFORE]),
        (5, [Sign.CONTINUES]),
    ]
    assert found[0].to_json() == {
        "item_id": "medicine-000000000003",
        "paper_id": "p-1-1",
        "q_no": 3,
        "score": 0.9,
        "evidence": [{"sign": "named_before", "words": "林先生", "place": "question 1"}],
    }


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("承上題，應如何處置？", "應如何處置？"),
        ("（承上題）甲應負何責？", "甲應負何責？"),
        ("承第12題，時效為何？", "時效為何？"),
        ("承上題事實，何者正確？", "何者正確？"),
        ("上市公司之年報為何？", "上市公司之年報為何？"),
    ],
)
def test_the_words_that_name_an_earlier_question_are_taken_off(question: str, rest: str) -> None:
    assert without_pointer(question) == rest


def test_recall_is_counted_over_stems_whose_truth_is_known() -> None:
    follow = (Exclusion.FOLLOW_UP,)
    items = (
        PaperItem(1, "一位病人發燒三日，何者正確？", NAMES, "A", ("A",), (), 1),
        PaperItem(2, "承上題，接下來應如何處置？", NAMES, "A", ("A",), follow, 1),
        PaperItem(3, "承上題，梅毒之病原為何？", NAMES, "A", ("A",), follow, 1),
        PaperItem(4, "則何種抗生素最適當？", NAMES, "A", ("A",), (Exclusion.PASSAGE_GROUP,), 1),
        PaperItem(5, "最適當之治療為何？", NAMES, "A", ("A",), (), 1),
    )
    record = PaperRecord("Q.pdf", "K.pdf", "accepted", None, "", Declared(None, None), len(items), items)
    population = printed_items([("100-1-1", record)])
    grounds = {2: Ground.NEEDS_EARLIER_QUESTION, 3: Ground.EARLIER_NOT_NEEDED, 5: Ground.STANDS_ALONE}
    verdicts = [
        Verdict(1, each.name, each.text, ("kept:rest",), (grounds[each.item.q_no],))
        for each in population
        if each.item.q_no in grounds
    ]
    found = figures(population, Record((Round(1, 1, 1, 1, {}),), tuple(verdicts)), 1)
    shares = {name: (share.stems, share.proposed) for name, share in found.sets.items()}
    assert list(shares.values())[:3] == [(1, 1), (1, 0), (1, 1)]
    assert [(lead.item, lead.right) for lead in found.leads] == [("100-1-1 Q5", False)]
    assert found.kept == 2
