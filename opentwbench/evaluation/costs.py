"""What a run has used: tokens and money, and the stop before it uses more than it may.

What belongs here: sums over responses. What does not: when to ask (runner.py).
Tokens are those that the endpoint reports. A response without a usage block is estimated, and counted as estimated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from opentwbench.evaluation.model import Response

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens, in whatever currency the limit is given in."""

    prompt: float = 0.0
    completion: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.prompt < 1e6 and 0 <= self.completion < 1e6):
            raise ValueError("a price for a million tokens lies between 0 and 1,000,000")

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What these tokens cost."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / MILLION


@dataclass(slots=True)
class Spending:
    """Totals over the responses of a run. Completion tokens include reasoning tokens, as endpoints bill them."""

    price: Price = field(default_factory=Price)
    responses: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: int = 0
    """Responses without a usage block, whose tokens are estimates."""

    def add(self, response: Response, prompt_characters: int = 0) -> None:
        """Count one response; `prompt_characters` serves the estimate when it reports no usage.

        A reply taken from another run (`attempts` 0) cost this one nothing.
        """
        if response.attempts == 0:
            return
        self.responses += 1
        prompt, completion = response.prompt_tokens, response.completion_tokens
        if not response.error and (prompt is None or completion is None):
            self.estimated += 1
        self.prompt_tokens += prompt if prompt is not None else 0 if response.error else prompt_characters
        self.completion_tokens += completion if completion is not None else _written(response)
        self.reasoning_tokens += response.reasoning_tokens or 0

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def money(self) -> float:
        """What they cost."""
        return self.price.of(self.prompt_tokens, self.completion_tokens)


def _written(response: Response) -> int:
    """An upper estimate of completion tokens: no tokenizer in use needs more than one token for most characters."""
    return len(response.content or "") + len(response.reasoning or "")


@dataclass(frozen=True, slots=True)
class Limit:
    """What a run may use in all, over every start of it; None is no limit."""

    tokens: int | None = None
    money: float | None = None

    def reached(self, spending: Spending, under_way: int) -> str:
        """Why nothing more may be asked, '' while it may.

        Requests under way, the next one among them, are counted at the mean so far, so that the stop comes at the limit
        and not a whole window of requests behind it. It is off by what those requests differ from the mean; before the
        first response nothing is known, and nothing is held back.
        """
        share = 1.0 + (under_way / spending.responses if spending.responses else 0.0)
        if self.tokens is not None and spending.tokens * share >= self.tokens:
            return f"{spending.tokens:,} tokens used, {under_way} requests under way or next: limit {self.tokens:,}"
        if self.money is not None and spending.money * share >= self.money:
            return f"{spending.money:.2f} spent, {under_way} requests under way or next: limit {self.money:.2f}"
        return ""
