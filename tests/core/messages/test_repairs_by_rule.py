"""One rule, one broken history, one repair: what each provider is shown."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest

from lossless.errors import ConfigError
from lossless.messages import (
    ANTHROPIC,
    GEMINI,
    OPENAI,
    AnthropicFormat,
    Call,
    Format,
    Media,
    OpenAIFormat,
    Profile,
    Reasoning,
    Repaired,
    Result,
    Text,
    Turn,
    find_profile,
    repair,
    without_reasoning,
)

FORMATS: dict[str, Format] = {"openai": OpenAIFormat(), "anthropic": AnthropicFormat()}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(40)).decode()
HTML = base64.b64encode(b"<html></html>").decode()
ALL = [OPENAI, ANTHROPIC, GEMINI]


def user(text: str) -> Turn:
    return Turn("user", (Text(text),), f"u:{text}")


def says(text: str) -> Turn:
    return Turn("assistant", (Text(text),), f"a:{text}")


def calls(*ids: str) -> Turn:
    return Turn("assistant", tuple(Call(each, "f", "{}") for each in ids), f"c:{','.join(ids)}")


def result(call_id: str, text: str = "42") -> Turn:
    return Turn("tool", (Result(call_id, (Text(text),)),), f"r:{call_id}:{text}")


def outline(repaired: Repaired) -> list[str]:
    """Say in one word a turn what is shown."""
    words: list[str] = []
    for turn in repaired.turns:
        for part in turn.parts:
            match part:
                case Text(text=text):
                    words.append(f"{turn.role}:{text}")
                case Call(id=call_id):
                    words.append(f"call:{call_id}")
                case Result(call_id=call_id):
                    words.append(f"result:{call_id}:{part.text}")
                case other:
                    words.append(type(other).__name__)
    return words


def kinds(repaired: Repaired) -> list[str]:
    return [each.kind for each in repaired.repairs]


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_a_valid_history_comes_back_as_the_same_turns(profile: Profile) -> None:
    turns = [user("q"), calls("a", "b"), result("a"), result("b"), says("done"), user("next"), says("yes")]
    repaired = repair(turns, profile)
    assert all(a is b for a, b in zip(turns, repaired.turns, strict=True))
    assert repaired.repairs == ()


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_a_late_tool_result_is_shown_not_invented(profile: Profile) -> None:
    late = result("a")
    repaired = repair([user("q"), calls("a"), user("wait"), says("ok"), late], profile)
    assert outline(repaired) == ["user:q", "call:a", "result:a:42", "user:wait", "assistant:ok"]
    assert any(turn is late for turn in repaired.turns)
    assert kinds(repaired) == ["moved_result"]


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_results_in_another_order_are_put_in_the_order_of_the_calls(profile: Profile) -> None:
    repaired = repair([user("q"), calls("a", "b"), result("b", "B"), result("a", "A"), says("ok")], profile)
    assert outline(repaired) == ["user:q", "call:a", "call:b", "result:a:A", "result:b:B", "assistant:ok"]
    assert kinds(repaired) == ["moved_result"]


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_a_result_without_its_call_is_withheld_and_its_neighbour_stays(profile: Profile) -> None:
    repaired = repair([user("q"), calls("b"), result("a"), result("b"), says("ok")], profile)
    assert outline(repaired) == ["user:q", "call:b", "result:b:42", "assistant:ok"]
    assert kinds(repaired) == ["orphan_result"]


def test_text_beside_a_withheld_result_stays() -> None:
    mixed = Turn("user", (Result("gone", (Text("x"),)), Text("Please keep this.")), "m")
    assert outline(repair([mixed, says("Kept.")], ANTHROPIC)) == ["user:Please keep this.", "assistant:Kept."]


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_of_two_results_of_one_call_the_first_is_shown(profile: Profile) -> None:
    repaired = repair([user("q"), calls("a"), result("a", "first"), result("a", "second"), says("ok")], profile)
    assert outline(repaired) == ["user:q", "call:a", "result:a:first", "assistant:ok"]
    assert kinds(repaired) == ["duplicate_result"]


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_an_unanswered_call_is_marked_as_not_executed(profile: Profile) -> None:
    repaired = repair([user("q"), calls("a", "b"), result("b"), user("hurry")], profile)
    shown = outline(repaired)
    assert shown[:3] == ["user:q", "call:a", "call:b"]
    assert shown[3].startswith("result:a:[not executed")
    assert shown[4:] == ["result:b:42", "user:hurry"]
    assert kinds(repaired) == ["missing_result"]


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_an_open_loop_at_the_end_is_completed(profile: Profile) -> None:
    assert outline(repair([user("q"), calls("a")], profile))[2].startswith("result:a:[not executed")


def test_a_stored_result_that_is_not_among_the_turns_is_preferred_to_an_invented_one() -> None:
    asked: list[str] = []

    def find(call_id: str) -> Result | None:
        asked.append(call_id)
        return Result("a", (Text("stored"),)) if call_id == "a" else None

    repaired = repair([user("q"), calls("a", "b", "c"), result("c")], OPENAI, find)
    assert asked == ["a", "b"]
    assert outline(repaired)[4] == "result:a:stored"
    assert kinds(repaired) == ["found_result", "missing_result"]


def test_a_stored_result_is_looked_for_under_its_stored_id() -> None:
    asked: list[str] = []

    def find(call_id: str) -> Result | None:
        asked.append(call_id)
        return Result(call_id, (Text(""),))

    repaired = repair([user("q"), calls("a.b")], ANTHROPIC, find)
    assert asked == ["a.b"]
    assert outline(repaired) == ["user:q", "call:a_b", "result:a_b:(no output)"]


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_reused_ids_are_told_apart_and_each_call_keeps_its_result(profile: Profile) -> None:
    turns = [user("q"), calls("a"), result("a", "1"), calls("a"), result("a", "2"), calls("a_2"), result("a_2", "3")]
    repaired = repair(turns, profile)
    assert outline(repaired)[1:] == ["call:a", "result:a:1", "call:a_2", "result:a_2:2", "call:a_2_2", "result:a_2_2:3"]
    assert repaired.turns[1] is turns[1]
    assert repaired.turns[2] is turns[2]


def test_an_id_is_never_longer_than_the_provider_takes_nor_cut_to_anothers() -> None:
    long = ["x" * 90 + end for end in "ab"]
    for profile in (OPENAI, ANTHROPIC):
        shown = [
            part.id
            for turn in repair([user("q"), calls(*long), calls(*long)], profile).turns
            for part in turn.parts
            if isinstance(part, Call)
        ]
        assert len(set(shown)) == 4
        assert all(profile.id_rule.fullmatch(each) for each in shown)


def test_ids_with_foreign_characters_stand_where_the_provider_takes_them() -> None:
    turns = [user("q"), calls("call:1"), result("call:1")]
    assert repair(turns, OPENAI).repairs == ()
    assert outline(repair(turns, ANTHROPIC))[1:] == ["call:call_1", "result:call_1:42"]


def test_two_calls_of_one_message_with_one_id_take_their_results_in_order() -> None:
    shown = outline(repair([user("q"), calls("a", "a"), result("a", "first"), result("a", "second")], OPENAI))
    assert shown[1:] == ["call:a", "call:a_2", "result:a:first", "result:a_2:second"]


def test_a_reused_id_without_an_answer_leaves_the_late_result_to_the_newest_call() -> None:
    shown = outline(repair([user("q"), calls("a"), calls("a"), result("a", "late")], OPENAI))
    assert shown[1] == "call:a"
    assert shown[2].startswith("result:a:[not executed")
    assert shown[3:] == ["call:a_2", "result:a_2:late"]


def test_a_conversation_that_opens_with_the_assistant_gets_a_users_line_where_needed() -> None:
    turns = [Turn("system", (Text("s"),), "s"), says("Welcome."), user("hi")]
    assert repair(turns, OPENAI).repairs == ()
    for profile in (ANTHROPIC, GEMINI):
        repaired = repair(turns, profile)
        assert [turn.role for turn in repaired.turns] == ["system", "user", "assistant", "user"]
        assert repaired.turns[1].origin == "a:Welcome."


def test_neighbours_of_one_role_are_merged_where_roles_must_alternate() -> None:
    turns = [user("a"), user("b"), says("c"), says("d"), calls("x"), result("x"), user("e"), user("f")]
    assert repair(turns, OPENAI).repairs == ()
    for profile in (ANTHROPIC, GEMINI):
        repaired = repair(turns, profile)
        assert [turn.role for turn in repaired.turns] == ["user", "assistant", "tool", "user"]
        assert kinds(repaired) == ["merged"] * 4


def test_gemini_is_shown_results_apart_from_what_the_user_says() -> None:
    mixed = Turn("user", (Result("a", (Text("42"),)), Text("thanks")), "m")
    turns = [user("q"), calls("a"), mixed, says("ok")]
    assert repair(turns, ANTHROPIC).repairs == ()
    repaired = repair(turns, GEMINI)
    assert [turn.role for turn in repaired.turns] == ["user", "assistant", "tool", "user", "assistant"]
    assert kinds(repaired) == ["results_apart"]


def test_a_later_system_message_is_a_note_where_the_provider_knows_none() -> None:
    turns = [user("q"), says("ok"), Turn("system", (Text("The shop closes."),), "s"), user("more")]
    assert repair(turns, OPENAI).repairs == ()
    last = repair(turns, ANTHROPIC).turns[-1]
    note, said = (part.text for part in last.parts if isinstance(part, Text))
    assert "The shop closes." in note
    assert "not from the user" in note
    assert said == "more"


def test_blank_texts_are_dropped_and_empty_messages_withheld() -> None:
    turns = [user("q"), Turn("user", (Text(" "), Text("x")), "m"), Turn("assistant", (Text("\n"),), "n"), Turn("user", (), "o")]
    repaired = repair(turns, OPENAI)
    assert outline(repaired) == ["user:q", "user:x"]
    assert kinds(repaired) == ["blank_text", "blank_text", "empty_message", "empty_message"]


@pytest.mark.parametrize("content", [None, "", "\n\n"])
def test_a_blank_content_beside_calls_stands_in_chat_messages(content: str | None) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    payloads = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": content, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": ""},
    ]
    form = FORMATS["openai"]
    repaired = repair([Turn(form.role(m), form.read(m), "m", m) for m in payloads], OPENAI)
    assert form.render(repaired.turns).messages == payloads
    filled = form.render(repair([Turn(form.role(m), form.read(m), "m", m) for m in payloads], GEMINI).turns).messages
    assert filled[2]["content"] == "(no output)"


def test_reasoning_that_nothing_follows_is_withheld() -> None:
    signed = Reasoning("hm", True)
    thinking = Turn("assistant", (signed,), "t")
    repaired = repair([user("q"), thinking, user("well?")], ANTHROPIC)
    assert outline(repaired) == ["user:q", "user:well?"]
    joined = repair([user("q"), thinking, says("x"), user("y")], ANTHROPIC)
    assert joined.turns[1].parts == (signed, Text("x"))


def test_only_signed_reasoning_is_shown_to_anthropic() -> None:
    turns = [user("q"), Turn("assistant", (Reasoning("hm"), Text("x")), "t")]
    assert repair(turns, OPENAI).repairs == ()
    assert outline(repair(turns, ANTHROPIC)) == ["user:q", "assistant:x"]


def test_signed_reasoning_is_byte_exact_where_its_message_is_merged_or_a_call_renamed() -> None:
    form = FORMATS["anthropic"]
    thinking = {"type": "thinking", "thinking": "hm\u2028 ", "signature": "c2ln", "extra": [1.0]}
    payloads: list[dict[str, Any]] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [thinking]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a.1", "name": "f", "input": {}}]},
    ]
    repaired = repair([Turn(form.role(m), form.read(m), "m", m) for m in payloads], ANTHROPIC)
    assistant = form.render(repaired.turns).messages[1]
    assert assistant["content"][0] == thinking
    assert list(assistant["content"][0]) == list(thinking)
    assert assistant["content"][1]["id"] == "a_1"


def test_reasoning_can_be_taken_from_a_turn() -> None:
    kept = Turn("assistant", (Reasoning("hm", True), Text("x")), "t", payload={"role": "assistant"})
    assert without_reasoning(kept) == Turn("assistant", (Text("x"),), "t")
    assert without_reasoning(Turn("assistant", (Reasoning("hm"),), "t")) is None
    untouched = says("x")
    assert without_reasoning(untouched) is untouched


@pytest.mark.parametrize(
    ("mime", "data", "why"),
    [
        ("image/png", HTML, "its bytes are not image/png"),
        ("image/png", JPEG, "its bytes are not image/png"),
        ("image/bmp", PNG, "image/bmp is not accepted"),
        ("image/png", "no base64!", "its data is not base64"),
        ("image/png", "", "its data is not base64"),
        ("image/png", PNG[:16] + "A" * (7 * 1024 * 1024), "larger than 5242880 bytes"),
    ],
)
def test_an_image_that_the_provider_refuses_is_named_with_the_way_back(mime: str, data: str, why: str) -> None:
    turns = [Turn("user", (Text("see"), Media("image", mime, data)), "m_3")]
    assert repair(turns, OPENAI).repairs == ()
    repaired = repair(turns, ANTHROPIC)
    assert kinds(repaired) == ["unfit_image"]
    note = repaired.turns[0].parts[1]
    assert isinstance(note, Text)
    assert all(word in note.text for word in (mime, "sha256:", why, 'lcm_expand("m_3")', "bytes"))
    assert len(note.text) < 500


def test_images_within_results_are_checked_too() -> None:
    turns = [user("q"), calls("a"), Turn("tool", (Result("a", (Media("image", "image/png", HTML),)),), "m_3")]
    assert "sha256" in outline(repair(turns, ANTHROPIC))[2]


@pytest.mark.parametrize(("mime", "data"), [("image/png", PNG), ("image/jpeg", JPEG)])
def test_an_image_that_is_what_it_says_stands(mime: str, data: str) -> None:
    assert repair([Turn("user", (Media("image", mime, data),), "m")], ANTHROPIC).repairs == ()


def test_the_largest_image_is_five_mebibytes() -> None:
    head = b"\x89PNG\r\n\x1a\n"
    limit = 5 * 1024 * 1024
    for size, repairs in ((limit, 0), (limit + 1, 1)):
        data = base64.b64encode(head + bytes(size - len(head))).decode()
        assert len(repair([Turn("user", (Media("image", "image/png", data),), "m")], ANTHROPIC).repairs) == repairs


@pytest.mark.parametrize(("mime", "data", "label"), [("image/jpg", JPEG, "image/jpeg"), (None, PNG, "image/png")])
def test_a_missing_or_wrongly_spelt_media_type_is_set_right(mime: str | None, data: str, label: str) -> None:
    repaired = repair([Turn("user", (Media("image", mime, data),), "m")], ANTHROPIC)
    assert repaired.turns[0].parts == (Media("image", label, data),)
    assert kinds(repaired) == ["image_label"]


def test_a_call_that_is_not_the_assistants_is_withheld_with_its_result() -> None:
    turns = [Turn("user", (Text("q"), Call("a", "f", "{}")), "m"), result("a"), says("ok")]
    repaired = repair(turns, OPENAI)
    assert outline(repaired) == ["user:q", "assistant:ok"]
    assert kinds(repaired) == ["misplaced_call", "orphan_result"]


def test_results_inside_the_assistants_message_are_moved_behind_it() -> None:
    odd = Turn("assistant", (Call("a", "f", "{}"), Result("a", (Text("42"),)), Text("so")), "m")
    assert outline(repair([user("q"), odd], ANTHROPIC)) == ["user:q", "call:a", "assistant:so", "result:a:42"]


def test_a_repair_touches_no_other_turn() -> None:
    turns = [user("q"), says("x"), user("r"), calls("a"), user("s"), says("y"), replace(user("t"), name="Ada")]
    repaired = repair(turns, OPENAI)
    assert [turn for turn in repaired.turns if turn.role != "tool"] == turns
    assert all(any(given is shown for shown in repaired.turns) for given in turns)


def test_profiles_are_found_by_name() -> None:
    assert [find_profile(name).name for name in ("openai", "anthropic", "gemini")] == ["openai", "anthropic", "gemini"]
    with pytest.raises(ConfigError, match="unknown provider profile 'bing'"):
        find_profile("bing")
