"""Corrections are told in many languages, by shapes, and by a label that gets another value; ordinary sentences are none."""

from __future__ import annotations

import pytest

from lossless import Engine
from lossless.context.corrections import detect_correction, may_correct
from lossless.context.cues import LANGUAGES, has_cue, may_have_cue
from lossless.context.restating import labelled, restated, worth_comparing
from lossless_testdata import tau_conversations

CORRECTIONS = (
    "No, it was 42.",
    "That's not right.",
    "I said Tuesday!",
    "The price is wrong.",
    "Das stimmt nicht, es waren 12 Stück.",
    "Es sind nicht 11, sondern 12.",
    "Es waren 12 statt 11 Stück.",
    "Ich meinte Donnerstag.",
    "Nein, am Freitag.",
    "Das ist leider falsch.",
    "Da haben Sie sich verrechnet.",
    "C'est faux, le prix est de 40 €.",
    "Ce n'est pas ça.",
    "Je voulais dire jeudi.",
    "J'avais dit 12.",
    "Non, c'était mardi.",
    "12 au lieu de 11.",
    "pas 11 mais 12",
    "No es correcto.",
    "Quise decir el martes.",
    "Me equivoqué, son 12.",
    "No, son 12.",
    "12 en vez de 11",
    "Está mal la fecha.",
    "Está errado.",
    "Não é isso.",
    "Eu disse terça.",
    "Não, são 12.",
    "12 em vez de 11",
    "Me enganei no total.",
    "È sbagliato.",
    "Non è corretto.",
    "Ho detto martedì.",
    "Mi sono sbagliato.",
    "No, sono 12.",
    "12 invece di 11",
    "Это неверно.",
    "Я имел в виду вторник.",
    "Нет, во вторник.",
    "не 11, а 12",
    "Вы ошиблись.",
    "12 вместо 11",
    "不对,是三月。",
    "应该是12个",
    "说错了，是周二",
    "12，不是11",
    "不是周一而是周二",
    "違います。火曜日です。",
    "訂正します。12個です。",
    "11ではなく12です",
    "正しくは12です",
    "아니요, 화요일입니다.",
    "틀렸어요",
    "340 EUR -> 430 EUR",
    "The fee is ~~20~~ 25 EUR.",
    "Actually, the flight leaves at 9:40, not 8:40.",
    "the total is 20 and not 30",
)
ORDINARY = (
    "Book the flight at 9:40.",
    "Thank you, that is all.",
    "What is the weather in Oslo?",
    "Note the budget of 300 EUR.",
    "",
    "👍",
    "No, thanks.",
    "Nein, danke, das war alles.",
    "Non, merci.",
    "No, gracias.",
    "Não, obrigado.",
    "No, grazie.",
    "Нет, спасибо.",
    "Wir liefern nicht nur Tische, sondern auch Stühle.",
    "Ce n'est pas grave.",
    "No hay problema, reserve el vuelo.",
    "Não há pressa.",
    "Non è urgente.",
    "Это не так много.",
    "В логах ошибка 500.",
    "这个对不对？",
    "很不错了，谢谢",
    "我想订三张票",
    "AとBの違いは何ですか。",
    "間違いなく行きます。",
    "火曜日に三枚お願いします。",
    "서울 아니면 부산으로 갈게요.",
    "화요일에 두 장 주세요.",
    "Ich möchte am Dienstag um 10:00 nach Wien fliegen, zurück um 18:00.",
    "Je voudrais partir mardi à 9h40 et rentrer jeudi.",
    "Quiero dos habitaciones del 3 al 7 de mayo.",
    "Quero dois quartos de 3 a 7 de maio.",
    "Vorrei due camere dal 3 al 7 maggio.",
    "Хочу два номера с 3 по 7 мая.",
    "The meeting is 9:00 -> 10:00.",
    "upgrade from v1.2.3 to v1.3.0",
    "Oslo -> Rome, 2 adults",
    "def f(x) -> int: return 3",
    "Der Fehler tritt auf, wenn zwei Worker laufen.",
    "L'erreur apparaît depuis mardi.",
    "Hay un error en el registro.",
    "Há um erro no log.",
    "C'è un errore nel log.",
    "日志里有一个错误",
    "エラーが出ます。",
    "Is 42 not enough?",
    "The order is not 3 days late.",
)
LONG = "We looked at the export of the nightly job and found nothing unusual in the logs. " * 6


