"""The wordings by which a stem points at what its reader does not see, and an option at the other options.

What belongs here: patterns, one line a kind, each with the look-alikes that it must leave. What does not: the screens
that use them (screens.py). The patterns are linear: no repetition holds another one.
Source: the design, "Formosa", and wordings written without a look at the patterns; docs/formosa.md ("Screens") says how
many were seen before a pattern was changed for them, tests/unit/formosa/test_phrases.py holds what is seen now.
"""

from __future__ import annotations

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_CLAUSE = r"(?:^|[，,、。：:])"
_THIS = "(?:這[一個則段篇些份項]?|此[一則段篇份項]?|該[則段篇份項]?)"
_WORK = "(?:文章|文本|原文|課文|短文|選文|引文|內文|全文|篇章|報導|題幹|訪談|材料)"
"""Words for a text that somebody lays before a reader."""
_TEXT = f"(?:{_WORK}|資料|資訊|訊息|內容|敘述|描述|段落|文字|說明|紀錄|案例|段話)"
"""The same, and words that mean such a text only beside "according to" or "this"."""
_CULTURE = "(?!化|學|明|藝|獻|物|武|官|青|史|創|人|山|壇|教|字|書|旦)"
"""文 goes on as another word: 日本文化, 歷史上文人."""

OPENING = _any(
    "他|她|它|牠|祂|這",
    "那(?:位|個|些(?!年)|座|場|種|次|時|裡|一|篇|部|本|條|間|家|年|天|件|隻|名|款|首|項|段)",
    "此(?!起彼落|時此刻)",
    "該(?!隱|死|不該)",
    "其(?!中|他|餘|實)",
    "本(?:校|館|區|鄉|鎮|縣|市|村|書|片|劇|店|公司|團|黨|案|島(?!人)|地(?!人)|寺|廟|宮|園|站|部落|法|品種|作品|人(?!民))",
    f"(?:下列)?(?:關於|有關|對於|針對|對){_THIS}(?!隱|死)",
    "(?:兩|二|三)(?:人|者)(?!行|以)",
    "前者|後者|當時的",
    "被?(?:提到|提及)的",
)
"""How a stem opens (`match`) that leans on a sentence before it."""

POINTING = _any(
    rf"(?<![日基版資劇課樣根書繪譯古法》〉])本(?:文{_CULTURE}|篇|段)",
    "(?<![史地山島海線》〉])上述(?!說|職|及)|前述|如(?:前|上)所述",
    rf"(?<![史以地島海線])(?:上文|下文){_CULTURE}|前文(?:提|所|中)|(?:該文|此文){_CULTURE}",
    "文意|題幹|承上|[由綜]上(?:可|所)|(?:綜合|根據)(?:上面|以上|前面)",
    rf"{_THIS}(?:{_WORK}|案例|段話)",
    "[這此該那]段(?:文字|話|敘述|描述|內容|引文)",
    rf"(?:{_CLAUSE}|在|依|據|照|從)文(?!中[街路里])中",
    "(?:短文|文章|文本|選文|內文|課文)(?:所[列提述]|對|在介紹)|(?:資料|文獻|報導)[中裡]所?(?:說|指|提)",
    f"(?:短文|文章|文本|選文|內文|課文|資料|段落)[中裡](?:所|列|提|沒|並|曾|未|有沒有|的敘述)|(?:在|依|據|照|從|{_CLAUSE})(?:文章|資料|段落)中",
    "(?:根據|依據|依照|依|按照|按|參照|參考|閱讀|綜合)(?:所?(?:提供|給定|附上|給|附)的?|題目的|[上前下]面的?|[以如]上的?"
    rf"|[上前下]列的?|[上前]述的?|{_THIS}|參考|閱讀|背景|本){{0,2}}{_TEXT}(?!會|化|學|庫|館|法|科)",
    rf"{_CLAUSE}(?:據|從|由|在)?(?:[以如]上|[上前]列|[上前]面的?|{_THIS}|所附)?{_WORK}(?:所|[中裡]|可|來|提|的(?:敘述|描述|觀點|看法)|指出|顯示|表示|引用)",
    rf"{_CLAUSE}(?:據|從|由|在)(?:以上|上列|{_THIS}|所附){{1,2}}{_TEXT}(?:所|中|裡|可|來|提|的)",
    rf"{_CLAUSE}(?:請問)?(?:[上前]面|以上|[上前]列|上方)(?:所?提|所述|這|那|的?{_TEXT})",
    "(?<![的位名])作者(?:認為|指出|提到|提及|描述|主張|強調|寫道|如何|以|用|說|覺得|引用|想|對|在(?:文|第)|的(?:觀點|看法|立場|主張|態度))",
    "(?<![的位名])(?:筆者|受訪者|講者|敘述者|說話者)",
)
"""What in a stem (`search`) points at a text, or at one who wrote or spoke it, that the reader does not see."""

