"""The words of a card for the reasons that a build counts: what each exclusion and rejection is called, zh and en.

The names are the exam track's closed vocabularies; this package does not import them, so a test holds the two equal.
Source of the wording: the published card of tw-roc-constitution-bench ("Excluded") and the design, section 3.
"""

from __future__ import annotations

EXCLUSIONS: dict[str, tuple[str, str]] = {
    "multi_select": ("複選題", "Multi-select items"),
    "voided": ("廢題（一律給分）", "Voided items (everybody credited)"),
    "credited_unless_blank": ("除未作答者外均給分", "Credited to everybody who answered"),
    "several_answers_accepted": ("有多個答案給分", "Several answers accepted"),
    "remark_unread": ("更正備註無法判讀", "Correction remark not understood"),
    "not_four_choice": ("非四選一", "Not in four-choice form"),
    "identical_options": ("選項相同", "Two options with the same text"),
    "not_text": ("選項或題幹非文字", "Stem or options are not text"),
    "english": ("英文題（題幹無中文）", "English items (no Chinese in the stem)"),
    "figure": ("需要看圖或表", "Items that refer to a figure or table"),
    "follow_up": ("題組後續題（承上題）", "Follow-up items of a question group"),
    "passage_group": ("閱讀題組", "Items that depend on a printed passage"),
    "swallowed_text": ("選項吞掉相鄰文字", "An option swallowed the text after it"),
    "displaced_stem": ("題幹被表格殘文擠開", "Stem displaced by table debris"),
    "unmapped_glyph": ("含未對照的造字", "Unmapped private-use glyph"),
    "conflicting_keys": ("重刊題答案互相矛盾", "Republished with conflicting keys"),
    "in_legal_benchmark_v2": ("已收錄於 tw-legal-benchmark-v2", "Already in tw-legal-benchmark-v2"),
    "in_tmmlu_plus": ("已收錄於 TMMLU+", "Already in TMMLU+"),
    "maintainer_excluded": ("維護者排除（附證據）", "Excluded by a maintainer, with evidence"),
}

REJECTIONS: dict[str, tuple[str, str]] = {
    "not_a_pdf": ("不是 PDF", "Not a PDF"),
    "no_text_layer": ("沒有文字層（掃描檔）", "No text layer (a scan)"),
    "encrypted": ("加密", "Encrypted"),
    "no_questions": ("讀不到題目", "No questions found"),
    "count_mismatch": ("題數與宣告不符", "Count differs from the declared one"),
    "key_incomplete": ("答案不完整", "Key incomplete"),
    "readers_disagree": ("兩種讀法結果不一", "Two readers of the key disagree"),
    "numbering_broken": ("題號不連續", "Numbering is not 1..N"),
    "options_incomplete": ("選項不完整", "Options incomplete"),
    "pair_mismatch": ("試題與答案不是同一份", "Paper and key do not belong together"),
    "too_large": ("檔案過大", "Too large"),
    "active_content": ("內含程式或附件", "Holds a script, an action or an attachment"),
}

CHECKS: dict[str, tuple[str, str]] = {
    "row_contract": ("欄位契約", "Row contract"),
    "rows_match_records": ("逐題與解析紀錄一致", "Rows match the parse records item by item"),
    "answer_position": ("答案位置偏斜", "Answer-position skew"),
    "residual_duplicates": ("殘留重複", "Residual duplicates"),
    "surviving_english": ("漏網英文題", "Surviving English items"),
    "merged_stems": ("合併題幹", "Merged stems"),
    "csv_mirrors_jsonl": ("CSV 與 JSONL 逐欄一致", "CSV mirrors JSONL field by field"),
    "key_consistency": ("重刊題答案一致", "Key consistency across republished items"),
    "accounting_closes": ("帳目相符", "Accounting closes"),
}
"""The blocking checks of a data set, in the order in which they run and are shown."""
