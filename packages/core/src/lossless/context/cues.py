"""Cues: the words by which people say that something was wrong, language by language, and the shapes that need no language.

A cue is a phrase that hardly stands in an ordinary sentence: ``nicht 11, sondern 12``, but not ``nicht nur, sondern auch``. What
a language lacks here, the hook ``lossless_correction`` can know.
"""

from __future__ import annotations

import re

__all__ = ["LANGUAGES", "has_cue", "may_have_cue"]

_WORDS = {
    "English": r"""correction|corrected|erratum|i\ meant|i\ misspoke|my\ mistake|scratch\ that|oops|typo
        | i\ (?:said|told\ you|asked\ for|wrote|never\ said|never\ asked|did(?:n['’]t|\ not)\ (?:say|ask|mean))
        | (?:that|this|it|which|what)(?:['’]s|\ is|\ was)?\ (?:not\ (?:right|correct|true|what)|n['’]t\ (?:right|correct)|wrong)
        | (?:is|was|were|are)(?:n['’]t|\ not)\ (?:right|correct|what)
        | (?:is|was|were|are)\ (?:wrong|incorrect|mistaken|a\ mistake)
        | should\ (?:have\ been|read) | should\ be\ \W?\d\S* | you(?:['’]re|\ are)\ wrong | you\ (?:got|have)\ .{1,40}\ wrong
        | (?:check|look|count|add\ it\ up)\ again | re-?check""",
    "German": r"""stimmt\ (?:so\ |aber\ |doch\ |gar\ )*nicht | nicht\ richtig | (?:ist|war|sind|waren)\ (?:leider\ |aber\ )?falsch
        | nicht\ (?!nur|allein).{1,40}\ sondern(?!\ auch) | korrektur | berichtigung | ich\ meinte | ich\ (?:sagte|schrieb)
        | ich\ h(?:abe|atte)\ (?:doch\ )?(?:gesagt|geschrieben|gemeint) | vertippt | verschrieben | mein\ fehler
        | (?:hast|haben)\ (?:du\ dich|sie\ sich)\ (?:geirrt|vertan|verrechnet) | muss\ .{0,20}hei(?:ß|ss)en""",
    "French": r"""c['’](?:est|était)\ (?:faux|inexact|incorrect|une\ erreur)
        | (?:ce\ )?n['’](?:est|était)\ pas\ (?:ça|cela|juste|correct|exact|vrai|ce\ que)
        | je\ voulais\ dire | j['’](?:ai|avais)\ dit
        | rectification | je\ me\ suis\ trompée? | (?:tu\ te|vous\ vous)\ (?:êtes\ )?tromp\w+ | erreur\ de\ ma\ part""",
    "Spanish": r"""(?:es|era|est[aá]|estaba)\ (?:incorrect[oa]|equivocad[oa]|mal|errónea?o?)
        | no\ (?:es|era)\ (?:correct[oa]|así|cierto|eso|lo\ que) | no\ est[aá]\ bien
        | quise\ decir | quería\ decir | (?:ya\ )?dije
        | corrección | fe\ de\ erratas | me\ equivoqué | (?:te|se)\ (?:equivoca|ha\ equivocado|has\ equivocado)s? | error\ mío""",
    "Portuguese": r"""(?:está|estava|é)\ (?:errad[oa]|incorret[oa])
        | não\ (?:é|era|está)\ (?:isso|assim|verdade|corret[oa]|cert[oa]|o\ que)
        | eu\ disse | (?:quis|queria)\ dizer | correc?ção | me\ enganei | enganei-me | você\ (?:errou|se\ enganou) | erro\ meu""",
    "Italian": r"""(?:è|era|sono)\ (?:sbagliat[oaie]|errat[oaie])
        | non\ (?:è|era)\ (?:corrett[oa]|giust[oa]|vero|così|quello\ che)
        | (?:ho|avevo)\ detto | intendevo | volevo\ dire | correzione | mi\ sono\ sbagliat[oa]
        | (?:ti\ sbagli|si\ sbaglia) | errore\ mio""",
    "Russian": r"""неверно | неправильно | неправда | (?:это|вс[её])\ не\ так(?!\ \w)
        | (?:это|тут|здесь|моя)\ ошибка | исправление | поправка
        | я\ име(?:л|ла)\ в\ виду | я\ (?:же\ )?(?:сказал|говорил|писал)а? | (?:ты|вы|я)\ ошиб(?:ся|лась|лись|аешься|аетесь)""",
}
"""Phrases that stand between the edges of words."""
_SIGNS = {
    "Chinese": r"""(?<![对對])不[对對](?![称稱应應等]) | (?<!不)[错錯]了 | 不是.{1,20}而是 | 更正
        | [说說弄搞写寫][错錯] | 我是[说說]
        | 我的意思是 | [应應][该該]是.{0,6}\d""",
    "Japanese": r"""違います | 違いました | 間違(?!い(?:な[くい]|ありません)) | 訂正 | 正しくは | 誤り(?:です|でした) | じゃなくて
        | と(?:言い|申し)ました""",
    "Korean": r"아니(?:요|에요|야)(?!\w) | 아닙니다 | 틀렸 | 정정 | 잘못\ ?(?:됐|되었|말|적|입력)",
}
"""Phrases of languages that put no spaces between their words, or hang endings on them."""
LANGUAGES = (*_WORDS, *_SIGNS)
"""The languages whose words of correcting are known."""