LOCAL = _any(
    r"策展(?:觀點|人筆記)|(?:30|三十)\s*秒概覽|Taiwan\.md",
    "本[頁節章]|[本該此這](?:個|則)?(?:條目|詞條|網頁)|[本該此]段落|這個段落[中裡]|本(?:資料|文件)|附錄|最後一[段節]|[上下左右][方側](?:的)?(?:地圖|圖|表|照片)|一節(?:之下|中|裡|提|的)",
    "副標題|[小子次]標題|小標(?!準)|小節|章節|註腳|腳註|註釋|參考(?:資料|文獻)|延伸閱讀|外部連結",
    "資訊框|摘要框|概覽框|側欄|頁尾|頁首|留言區|投影片|目錄(?:[中裡]|列)|摘要(?:[中裡]|提|框)|導言|前言(?:[中裡]|提)",
    "最後(?:一次)?(?:更新|編輯|修訂)(?:時間|日期|於|是|的)|文[末首](?!街)",
    r"第(?:[一二三四五六七八九十\d]+|幾)(?:段(?!賽|航)|個?段落|頁|小節)|(?:哪|幾)一?個段落|段落(?:是用來|主要|以)",
    "(?:文章|條目|詞條|網頁|頁面|全文|全篇|內文|文件)(?:右側|左側|下方|上方)?的?"
    "(?:開頭|結尾|標題|作者|第|共|分為|最後|末|起首|一開始|引用|附|列|收錄|提|使用|主旨|重點|資訊|表格|最適合)|全篇",
    rf"{_CLAUSE}在?(?:開頭|結尾|開場|結語|引言)(?:提|寫|以|引|處|部分|段|中|的)|(?:開頭|結尾)(?:提到|寫道)",
    rf"{_CLAUSE}(?:根據|依|如|由|從|在)?(?:[下上左右附]圖|[下上左右附]表|圖片|照片|插圖|圖表|表格|圖|表)(?:[中裡內]|所示|所呈|來源|說明|下方|第)",
    rf"{_CLAUSE}(?:根據|依|如|由|從|在)?[圖表]\s?[一二三四五六七八九十\d]+(?:[中裡]|所|的|呈現|顯示|是|，|,)",
)
"""What in a stem (`search`) asks about a document instead of Taiwan."""

_LETTER = "[A-D甲乙丙丁①②③④]"
_JOINED = r"(?:和|與|及|、|,|或|跟|&|\+)"
_BOTH = "(?:皆|都|均|全|全部|全都|通通)"
_TRUE = "(?:不|未)?(?:是|非|對|錯誤?|正確|有|可|可能|有可能|成立|為真|符合|屬實|適當|適用)"
_GROUP = "(?:(?:以上|上述|前述|[上前]列|這|此|其他|各)?(?:[二兩三四幾]者|前?[二兩三四]個?項?者?|各項|答案|敘述|些)?)"

COMBINED = _any(
    "選項",
    f"^{_GROUP}{_BOTH}{{1,2}}{_TRUE}$|^(?:上述|前述)?全部$|^前[二兩三][者項個]$|^[二兩三]者(?:兼[有備具]?|皆|都|均)(?:$|即)",
    r"^以上(?:$|[皆都全均兩二三四各所敘諸任答\d])",
    f"^(?:只有|僅有?|只|唯)?{_LETTER}(?:{_JOINED}{_LETTER}){{1,3}}(?:[二兩三]者)?{_BOTH}?(?:{_TRUE})?$|^{_LETTER}{{2,4}}{_BOTH}{_TRUE}$",
    r"^(?:只有|僅有?|只)\d(?:和|與|及|、|,)\d(?:正確|對)?$",
    "^(?:沒有|無|並無)(?:一個|任何|一項)?(?:的?(?:正確|以上|適當))?的?(?:答案|一項)$",
    "^(?:無法|不能|難以)(?:從文中|由文章)?(?:判斷|得知|確定|判定)|^(?:資訊|資料)不足|^(?:文中|資料中|文章)?(?:未|沒有)(?:提及|提到|說明)",
    "^(?:all|none|any|both|neither)of|^[a-d]and[a-d]|^botha|^cannotbe|^notenough|^notmentioned",
)
"""An option (`search` in the folded text without brackets and spaces) that speaks of the options or of the text."""
