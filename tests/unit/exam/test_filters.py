"""Every text rule on planted positives (must fire) and natives (must not), all written for this file."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from opentwbench.exam.filters import RULES, explain, identical_options, in_order, text_exclusions
from opentwbench.exam.fingerprint import fold_exact, fold_loose
from opentwbench.exam.model import EXCLUSION_ORDER, Exclusion

FOUR = {"A": "第一種說法", "B": "第二種說法", "C": "第三種說法", "D": "第四種說法"}
ENGLISH_WORDS = {"A": "gather", "B": "scatter", "C": "borrow", "D": "lend"}


def four(*texts: str) -> dict[str, str]:
    return dict(zip("ABCD", texts, strict=True))


def fires(rule: Exclusion, question: str, options: dict[str, str] | None = None) -> str:
    return RULES[rule](question, FOUR if options is None else options)


FIGURES = """
如下圖所示，橋墩承受之最大彎矩為何？
若電路如圖，則流經電阻之電流為何？
某生測得之聽力如附圖，其聽損類型最可能為何？
患者皮疹（如圖一）最可能之診斷為何？
其切片結果如圖A及圖B，診斷為何？
下圖為某河川之斷面，何處流速最大？
右圖之樹狀結構，其前序走訪為何？
依右圖，甲點之電位為何？
左圖為治療前，右圖為治療後，差異何在？
上圖中何者為輸入端？
根據上圖，下列何者正確？
附圖所指之構造為何？
據附圖判斷，最可能之病因為何？
圖中手術方式適用於何種病人？
圖（一）之桿件何者受壓？
請問圖一中之甲為何？
由圖2可知，需求彈性為何？
圖示其左側膝關節之變化，何者錯誤？
圖為某院之動線配置，何處違反規定？
箭頭所指之構造為何？
白色箭號所示者為何種結構？
電腦斷層影像顯示如下，最可能之診斷為何？
心電圖呈現如下變化。應立即給予何種處置？
胸部X光片如下，下列敘述何者正確？
根據此張MRI影像，病灶位於何處？
依此X光片，可見何種骨折？
根據這張心電圖，其心律為何？
如眼底照片所示，最可能之診斷為何？
右述波形圖所代表之心律為何？
記錄如右下之圖形，其週期為何？
根據下列圖形，斜率最大者為何？
依下列圖表，甲公司之本益比為何？
下列圖形所示之區域面積為何？
針對以下的流程圖，敘述何者正確？
根據所附的生長曲線，該嬰兒應如何分類？
依下表，該公司之流動比率為何？
某公司資料如下表，其存貨週轉率為何？
根據下表資料計算，平均成本為何？
由上表可知，敏感度為何？
下列表格為某班之成績，其中位數為何？
如附表，其標準差為何？
參照附表計算應納稅額為何？
表一所列者，何者為固定成本？
依據表（二），邊際效用為何？
試以下表為例，計算淨現值為何？
依圖，電路之等效電阻為何？
由圖可知，該族群之成長方式為何？
根據圖示，下列敘述何者正確？
見圖，電壓為何？
此圖為何種波形？
該圖顯示之心律為何？
這張心電圖最可能的診斷為何？
此影像最可能之診斷為何？
下面的圖形為某函數之圖形，何者正確？
下方圖形之面積為何？
以下為某病人之心電圖，最可能的診斷為何？
下列X光片顯示何種骨折？
心電圖如下：最可能之診斷為何？
圖內標示A之構造為何？
圖上甲所示之區域為何？
題圖中之電流為何？
下列附圖為何種構造？
如右所示之電路，其輸出電壓為何？
顯微鏡下所見如右，診斷為何？
照片所示之病灶，最可能為何？
依下列資料表，銷貨毛利為何？
某公司之損益資料列表如下，其淨利為何？
根據附件，何者正確？
下列地圖中，甲地為何？
曲線圖中A點代表何意？
A圖與B圖分別為何種波形？
圖甲與圖乙之差異為何？
圖2a為何種構造？
圖1-1所示者為何？
以下流程圖之輸出為何？
下列流程圖執行後，輸出值為何？
下列電路之輸出電壓為何？
下列結構式為何種化合物？
下列標誌之意義為何？
承上圖，其電流為何？
星號處所示為何種構造？
""".strip().splitlines()

NO_FIGURES = """
下列何者不是圖書館的基本功能？
我國圖書分類法之類目如何設置？
行為人主觀上須有不法所有之意圖，下列何者正確？
公務員圖利罪之敘述，下列何者正確？
甲企圖逃逸，警察得為何種處置？
運動心電圖檢查之禁忌為何？
心電圖出現ST節段上升，最可能之診斷為何？
版圖擴張與下列何者有關？
讀者因讀錯地圖而迷路，此屬何種風險？
天下圖書何其多，下列何者為類書？
線上圖書館之館際合作稱為何？
私下圖利他人，應負何種責任？
下列圖書何者屬於參考工具書？
資料流程圖（DFD）中的箭頭代表何種意義？
關於類別圖的敘述，類別圖中的物件具有何種性質？
下列何種圖形最適合呈現時間序列？
下列圖表何者最適合呈現百分比？
例如圖書、期刊等館藏之徵集，稱為何？
例如圖片、影音等著作，其保護期間為何？
著作如圖片或照片者，應如何標示？
請問以畫圖說明之方法稱為何？
建築師應檢附圖說，向何機關申請？
審查人員依所附圖說審查，其期限為何？
稅率附表應由何機關公告？
依毒品條例附表所定之級別，下列何者正確？
罰鍰基準如裁罰標準附表規定者，如何適用？
意圖一旦遭發現，行為人應如何？
貪圖一時之便者，違反何種原則？
影像學檢查首選為何？
警方依該照片循線查獲，其證據能力如何？
依監視器影像逮捕嫌犯，須具備何種要件？
堪為天下表率者，其德行為何？
甲之母為乙之姑，甲乙互為表兄弟，其親等為何？
下列表示方式何者正確？
左下腹痛之病人，最應懷疑何種疾病？
資產負債表中何者屬流動資產？
股淺動脈之上表淺分支為何？
議會之下表決程序為何？
根據此MRI診斷出枕葉梗塞，最可能缺損何種視野？
依此檢查結果，下列處置何者適當？
下列圖騰何者屬排灣族？
以圖像表示資料之優點為何？
甲持圖章代乙用印，效力為何？
測量圖之A、B部分分歸甲乙所有，性質為何？
箭頭、石斧等出土器物屬何種文化？
檢查結果如下：Na 128、K 5.9，應先給予何種處置？
實體關係圖（ERD）之菱形代表什麼？
公務員依圖利罪論處時，其要件為何？
承包商應依圖說施工，違者應如何處理？
甲圖為自己不法之利益，應論何罪？
甲圖中飽私囊，應負何責？
圖中飽私囊者，應負何責？
依圖書館法之規定，下列何者正確？
由圖書館員提供之服務，下列何者錯誤？
繪製心電圖時，此心電圖之導程應如何放置？
有關類別圖之敘述，該圖中之物件代表何意？
此影像檢查之禁忌為何？
下列標誌之設置機關，何者正確？
下列電路何者可作為整流器？
下列結構式何者為酯類？
以下圖形何者最適合呈現比例？
下列流程圖之符號，何者代表決策？
下列流程圖之敘述，何者正確？
下列地圖何者最適合標示人口密度？
依附件之規定，下列何者錯誤？
心電圖如下：P波消失、QRS波不規則。診斷為何？
如左右兩造合意，法院應如何處理？
行為人意圖乙之財物而行竊，成立何罪？
""".strip().splitlines()


def test_figure_rule_fires_on_every_pointer_and_on_no_mention() -> None:
    missed = [question for question in FIGURES if not fires(Exclusion.FIGURE, question)]
    over = {question: evidence for question in NO_FIGURES if (evidence := fires(Exclusion.FIGURE, question))}
    assert (len(FIGURES), missed) == (81, [])
    assert (len(NO_FIGURES), over) == (68, {})


def test_figure_rule_sees_through_a_line_break_and_shows_its_evidence() -> None:
    assert fires(Exclusion.FIGURE, "某電路如下\n圖所示，其電流為何？") == "如下圖"


def test_options_that_are_figure_labels_need_the_figure() -> None:
    assert fires(Exclusion.FIGURE, "下列何者正確？", four("圖A", "圖B", "圖C", "圖D")) == "圖A"
    assert not fires(Exclusion.FIGURE, "下列何者不屬之？", four("地圖", "版圖", "藍圖", "意圖"))


FOLLOW_UPS = """
承上題，應如何處置？
（承上題）甲應負何責？
承接上題，下列何者正確？
承前題，乙得如何救濟？
續上題，其稅額為何？
接續上題，利率為何？
呈上題，下列何者錯誤？
同上題，若利率上升，則債券價格如何？
上題中，若甲死亡，其效力為何？
如前題，法院應如何裁判？
依上題資料，淨利為何？
承上，若病人血壓下降，應如何？
承上述案例，丙之責任為何？
續前述，應如何處理？
承第3題，其時效為何？
依第12題之事實，丙得主張何權利？
上述病人最適當之處置為何？
前開契約之效力為何？
延續上題，若改採加速折舊，則淨利為何？
承上一題，何者為真？
承題12，何者正確？
承12題，何者正確？
依題31之資料，何者正確？
【承上題】何者正確？
同上，若改為乙，則何者正確？
上例中，若利率上升，價格為何？
沿用上題資料，何者正確？
延續上述個案，護理師應如何處理？
接續前述個案，何者正確？
依據上述資料，毛利為何？
根據以上資料，毛利為何？
此病人最可能之診斷為何？
該病患之後續處置為何？
關於該公司之敘述，下列何者正確？
這位患者應接受何種手術？
本案應由何法院管轄？
""".strip().splitlines()

NO_FOLLOW_UPS = """
下列何者為推論之前提？
契約有效之前提要件為何？
承上啟下之連接詞為何？
此種承先啟後之作用稱為何？
試題分析之難度指標為何？
下列題目何者屬開放式問題？
甲向乙借款未還，上述行為之效力為何？
某公司發行股票。前述股票之性質為何？
「上題」一詞於目錄學中指何？
承攬契約之報酬何時給付？
承租人優先承買權之性質為何？
同題異作之兩篇詩，其主旨為何？
第3項之規定，如何解釋？
提升上限題材多元化之目的為何？
一位病人突然昏迷，此病人最可能之診斷為何？
病人應享有之權利，下列何者正確？
甲公司解散，該公司之清算人為何人？
公司法所稱之關係企業為何？
本案判決與程序判決之區別為何？
以上皆是之選項，於命題時應如何處理？
上市公司之年報應記載何事項？
前例拘束原則，係指何者？
""".strip().splitlines()


def test_follow_up_rule_fires_on_every_chain_and_on_no_setup() -> None:
    missed = [question for question in FOLLOW_UPS if not fires(Exclusion.FOLLOW_UP, question)]
    over = {question: evidence for question in NO_FOLLOW_UPS if (evidence := fires(Exclusion.FOLLOW_UP, question))}
    assert (len(FOLLOW_UPS), missed) == (36, [])
    assert (len(NO_FOLLOW_UPS), over) == (22, {})


PASSAGES = [
    "請依下文回答第41題至第45題",
    "病人經急救後恢復意識。請回答下列第31題至第32題。31下列何者最適當？",
    "第37題至第40題為題組 Many people like tea.",
    "根據上文，下列敘述何者正確？",
    "依據本文，作者最可能的身分為何？",
    "本文主旨為何？",
    "上文的寓意與下列何者相近？",
    "下列何者最符合本文意旨？",
    "閱讀下文，選出正確的選項：",
    "According to the passage, which of the following is true?",
    "What is the best title for this article?",
    "What does the author imply in the second paragraph?",
    "According to the dialogue, what will they do?",
    "根據上述文章，何者正確？",
    "根據文章內容，何者正確？",
    "依據引文，何者正確？",
    "本詩之主旨為何？",
    "作者在文中的態度為何？",
    "第二段的主旨為何？",
    "題組第1題至第3題",
    "31-33為題組",
    "試回答下列二題",
]
NO_PASSAGES = [
    "「知之者不如好之者，好之者不如樂之者。」根據上文，下列何者正確？",
    "（《論語．雍也》）「智者樂水，仁者樂山。」本文旨在說明什麼？",
    "閱讀下文，選出正確選項：「山不在高，有仙則名；水不在深，有龍則靈。」",
    "憲法本文規定總統任期幾年？",
    "民法第184條第1項本文之保護客體為何？",
    "依憲法本文及增修條文，監察委員如何產生？",
    "與本文規定不同者，從其但書，此為何種條款？",
    "超本文標示語言（HTML）之用途為何？",
    "行政處分之公文中，何者為必要記載事項？",
    "下列何者是短文寫作的要點？",
    "依法條文義解釋，下列何者正確？",
    "The committee decided to _____ the meeting.",
    "「松下問童子，言師採藥去。」根據引文，何者正確？",
    "獨在異鄉為異客，每逢佳節倍思親。此詩主旨為何？",
    "文章分段之原則為何？",
    "第二段考試之範圍為何？",
    "The second reading of a bill takes place in which body?",
]


def test_passage_rule_fires_on_borrowed_passages_and_on_no_stem_with_its_own() -> None:
    missed = [question for question in PASSAGES if not fires(Exclusion.PASSAGE_GROUP, question)]
    over = {question: evidence for question in NO_PASSAGES if (evidence := fires(Exclusion.PASSAGE_GROUP, question))}
    assert (len(PASSAGES), missed) == (22, [])
    assert (len(NO_PASSAGES), over) == (17, {})


def test_a_cloze_blank_is_a_passage_item_and_not_a_reading_fault() -> None:
    assert text_exclusions("", ENGLISH_WORDS) == (Exclusion.PASSAGE_GROUP,)
    assert text_exclusions("", four("ところが", "しかも", "だから", "ただし")) == (Exclusion.PASSAGE_GROUP,)
    # a Chinese question without its stem is our fault until somebody has looked
    assert text_exclusions("", FOUR) == (Exclusion.NOT_TEXT,)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Choose the word closest in meaning.", True),
        ("He _____ to school every day.", True),
        ("Wählen Sie das richtige Wort.", True),
        ("下列何者可以抑制 ribonucleotide reductase 的活性？", False),
        ("PCR 的中文全名為何？", False),
        ("何謂 GDP？", False),
        ("12 + 5 = ?", False),
        ("", False),
    ],
)
def test_english_is_a_stem_with_latin_letters_and_no_chinese(question: str, expected: bool) -> None:
    assert bool(fires(Exclusion.ENGLISH, question, ENGLISH_WORDS)) is expected


def test_english_never_looks_at_the_options() -> None:
    assert not fires(Exclusion.ENGLISH, "下列何者為嘌呤核苷酸？", four("dATP", "dCTP", "dTTP", "dUTP"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (FOUR, False),
        ({**FOUR, "E": "第五種"}, True),
        ({letter: FOUR[letter] for letter in "ABC"}, True),
        ({}, True),
        ({"A": "甲", "B": "乙", "C": "丙", "E": "戊"}, True),
    ],
)
def test_four_choice_means_exactly_a_to_d(options: dict[str, str], expected: bool) -> None:
    assert bool(fires(Exclusion.NOT_FOUR_CHOICE, "下列何者正確？", options)) is expected


@pytest.mark.parametrize(
    ("question", "texts", "evidence"),
    [
        ("下列何者正確？", ("甲", "乙", "丙", "甲"), "A = D"),
        ("下列何者正確？", ("甲、乙", "丙", "甲，乙", "丁"), "A = C"),
        ("下列何者正確？", ("５％", "5 %", "6%", "7%"), "A = B"),
        ("下列何者正確？", ("臺北", "台北", "高雄", "臺南"), "A = B"),
        ("下列何者正確？", ("+1", "-1", "＋1", "0"), "A = C"),
        # natives: a sign, an operator or a mark inside a number makes another text
        ("函數之根為何？", ("+1", "-1", "±1", "1"), ""),
        ("何者正確？", ("10.5", "105", "1.05", "10:5"), ""),
        ("何者正確？", ("x<5", "x>5", "x≤5", "x≥5"), ""),
        ("何者正確？", ("1/2", "12", "1:2", "1-2"), ""),
        ("何者正確？", ("2(x+1)", "2x+1", "2x-1", "(2x)+1"), ""),
        ("何者為離子？", ("Ca²⁺", "Ca", "Cl⁻", "Cl"), ""),
        ("下列標點符號之使用，何者正確？", ("天冷，加衣。", "天冷加衣。", "天冷、加衣。", "天冷；加衣。"), ""),
        ("何者為關係運算子？", (">", "<", "=", "≠"), ""),
        ("何者正確？", ("mM", "MM", "Mm", "mm"), ""),
    ],
)
def test_identical_options(question: str, texts: tuple[str, ...], evidence: str) -> None:
    assert fires(Exclusion.IDENTICAL_OPTIONS, question, four(*texts)) == evidence


def test_empty_options_are_not_text_and_not_identical() -> None:
    assert text_exclusions("下列何者正確？", four("甲", "", "", "丁")) == (Exclusion.NOT_TEXT,)


@pytest.mark.parametrize("debris", ["", " ", "\n", "□", "■ ■", "____", "────", "- - -", "•••", "…………"])
def test_an_option_of_debris_is_not_text(debris: str) -> None:
    assert fires(Exclusion.NOT_TEXT, "下列何者正確？", {**FOUR, "C": debris}) == "option C without text"


@pytest.mark.parametrize("text", [">", "≤", "0", "-", "＋", "π", "；", "?", "1", "a", "°", "$", "→", "%", "③"])
def test_a_sign_as_option_is_text(text: str) -> None:
    assert not fires(Exclusion.NOT_TEXT, "下列何者為該符號？", {**FOUR, "C": text})


@pytest.mark.parametrize(
    ("stem", "expected"), [("", True), ("　", True), ("……", True), ("□□", True), ("何者？", False)]
)
def test_a_stem_needs_a_letter_or_number(stem: str, expected: bool) -> None:
    assert bool(fires(Exclusion.NOT_TEXT, stem)) is expected


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ((10, 12, 9, 110), True),  # took in the next question
        ((40, 45, 50, 200), True),  # twice beyond the percentile and four times its longest sibling
        ((40, 45, 50, 180), False),  # the same balance, not far enough beyond
        ((60, 12, 9, 10), False),  # unbalanced, and not long
        ((200, 190, 180, 210), False),  # just a long question
        ((156, 42, 28, 28), False),  # a sound law option of a real paper has these lengths
        ((245, 105, 85, 66), False),  # and so has this one
        ((95, 5, 5, 5), False),  # the percentile itself is not beyond it
        ((96, 5, 5, 5), True),
    ],
)
def test_swallowed_text_needs_length_and_imbalance(lengths: tuple[int, ...], expected: bool) -> None:
    options = four(*("文" * n for n in lengths))
    assert bool(fires(Exclusion.SWALLOWED_TEXT, "下列何者正確？", options)) is expected


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("，下列何者正確？", True),
        ("）之規定，應如何處理？", True),
        ("」一句中，何者為譬喻？", True),
        ("。甲應負何責？", True),
        ("小計", True),
        ("關於契約之解除，", True),
        ("下列何者為「", True),
        ("甲 12 5 8 乙 下列何者正確？", True),
        ("10 20 35 55 某公司之存貨評價，何者正確？", True),
        ("甲乙", True),
        ("「天」字之部首為何？", False),
        ("（甲）與（乙）之差異為何？", False),
        ("何者？", False),
        ("黃疸是：", False),
        ("《史記》之體例為何？", False),
        ("……，下列何者可填入？", False),
        ("何者為真", False),
        ("x = ?", False),
        ("12 人排成一列，共有幾種排法？", False),
        ("100 年 3 月修正之法律，何者正確？", False),
        ("甲 於 3 月 5 日 簽發支票，何者正確？", False),
        ("下列何者為真：", False),
    ],
)
def test_displaced_stem_begins_mid_sentence_or_asks_nothing(stem: str, expected: bool) -> None:
    assert bool(fires(Exclusion.DISPLACED_STEM, stem)) is expected


@pytest.mark.parametrize(
    ("texts", "evidence"),
    [
        (("甲說", "乙說", "丙說", "丁說關於契約之解除，下列何者正確？"), "option D ends by asking"),
        (("甲說", "乙說請問其效力為何？", "丙說", "丁說"), "option B ends by asking"),
        (("第一", "第二", "第三", "第四有關時效之敘述，何者錯誤："), "option D ends by asking"),
        (("甲說", "乙說", "丙說", "丁說行政處分之效力始於："), "option D ends by asking"),
        # natives: options that are questions, a verse that asks, a question quoted in the middle
        (("下列何者正確？", "何謂時效？", "為何中斷？", "如何計算？"), ""),
        (("何處是歸程？", "長亭更短亭", "平林漠漠", "寒山一帶"), ""),
        (("問當事人「請問貴姓？」後記明筆錄", "當庭宣示", "送達判決", "公告主文"), ""),
        (("不論為何均應登記", "無須登記", "視情形登記", "登記後公告"), ""),
    ],
)
def test_an_option_that_alone_ends_by_asking_took_in_a_stem(texts: tuple[str, ...], evidence: str) -> None:
    assert fires(Exclusion.SWALLOWED_TEXT, "下列何者正確？", four(*texts)) == evidence


def test_unmapped_glyph_names_the_code_point_wherever_it_stands() -> None:
    assert fires(Exclusion.UNMAPPED_GLYPH, "去氧尿\uea86核苷為何？") == "U+EA86"
    assert fires(Exclusion.UNMAPPED_GLYPH, "何者正確？", {**FOUR, "D": "\ufffd酸"}) == "U+FFFD"
    assert not fires(Exclusion.UNMAPPED_GLYPH, "①②③何者正確？㈠㈡", FOUR)


def test_every_rule_that_matches_is_given_in_precedence_order() -> None:
    found = text_exclusions("承上題，眼底檢查如附圖，何者正確？", {**FOUR, "E": ""})
    assert found == (Exclusion.NOT_FOUR_CHOICE, Exclusion.NOT_TEXT, Exclusion.FIGURE, Exclusion.FOLLOW_UP)
    assert list(explain("承上題，眼底檢查如附圖，何者正確？", FOUR)) == [Exclusion.FIGURE, Exclusion.FOLLOW_UP]


def test_order_is_the_vocabulary_s() -> None:
    assert in_order(reversed(EXCLUSION_ORDER)) == EXCLUSION_ORDER
    assert list(RULES) == [exclusion for exclusion in EXCLUSION_ORDER if exclusion in RULES]


SOUND = [
    ("依行政程序法規定，下列何者非屬行政處分？", FOUR),
    ("下列何者可以抑制 DNA polymerase 的活性？", four("dATP", "ATP", "ddATP", "AMP")),
    ("某商品之需求函數為 Q = 100 - 2P，均衡價格為何？", four("10", "20", "25", "50")),
    ("圖書館徵集館藏之原則，下列何者錯誤？", FOUR),
    ("甲意圖營利，誘使乙為性交易，應如何處斷？", FOUR),
    ("「學而時習之，不亦說乎？」句中「說」之意義為何？", four("喜悅", "說明", "遊說", "學說")),
    ("X 光檢查時，鉛衣的主要功能為何？", FOUR),
    ("憲法增修條文第2條，關於總統選舉之規定，何者正確？", FOUR),
]


@pytest.mark.parametrize(("question", "options"), SOUND)
def test_sound_questions_keep_every_rule_silent(question: str, options: dict[str, str]) -> None:
    assert explain(question, options) == {}


def test_the_quick_check_of_identical_options_decides_as_folding_does() -> None:
    draw = random.Random(7)
    pieces = ("台", "臺", "甲", "乙", "，", "。", "-", "+", "1", "１", " ", "a", "(")
    found = 0
    for _ in range(4_000):
        texts = ["".join(draw.choices(pieces, k=draw.randint(0, 3))) for _ in range(4)]
        folded = [fold_loose(text) or fold_exact(text) for text in texts]
        same = any(a and a == b for a, b in combinations(folded, 2))
        assert bool(identical_options("何者正確？", four(*texts))) is same, texts
        found += same
    assert 300 < found < 3_700
