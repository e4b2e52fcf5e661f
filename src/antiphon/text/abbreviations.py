"""Words that are written with a stop, and words that begin sentences.

A stop that is taken for the end of a sentence puts a pause into the middle of it. A stop that is not taken for one
only makes the unit longer. The tables therefore lean towards no end.
"""

import re
from typing import Final

# Something always follows them.
INTRODUCING: Final = frozenset(
    """
    adm capt cdr cf cmdr col cpl d.h dr e.g fr gen gov hon hr i.e lt maj messrs mlle mme mr mrs ms mt mx
    pres prof rep rev sen sgt sra vs z.b
    """.split()  # noqa: SIM905  # a list of words reads best as words
)

# A number follows them, unless they are the plain word at the end of a sentence.
NUMBERING: Final = frozenset("no nos nr núm nº".split())  # noqa: SIM905  # one line to read

# They stand within sentences as well as at their end.
CLOSING: Final = frozenset(
    """
    a.m al anon apr approx art assn assoc aug ave bldg blvd bros bzw ca ch chap co corp dec dept div ed eds eq esq est
    etc ext feb fig figs fri ft gal gmbh hrs inc intl jan jr jul jun kg lb lbs llc ltd max min misc mon natl nov oct oz
    p.m pg ph.d pp pt pty pvt ref sec sect sep sept sr st tel thu thur thurs tue tues u.k u.s univ usw vol wed
    """.split()  # noqa: SIM905  # a list of words reads best as words
)

# English words that, with a capital, begin a sentence rather than a name.
_STARTERS: Final = frozenset(
    """
    A After All Also Although An And Another Any Are As At Because Before Both But By Can Could Did Do Does Each Even
    Every Finally First For From Had Has Have He Her Here His How However I If In Instead Is It Its Just Last Later Let
    Many Maybe Meanwhile Moreover Most My Next No Not Now Of On Once One Only Or Other Our Perhaps Please Several She
    Should Since So Some Soon Still Such That The Their Then There Therefore These They This Those Though Thus To Today
    Until Was We Were What When Where Whether Which While Who Why With Without Would Yes Yet You Your
    """.split()  # noqa: SIM905  # a list of words reads best as words
)
LONGEST_STARTER: Final = max(map(len, _STARTERS))

_DOTTED: Final = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")


def is_dotted(word: str) -> bool:
    """Whether `word` (without its last stop) is letters with stops between them: `U.S`, `J.K`, `z.B`."""
    return _DOTTED.fullmatch(word) is not None


def starts_sentence(word: str) -> bool:
    """Whether `word`, found after a doubtful stop, shows that the stop ended a sentence."""
    return word in _STARTERS
