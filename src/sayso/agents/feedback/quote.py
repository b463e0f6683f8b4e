"""Whether quoted words stand in a reply, whatever mrkdwn and typography do to their looks."""

import re
import unicodedata
from typing import Final

_LINK: Final = re.compile(r"<[^<>|]*\|([^<>]*)>")
_LOOKS: Final = str.maketrans(
    {
        "*": "",
        "_": "",
        "~": "",
        "`": "",
        "\N{LEFT SINGLE QUOTATION MARK}": "'",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{LEFT DOUBLE QUOTATION MARK}": '"',
        "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    }
)


def words(text: str) -> str:
    """The words of a mrkdwn text: links by their label, escapes undone, marks and gaps evened."""
    labelled = _LINK.sub(r"\1", text)
    plain = labelled.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return " ".join(unicodedata.normalize("NFKC", plain).translate(_LOOKS).split())


def is_quoted_from(quote: str, reply: str) -> bool:
    """True when the reply holds the quoted words. An empty quote is held by any reply."""
    return words(quote) in words(reply)
