"""The order of a published item's options: a pure function of the window that it was written from.

Why: drafting models put the key at A (84 % of the time in the published drafting), and an order that a maintainer could
choose could be chosen. Source: facts on the published construction, "options permuted by a hash of the source window".
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping

from opentwbench.formosa.model import LETTERS


def permuted(window_id: str, options: Mapping[str, str], key: str) -> tuple[dict[str, str], str]:
    """Options A to D in their new order, and the letter at which the key now stands.

    `random.Random(seed).shuffle` over the letters, the seed being the first 8 bytes of sha256(window id), big-endian.
    By place and never by text. Raises KeyError for options that are not A to D, or a key that is none of them.
    """
    order = list(LETTERS)
    random.Random(int.from_bytes(hashlib.sha256(window_id.encode()).digest()[:8], "big")).shuffle(order)
    shown = {place: options[original] for place, original in zip(LETTERS, order, strict=True)}
    if key not in options:
        raise KeyError(key)
    return shown, LETTERS[order.index(key)]
