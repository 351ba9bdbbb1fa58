"""What a model is shown: the order of the options and the rendered messages.

What belongs here: the shuffle and the rendering, both pure functions of an item and a protocol.
What does not: request bodies and headers (client.py).
Only the stem and the option texts reach a prompt. `AskedItem` is read field by field and never as a mapping, because
elsewhere provenance columns and the reference answer were printed into prompts (public reports 1 and 2).
"""

from __future__ import annotations

import hashlib
import random

from opentwbench.dataset.contract import OPTION_COLUMNS, excerpt
from opentwbench.evaluation.model import AskedItem
from opentwbench.evaluation.protocols import Protocol, ProtocolError

ORIGINAL_ORDER = "".join(OPTION_COLUMNS)


def option_order(item: AskedItem, protocol: Protocol) -> str:
    """The original letters in the order shown: in 'CABD' the shown A is the original C.

    'stem_seed' is the published shuffle: `random.Random(seed).shuffle` over the letters A-D, the seed being the first
    8 bytes of sha256(question as UTF-8), big-endian. It depends on the stem alone, so that withdrawing an item or
    asking in another order re-letters nothing (public reports 9, 10 and 25).
    """
    letters = list(OPTION_COLUMNS)
    if protocol.shuffle == "stem_seed":
        seed = int.from_bytes(hashlib.sha256(item.question.encode()).digest()[:8], "big")
        # shuffle moves places, whatever stands in them: letters here, (letter, text) pairs in the published runner.
        random.Random(seed).shuffle(letters)
    return "".join(letters)


def messages(item: AskedItem, protocol: Protocol, order: str | None = None) -> list[dict[str, str]]:
    """The messages of one request, the system message first when the protocol has one.

    `order` (as `option_order` gives it) overrides the protocol's own, for the circular-option test.
    Raises ProtocolError for an order that is no permutation of A-D.
    """
    shown = option_order(item, protocol) if order is None else order
    if sorted(shown) != list(OPTION_COLUMNS):
        raise ProtocolError(f"an option order is a permutation of {ORIGINAL_ORDER}, got {excerpt(shown)}")
    options = {place: item.options[letter] for place, letter in zip(OPTION_COLUMNS, shown, strict=True)}
    # Texts are values of format and are not parsed again: braces in a question stay braces.
    user = {"role": "user", "content": protocol.user_template.format(question=item.question, **options)}
    return [user] if protocol.system is None else [{"role": "system", "content": protocol.system}, user]


def original_letter(shown: str, order: str) -> str | None:
    """The original letter at a shown place ('A' is the first); None when that place shows no option.

    By place and never by text: of two options with identical text only the keyed one is right.
    """
    place = ORIGINAL_ORDER.find(shown)
    return order[place] if len(shown) == 1 and 0 <= place < len(order) else None


def shown_letter(original: str, order: str) -> str | None:
    """The place ('A' is the first) at which an original letter was shown; None when it was not shown."""
    place = order.find(original)
    return ORIGINAL_ORDER[place] if len(original) == 1 and 0 <= place < len(ORIGINAL_ORDER) else None
