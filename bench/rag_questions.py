"""Natural questions over the Formosa windows, with the words that their right windows hold. No text of the corpus.

Written for bench/rag.py. A window is right when it is of the named article and holds the answer and the second word
under folding, which the measurement checks before it counts: a question without a right window stops it.
"""

from __future__ import annotations

QUESTIONS: tuple[tuple[str, str, str, str], ...] = (
    ("台灣最高峰的海拔是幾公尺？", "3,952", "最高", "Geography/玉山.md"),
    ("誰執導了電影《牯嶺街少年殺人事件》？", "楊德昌", "牯嶺街少年殺人事件", "People/楊德昌.md"),
    ("〈望春風〉的作曲者是誰？", "鄧雨賢", "望春風", "People/鄧雨賢.md"),
    ("台灣第一位諾貝爾化學獎得主是哪位學者？", "李遠哲", "諾貝爾", "People/李遠哲.md"),
    ("創辦台積電的人是誰？", "張忠謀", "台積電", "People/張忠謀.md"),
    ("輝達的執行長在台灣哪個城市出生？", "台南", "出生", "People/黃仁勳.md"),
    ("二二八事件是哪一年發生的？", "1947", "事件", "History/二二八事件.md"),
    ("美麗島事件發生在哪個城市？", "高雄", "事件", "History/美麗島事件.md"),
    ("台北101在哪一年失去世界最高大樓的頭銜？", "2010", "最高", "Geography/台北101.md"),
    ("女王頭在哪個地質公園？", "野柳", "女王頭", "Geography/野柳.md"),
    ("太陽花學運的學生占領了哪個機關？", "立法院", "佔領", "Society/太陽花學運.md"),
    ("注音符號總共有幾個？", "37", "注音", "Culture/注音符號.md"),
    ("在台東賣菜捐款助人的是哪位女士？", "陳樹菊", "捐", "People/陳樹菊.md"),
    ("2018年打破羽球單打世界第一週數紀錄的台灣選手是誰？", "戴資穎", "世界第一", "People/戴資穎.md"),
    ("只分布在大甲溪上游的國寶魚叫什麼？", "櫻花鉤吻鮭", "大甲溪", "Nature/櫻花鉤吻鮭.md"),
    ("台灣目前有幾座國家公園？", "9", "國家公園", "Nature/國家公園.md"),
    ("創立淡水女學堂與偕醫館的傳教士是誰？", "馬偕", "女學堂", "People/馬偕.md"),
    ("台灣文化協會的創辦人是哪位醫師？", "蔣渭水", "文化協會", "People/蔣渭水.md"),
    ("寫《裨海紀遊》的清代旅人是誰？", "郁永河", "裨海紀遊", "People/郁永河.md"),
    ("PTT是誰創立的？", "杜奕瑾", "PTT", "People/杜奕瑾.md"),
    ("翠玉白菜收藏在哪座博物館？", "故宮", "翠玉白菜", "Culture/國立故宮博物院.md"),
    ("蘭嶼的原住民是哪一族？", "達悟", "蘭嶼", "Nature/蘭嶼生態系.md"),
    ("台灣的統一發票從哪一年開始？", "1951", "統一發票", "Economy/發票.md"),
    ("台灣垃圾車播放的是哪位作曲家的曲子？", "貝多芬", "給愛麗絲", "Lifestyle/台灣垃圾車音樂.md"),
    ("小說《台北人》的作者是誰？", "白先勇", "台北人", "People/白先勇.md"),
    ("拿下威尼斯金獅獎的《愛情萬歲》是誰拍的？", "蔡明亮", "愛情萬歲", "People/蔡明亮.md"),
    ("舉重奪下奧運金牌的阿美族女選手是誰？", "郭婞淳", "阿美族", "People/郭婞淳.md"),
    ("清法戰爭時法軍在哪裡登陸北台灣？", "基隆", "登陸", "History/清法戰爭.md"),
    ("奇美實業的創辦人是哪位企業家？", "許文龍", "奇美", "People/許文龍.md"),
)
"""Question, answer, what the window must speak of, article."""