def test_corrections_are_told_in_the_languages_that_are_named() -> None:
    assert [text for text in CORRECTIONS if detect_correction(text) is None] == []
    assert [text for text in CORRECTIONS if not may_correct(text)] == [], "what is not looked at is not found"
    assert len(LANGUAGES) == 10


def test_ordinary_sentences_are_no_corrections() -> None:
    assert [text for text in ORDINARY if detect_correction(text) is not None] == []


def test_few_requests_of_real_conversations_are_taken_for_corrections() -> None:
    requests = [message["content"] for each in tau_conversations() for message in each["messages"] if message["role"] == "user"]
    found = [request for request in requests if detect_correction(request) is not None]
    assert len(requests) > 1_000
    assert len(found) <= 0.04 * len(requests), "about as many as customers of that airline contradict"
    assert [request for request in requests if has_cue(request) and not may_have_cue(request)] == []
    restating = [request for request in requests if worth_comparing(request)]
    assert len(restating) <= 0.01 * len(requests)


def test_a_label_with_another_value_replaces_the_one_before() -> None:
    def meant(now: str, *before: str) -> list[int]:
        return restated(worth_comparing(now), [(seq, labelled(text)) for seq, text in enumerate(before, 1)])

    assert meant("Deposit: 430 EUR", "The plan:\n- **Deposit:** 340 EUR\n- Rooms: 2", "Rooms: 2") == [1]
    assert meant("押金：430元", "押金：340元") == [1]
    assert meant("Abflug = 9:40", "Abflug = 8:40", "Abflug = 8:40") == [1, 2]
    assert meant("Deposit: 340 EUR", "Deposit: 340.00 EUR") == [], "the same, written otherwise"
    assert meant("Item: desk\nPrice: 30 EUR", "Item: chair\nPrice: 20 EUR") == [], "another record of the same form"
    assert meant("Price: 30 EUR", "Price: 20 EUR", "Price: 25 EUR") == [], "it changes all the time"
    assert meant("Note: see below", "Note: 12 EUR") == []
    assert meant("Order: A-17-X", "Order: A-16-X") == [], "an id names something else, it corrects nothing"
    assert worth_comparing("Deposit: 430 EUR\n" + "And so on. " * 60) == {}, "a long text is a document"


@pytest.mark.parametrize(
    "said", ["Kaution: 430 EUR", "Nein, die Kaution sind nicht 430, sondern 340 EUR.", "押金 Kaution: 340 → 430 EUR"]
)
@pytest.mark.also_sealed
def test_its_sources_are_shown_whatever_the_language(said: str) -> None:
    engine = Engine("sqlite://", window=8_000, background=False, load_plugins=False)
    thread = engine.thread("t")
    thread.append({"role": "user", "content": "Kaution: 340 EUR"}, compact=False)
    for turn in range(30):
        thread.append({"role": "user", "content": f"Step {turn}: {LONG}"}, compact=False)
        thread.append({"role": "assistant", "content": f"Done with {turn}. {LONG}"}, compact=False)
    assert thread.compact().changed
    thread.append({"role": "user", "content": said})
    (recall,) = [item for item in thread.context().items if item.kind == "recall"]
    assert "Kaution: 340 EUR" in recall.text
    thread.append({"role": "user", "content": "Weiter mit Schritt 31."})
    assert [item for item in thread.context().items if item.kind == "recall"] == []
    engine.close()