_OPENING = r"""^\W*(?:no|nope|nein|non|não|нет|wrong|incorrect|falsch|faux|falso|sbagliato|actually|wait|sorry|moment|attends
    |espera|perdón|scusa|desculpe|pardon|стоп|извините)\b\s*[,.!—–:-](?!\s*(?:thank|thx|danke|merci|gracias|obrigad|grazie|спасибо|problem))
    | ^\W*(?:いいえ|いや|不是|不，|不,|아뇨)"""
"""A line that begins by saying no; a thank you after it says that all is well."""
_VALUE = r"(?:[^\W\d_]{1,8}\ )?[$€£¥]?\d\S*"
_INSTEAD = rf"""{_VALUE}(?:\ ?[^\W\d_]{{1,12}})?[ ,(–—-]{{0,3}}
    (?:statt|anstatt|anstelle\ von|(?:und\ )?nicht|au\ lieu\ de|et\ non(?:\ pas)?|en\ (?:vez|lugar)\ de|y\ no
    |em\ vez\ de|e\ não|invece\ d[ei]|e\ non|anziché|вместо|а\ не|而不是|不是|ではなく|말고|대신)\ ?{_VALUE}"""
_BUT = rf"""\b(?:nicht|pas|no|não|non|не)\ {_VALUE}(?:\ [^\W\d_]{{1,12}})?,?
    \ (?:sondern|mais|sino|mas(?:\ sim)?|ma|bensì|а)\ {_VALUE}"""
_NUMBER = r"(?<![\d:.-])[$€£¥]?\d[\d.,]*(?![\d:-])(?:\ ?[^\W\d_]{1,5}|\ ?[%€])?"
_SHAPES = rf"""{_NUMBER}\ ?(?:->|→|=>|⇒)\ ?{_NUMBER} | ~~[^~\n]{{1,60}}~~\ *\S"""
"""An arrow between two numbers, and what is struck through: the same in every language. Times and dates are not meant: from nine
to ten is a stretch of time."""

_CUE = re.compile(
    rf"""\b(?:{"|".join(_WORDS.values())})\b | {_OPENING} | {"|".join(_SIGNS.values())} | {_INSTEAD} | {_BUT} | {_SHAPES}""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


_STEMS = """corre korre erratum meant misspoke mistake scratch oops typo said told asked wrote never right true wrong should again
    check instead rather actually wait sorry nope not n't n’t stimmt richtig falsch sondern berichtigung meinte sagt schrieb
    gemeint vertippt fehler geirrt vertan verrechnet heissen nicht statt anstelle faux inexact pas erreur dire dit rectif tromp
    lieu equivo está esta errón errone dije decir erratas error vez lugar errad incorr não disse dizer engan errou sbagl errat
    giust vero così quello detto intendevo invece anziché bensì mal неверн неправ ошиб исправ поправк виду сказал говорил писал
    вместо 不 错 錯 更正 我是 我的意思 应 應 違 間違 訂正 正しくは 誤り じゃなくて ました ではなく 아니 틀 정정 잘못 말고 대신
    -> → => ⇒ ~~"""
_HINTS = (*_STEMS.split(), " no ", " non ", "y no", "no es", " e non", "non è", "не ", " а ", "не так")
"""What a text must have, in small letters, to have a cue that does not begin its line."""
_BEGINS = re.compile(_OPENING, re.IGNORECASE | re.VERBOSE | re.MULTILINE)


def may_have_cue(text: str) -> bool:
    """Tell whether a text is worth :func:`has_cue`, which takes ten times as long. Pure."""
    folded = text.casefold()
    return any(hint in folded for hint in _HINTS) or _BEGINS.search(text) is not None


def has_cue(text: str) -> bool:
    """Tell whether a text has a phrase or a shape of correcting. Pure."""
    return _CUE.search(text) is not None
