"""The search analyzer: tokens of a text, tokens that a pattern implies, and the words mode of a query."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.store.analyzer import GAP, QueryTokens, analyze, analyzed, parse_words, query_tokens, to_fts5
from lossless.store.folding import LONGEST, fold
from lossless.store.words import And, Expression, Not, Or, Phrase, Prefix, Term, WordQuery

LATIN = "a Ab ABC-123 getUserName HTTPServer src/auth.ts foo.bar snake_case naïve é e\u0301 Straße STRASSE ﬁ İ ı ſ K µ ™ ² ½ v2"
OTHERS = "ΑΣ 数据库 据 迁 カード ｶｰﾄﾞ カ\u3099 ガ \u3099 한국어 \u1100\u1161\u11a8 가 ภาษาไทย हिन्दी Привет й שָׁלוֹם \U00020000"
SYMBOLS = "🧑\u200d💻 ❤\ufe0f € → ── 。"
EDGES = ["", " ", "  ", "\t", "\n", "\0", "\u2028", "\u200d", "\u00ad", "\ud800", "_", "-"]
PIECES = st.sampled_from([*LATIN.split(" "), *OTHERS.split(" "), *SYMBOLS.split(" "), *EDGES])
TEXT = st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=12).map("".join)
CASES: tuple[Callable[[str], str], ...] = (str, str.upper, str.lower, str.swapcase, str.title, str.casefold)


@contextmanager
def index(*texts: str, tokenize: str = "ascii") -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE VIRTUAL TABLE found USING fts5(body, content='', tokenize='{tokenize}')")
        database.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(found, 'row')")
        documents = enumerate(" ".join(analyze(text)) for text in texts)
        database.executemany("INSERT INTO found (rowid, body) VALUES (?, ?)", documents)
        yield database


def matches(database: sqlite3.Connection, expression: str) -> set[int]:
    return {row for (row,) in database.execute("SELECT rowid FROM found WHERE found MATCH ?", (expression,))}


def finds(query: str, text: str) -> bool:
    expression = to_fts5(parse_words(query))
    with index(text) as database:
        return bool(expression) and matches(database, expression) == {0}


# Tokens of a text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("The quick brown fox.", ["the", "quick", "brown", "fox"]),
        ("snake_case, kebab-case", ["snake", "case", "kebab", "case"]),
        ("src/auth.ts:42", ["src", "auth", "ts", "42"]),
        ("ABC-123", ["abc", "123"]),
        ("foo.bar()", ["foo", "bar"]),
        ("SHA256 of 3F9A2B", ["sha256", "of", "3f9a2b"]),
        ("camelCase!", ["camelcase", GAP, "camel", "case"]),
        ("parseHTTPResponse", ["parsehttpresponse", GAP, "parse", "http", "response"]),
        ("aB then aB", ["ab", "then", "ab", GAP, "a", "b"]),
        ("überWert", ["uberwert", GAP, "uber", "wert"]),
        ("naïve STRASSE Straße", ["naive", "strasse", "strasse"]),
        ("ｆｕｌｌ ﬁne ㎏ m²", ["full", "fine", "u338f", "m2"]),
        ("数据库", ["数据", "据库", "库"]),
        ("用API调用", ["用", "api", "调用", "用"]),
        ("カード", ["カー", "ード", "ド"]),
        ("한국어 앱", ["한국", "국어", "어", "앱"]),
        ("हिन्दी", ["हu093fनu094dदu0940"]),
        ("👍🏽 ok", ["u1f44d", "u1f3fd", "ok"]),
        ("👩\u200d💻❤\ufe0f", ["u1f469", "u1f4bb", "u2764"]),
        ("5€→6€", ["5", "u20ac", "u2192", "6", "u20ac"]),
        ("Lossless™", ["lossless", "u2122"]),
        ("│ a │ ────", ["a"]),
        ("a\0b\ud800c", ["a", "b", "ud800", "c"]),
        ("so\u00adft zero\u200dwidth", ["soft", "zerowidth"]),
    ],
)
def test_a_text_becomes_these_tokens(text: str, tokens: list[str]) -> None:
    assert analyze(text) == tokens


def test_letters_that_come_apart_are_indexed_joined_too() -> None:
    assert set(analyze("한국")) < set(analyze("\u1112\u1161\u11ab\u1100\u116e\u11a8"))
    assert set(analyze("ガス")) < set(analyze("カ\u3099ス"))
    assert set(analyze("ガス")) < set(analyze("ｶﾞｽ"))


def test_a_long_run_is_its_beginning_and_its_hash() -> None:
    run = "ab" * 40
    (token,) = analyze(run.upper())
    assert token == run[:48] + hashlib.sha256(run.encode()).hexdigest()[:16]
    assert len(token) == LONGEST
    assert analyze(run + "c") != [token]
    assert analyze("f" * LONGEST) == ["f" * LONGEST]


@settings(deadline=None)
@given(TEXT)
def test_tokens_are_what_every_tokenizer_leaves_alone(text: str) -> None:
    tokens = analyze(text)
    assert all(token.isalnum() and token == token.lower() and len(token) <= LONGEST for token in tokens)
    for tokenize in ("ascii", "unicode61", "unicode61 remove_diacritics 0", "unicode61 remove_diacritics 2"):
        with index(text, tokenize=tokenize) as database:
            assert {term for (term,) in database.execute("SELECT term FROM terms")} == set(tokens)


@settings(deadline=None)
@given(TEXT, TEXT)
def test_a_piece_of_a_text_folds_to_a_piece_of_the_folded_text(left: str, right: str) -> None:
    assert fold(left + right) == fold(left) + fold(right)


@settings(deadline=None)
@given(TEXT)
def test_case_makes_no_difference_to_the_runs_of_a_text(text: str) -> None:
    assert len({fold(case(text)) for case in CASES}) == 1


LETTERS = ["a", "aB ", "word ", "数据", "\ud800", "👍", "カ\u3099", "\u1100", "\0", "(", '"', "e\u0301"]


@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("size", [200_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_any_amount_of_anything_takes_linear_time(letters: str, size: int) -> None:
    text = letters * (size // len(letters))
    started = time.process_time()
    analyze(text)
    query_tokens(text)
    to_fts5(parse_words(text))
    assert time.process_time() - started < size / 50_000


# What a pattern implies


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("auth", QueryTokens(whole=(), prefix=None, loose=("auth",))),
        ("src/auth.ts", QueryTokens(whole=("auth",), prefix="ts", loose=("src",))),
        (" auth ", QueryTokens(whole=("auth",), prefix=None, loose=())),
        ("/Auth", QueryTokens(whole=(), prefix="auth", loose=())),
        ("auth.", QueryTokens(whole=(), prefix=None, loose=("auth",))),
        ("据", QueryTokens(whole=(), prefix="据", loose=())),
        ("据。", QueryTokens(whole=("据",), prefix=None, loose=())),
        ("数据库", QueryTokens(whole=("数据", "据库"), prefix=None, loose=())),
        ("用API调", QueryTokens(whole=("用", "api"), prefix="调", loose=())),
        ("👍", QueryTokens(whole=("u1f44d",), prefix=None, loose=())),
        (" x" + "y" * 80, QueryTokens(whole=(), prefix="x" + "y" * 47, loose=())),
        ("...", QueryTokens(whole=(), prefix=None, loose=())),
        ("", QueryTokens(whole=(), prefix=None, loose=())),
    ],
)
def test_a_pattern_implies_these_tokens(pattern: str, expected: QueryTokens) -> None:
    assert query_tokens(pattern) == expected


@settings(deadline=None)
@given(TEXT, TEXT, TEXT, st.sampled_from(CASES))
def test_what_a_pattern_implies_is_in_every_text_that_contains_it(
    before: str, pattern: str, after: str, case: Callable[[str], str]
) -> None:
    implied, tokens = query_tokens(pattern), set(analyze(before + case(pattern) + after))
    assert set(implied.whole) <= tokens
    assert implied.prefix is None or any(token.startswith(implied.prefix) for token in tokens)


def test_of_a_long_pattern_the_longest_tokens_are_asked_for() -> None:
    pattern = "x " + " ".join(["word" + "s" * (number % 9) + str(number) for number in range(2_000)]) + " y"
    implied = query_tokens(pattern)
    assert 8 <= len(implied.whole) <= 64
    assert set(implied.whole) <= set(analyze(pattern))
    assert min(map(len, implied.whole)) >= 16


@settings(deadline=None)
@given(TEXT)
def test_every_letter_and_symbol_of_an_unspaced_script_is_found_by_itself(text: str) -> None:
    tokens = analyze(text)
    for letter in text:
        implied = query_tokens(letter)
        assert set(implied.whole) <= set(tokens)
        assert implied.prefix is None or any(token.startswith(implied.prefix) for token in tokens)
        if "\u4e00" <= letter <= "\u9fff" or "\u3041" <= letter <= "\u3096" or "\uac00" <= letter <= "\ud7a3":
            assert implied.prefix == letter


# The words mode


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("", None),
        ("  ?! ", None),
        ("()", None),
        ('""', None),
        ("Foo", Term("foo")),
        ("foo bar", And((Term("foo"), Term("bar")))),
        ("foo AND bar", And((Term("foo"), Term("bar")))),
        ("foo and bar", And((Term("foo"), Term("and"), Term("bar")))),
        ("a OR b c", Or((Term("a"), And((Term("b"), Term("c")))))),
        ("(a OR b) c", And((Or((Term("a"), Term("b"))), Term("c")))),
        ("a NOT b", Not(Term("a"), Term("b"))),
        ("a AND NOT b c", Not(And((Term("a"), Term("c"))), Term("b"))),
        ("NOT b a", Not(Term("a"), Term("b"))),
        ("a NOT (b OR c)", Not(Term("a"), Or((Term("b"), Term("c"))))),
        ("auth*", Prefix("auth")),
        ('"Port 7443"', Phrase(("port", "7443"))),
        ("“Port 7443”", Phrase(("port", "7443"))),
        ('"port 74"*', Phrase(("port", "74"), prefix=True)),
        ("src/au*", Phrase(("src", "au"), prefix=True)),
        ("src/*", Term("src")),
        ("getUser", Or((Term("getuser"), Phrase(("get", "user"))))),
        ("getUs*", Or((Prefix("getus"), Phrase(("get", "us"), prefix=True)))),
        ("库", Prefix("库")),
        ("数据库", Phrase(("数据", "据库"))),
        ("数据", Term("数据")),
        ("👍", Term("u1f44d")),
    ],
)
def test_a_query_means(query: str, expression: Expression | None) -> None:
    assert parse_words(query) == WordQuery(expression)


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("NOT NULL", And((Term("not"), Term("null")))),
        ("foo OR", And((Term("foo"), Term("or")))),
        ("AND foo", And((Term("and"), Term("foo")))),
        ("AND", Term("and")),
        ("foo AND AND bar", And((Term("foo"), Term("and"), Term("bar")))),
        ("a OR NOT b", Or((Term("a"), And((Term("not"), Term("b")))))),
        ('"unclosed foo', And((Term("unclosed"), Term("foo")))),
        ("a) b (c", And((Term("a"), Term("b"), Term("c")))),
        ("(" * 50 + "a" + ")" * 50 + " b", And((Term("a"), Term("b")))),
        ("main() x", And((Term("main"), Term("x")))),
        ("(foo OR bar(x))", Or((Term("foo"), Phrase(("bar", "x"))))),
        ("a AND ()", Term("a")),
        ("body : x", And((Term("body"), Term("x")))),
        ("^a + b NEAR(c)", And((Term("a"), Term("b"), Phrase(("near", "c"))))),
    ],
)
def test_what_is_no_syntax_is_read_as_words(query: str, expression: Expression) -> None:
    assert parse_words(query) == WordQuery(expression)


WORDS = st.sampled_from(["a", "b", "c", "ab", "abc", "foo", "getUser", "user", "数据", "数", "库", "数据库", "👍", "ß"])
SYNTAX = st.sampled_from(["AND", "OR", "NOT", "(", ")", '"', "*", " ", " ", " ", "NEAR", "^", ":", "'", "-", "a*"])
QUERY_PIECES = st.one_of(WORDS, SYNTAX, st.text(max_size=2))
QUERIES = st.lists(QUERY_PIECES, max_size=12).map("".join) | st.lists(QUERY_PIECES, max_size=12).map(" ".join)
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=4)


def holds(expression: Expression, tokens: list[str]) -> bool:
    match expression:
        case Term(token=token):
            return token in tokens
        case Prefix(token=token):
            return any(other.startswith(token) for other in tokens)
        case Phrase(tokens=wanted, prefix=prefix):
            size = len(wanted)
            windows = (tuple(tokens[place : place + size]) for place in range(len(tokens) - size + 1))
            return any(w[:-1] == wanted[:-1] and (w[-1].startswith(wanted[-1]) if prefix else w == wanted) for w in windows)
        case And(operands=operands):
            return all(holds(operand, tokens) for operand in operands)
        case Or(operands=operands):
            return any(holds(operand, tokens) for operand in operands)
        case Not(keep=keep, drop=drop):
            return holds(keep, tokens) and not holds(drop, tokens)


@settings(deadline=None)
@given(TEXTS, QUERIES)
def test_the_index_finds_what_the_query_means(texts: list[str], query: str) -> None:
    parsed = parse_words(query)
    expression = to_fts5(parsed)
    if parsed.expression is None:
        assert expression == ""
    else:
        meant = {row for row, text in enumerate(texts) if holds(parsed.expression, analyze(text))}
        with index(*texts) as database:
            assert matches(database, expression) == meant


@settings(deadline=None)
@given(st.text())
def test_no_query_is_refused_by_the_index(query: str) -> None:
    with index("a") as database:
        if expression := to_fts5(parse_words(query)):
            matches(database, f"(body : ({expression}))")


def test_the_deepest_and_longest_queries_are_accepted_by_the_index() -> None:
    deepest = "a"
    for depth in range(6):
        deepest = f"(x{depth} OR y{depth} NOT {deepest} z{depth})"
    assert to_fts5(parse_words(deepest)).count("NOT") == 6
    numbers = [str(number) for number in range(5_000)]
    with index("a") as database:
        for query in (deepest, " ".join(numbers), " OR ".join(numbers), '"' + " ".join(numbers) + '"', "a" * 100_000):
            matches(database, f"(body : ({to_fts5(parse_words(query))}))")


@settings(deadline=None)
@given(TEXT)
def test_a_text_is_found_by_a_quotation_of_itself(text: str) -> None:
    quotation = '"' + text.replace('"', " ") + '"'
    if parse_words(quotation).expression is not None:
        assert finds(quotation, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("user name", "call getUserName now"),
        ("getUserName", "def get_user_name(self):"),
        ("getusername failed", "getUserName failed"),
        ('"call getusername now"', "call getUserName now"),
        ("auth.ts", "in /srv/app/src/auth.ts:12"),
        ("据库", "数据库迁移"),
        ("库", "数据库迁移"),
        ("移", "数据库迁移"),
        ("한국", "대한국어"),
        ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8 file"),
        ("naive", "a naïve plan"),
        ("Straße", "STRASSE"),
        ("мои", "МОЙ"),
        ("👍", "fine 👍🏽"),
        ("e1234", "error E1234 at boot"),
    ],
)
def test_words_are_found(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("カード", "ガード"),
        ('"name failed"', "getUserName failed; fooBar"),
        ('"name foo"', "getUserName fooBar"),
        ("数库", "数据库"),
        ("a NOT b", "a b"),
        ('"a c"', "a b c"),
    ],
)
def test_other_words_are_not_found(query: str, text: str) -> None:
    assert not finds(query, text)


@pytest.mark.parametrize("at_once", [1, 7, 64])
@given(st.text(st.sampled_from("ab Z1_-東京한ギ\u1100\u1161\u0301é\n\x1e™"), max_size=200))
def test_a_large_text_has_the_same_terms_when_it_is_read_in_stretches(at_once: int, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lossless.store.analyzer._AT_ONCE", at_once)
        assert analyzed(text) == " ".join(analyze(text))
