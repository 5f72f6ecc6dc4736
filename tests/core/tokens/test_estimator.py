"""The estimate stays near what a tokenizer counts, in every script, and below the bytes of the text."""

from __future__ import annotations

import base64
import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.tokens import EstimatingCounter, counter_for

CHANCE = random.Random(20)

ENGLISH = """The migration ran for forty minutes and then stopped, because the disk was full. We freed some space,
restarted it from the last checkpoint, and it finished before noon. Nobody noticed anything except the people who read
the dashboards. Next time we should reserve twice the size of the largest table before we begin, and tell support about it."""
CODE = '''class Ledger:
    """Keeps what was spent, by day."""

    def __init__(self, limit: float = 10.0) -> None:
        self._spent: dict[str, float] = {}
        self.limit = limit

    def add(self, day: str, amount: float) -> bool:
        if amount < 0:
            raise ValueError(f"amount must not be negative, got {amount!r}")
        total = self._spent.get(day, 0.0) + amount
        if total > self.limit:
            return False
        self._spent[day] = total
        return True

    def report(self):
        return "\\n".join(f"{day}: {spent:>8.2f}" for day, spent in sorted(self._spent.items()))
'''
ROWS = [
    {
        "id": i,
        "customer": CHANCE.choice(["Ada", "Grace", "Barbara"]),
        "total": round(CHANCE.uniform(1, 900), 2),
        "paid": i % 3 == 0,
    }
    for i in range(60)
]
SAMPLES = {
    "English": ENGLISH,
    "code": CODE,
    "JSON": json.dumps(ROWS),
    "JSON, compact": json.dumps(ROWS, separators=(",", ":")),
    "JSON, indented": json.dumps(ROWS, indent=2),
    "CSV": "\n".join(f"{row['id']},{row['customer']},{row['total']},2026-03-{row['id'] % 28 + 1:02d}" for row in ROWS),
    "hex": CHANCE.randbytes(1500).hex(),
    "base64": base64.b64encode(CHANCE.randbytes(1500)).decode(),
    "log": "\n".join(
        f"2026-03-01 10:{i:02d}:07,{CHANCE.randrange(1000):03d} WARN [pool-{i % 4}] c.acme.OrderService took {i * 37} ms"
        for i in range(60)
    ),
    "Chinese": (
        "服务器昨天晚上突然停止响应，我们花了两个小时才找到原因。原来是磁盘空间不足，"
        "日志文件太大了。请大家以后每周检查一次，并且及时删除旧的备份。"
    ),
    "Japanese": (
        "昨夜サーバーが突然応答しなくなり、原因を見つけるのに二時間かかりました。"
        "ログファイルが大きすぎて、ディスクの空き容量がなくなっていたようです。"
    ),
    "Korean": (
        "어젯밤 서버가 갑자기 응답하지 않아 원인을 찾는 데 두 시간이 "
        "걸렸습니다. 로그 파일이 너무 커서 디스크 공간이 부족했던 것 같습니다."
    ),
    "Russian": (
        "Вчера вечером сервер внезапно перестал отвечать, и мы два часа искали причину. Оказалось, "
        "что на диске не осталось свободного места."
    ),
    "Arabic": (
        "توقف الخادم فجأة عن الاستجابة مساء أمس، واستغرق العثور على السبب ساعتين. يبدو أن ملفات "
        "السجل كانت كبيرة جدا فامتلأ القرص."
    ),
    "Hebrew": ("אתמול בערב השרת הפסיק פתאום להגיב, ולקח לנו שעתיים למצוא את הסיבה. הדיסק היה מלא בקבצים ישנים."),
    "Hindi": ("कल शाम सर्वर ने अचानक काम करना बंद कर दिया और कारण खोजने में दो घंटे लगे। डिस्क पुरानी फ़ाइलों से भर गई थी।"),
    "Greek": ("Χθες το βράδυ ο διακομιστής σταμάτησε ξαφνικά να απαντά και χρειάστηκαν δύο ώρες για να βρούμε την αιτία."),
    "Thai": ("เมื่อคืนนี้เซิร์ฟเวอร์หยุดตอบสนองกะทันหัน และเราใช้เวลาสองชั่วโมงกว่าจะพบสาเหตุ"),
    "German": (
        "Gestern Abend antwortete der Server plötzlich nicht mehr, und wir suchten zwei Stunden "
        "nach der Ursache: zu große Protokolldateien."
    ),
    "Polish": (
        "Wczoraj wieczorem serwer nagle przestał odpowiadać i przez dwie godziny szukaliśmy przyczyny. Zabrakło miejsca na dysku."
    ),
    "emoji": "🚀🔥 ship it 🎉🎉 👩🏽‍💻 fixed the 🐛 and 🧪 passed ✅ 😂😂😂 🇪🇺 ❤️ 👍🏿",
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_estimate_is_near_the_count_of_a_tokenizer(sample: str) -> None:
    text = SAMPLES[sample]
    ratio = EstimatingCounter().count(text) / counter_for().count(text)
    assert 0.75 <= ratio <= 2.6, f"{sample}: {ratio:.2f} times the count"


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_estimate_is_near_the_count_for_short_pieces_too(sample: str) -> None:
    text, estimate, exact = SAMPLES[sample], EstimatingCounter(), counter_for()
    parts = [text[start : start + 40] for start in range(0, len(text), 40)]
    ratio = sum(map(estimate.count, parts)) / sum(map(exact.count, parts))
    assert 0.75 <= ratio <= 2.6, f"{sample}: {ratio:.2f} times the count"


@given(st.text(st.characters(), max_size=300) | st.text(st.sampled_from("a A.0\n日é\ud800\U0001f600-"), max_size=300))
@settings(deadline=None)
def test_an_estimate_lies_between_one_and_the_bytes_of_the_text(text: str) -> None:
    count = EstimatingCounter().count(text)
    assert min(1, len(text)) <= count <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("unit", ["word ", "a", " ", "\n", "-", "é日", "\ud800", "\U0002a6d0", "\U000e0041", '{"k":1}', "\0"])
def test_a_huge_text_is_estimated_in_linear_time(unit: str) -> None:
    text = unit * (5_000_000 // len(unit))
    started = time.process_time()
    count = EstimatingCounter().count(text)
    assert time.process_time() - started < 15
    assert 0 < count <= len(text.encode("utf-8", "surrogatepass"))


def test_an_estimate_says_that_it_is_one() -> None:
    assert EstimatingCounter().name == "estimate"
    assert EstimatingCounter().exact is False
