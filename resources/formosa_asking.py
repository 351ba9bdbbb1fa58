"""Asking a model for the Formosa track: drafts, judgements and a pool's answers, each through the evaluation's runner.

What belongs here: whether anything is left to ask, carrying it out, and the reason why it stopped. What does not: what
is asked (`opentwbench.formosa`, `evaluation.runner.Plan`) and reading the replies.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.client import Endpoint, Rates
from opentwbench.evaluation.costs import Limit
from opentwbench.evaluation.journal import RETRIED, Recorded, answered, write_run
from opentwbench.evaluation.model import Response, RunRecord
from opentwbench.evaluation.runner import Asking, RunOutcome, Tally, run
from resources.api_keys import secret_of
from resources.progress import Progress, Silent


class AskingStopped(Exception):
    """A model was not asked to the end: no endpoint, a refusal, a spending stop. What came back is kept."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Where models are asked."""

    base_url: str = ""
    """'' asks nobody: replies that are stored are taken as they are."""
    api_key_env: str = ""
    """Environment variable with the key; the key itself is never configured."""
    concurrency: int = 32
    max_total_tokens: int = 0
    """Spending stop of each run; 0 is none."""
    progress: Progress = field(default_factory=Silent)

    def ask(self, asking: Asking, record: RunRecord, prompt: Recorded, folder: Path) -> RunOutcome | None:
        """Ask what the journal in `folder` does not hold; None when it holds every reply.

        Raises AskingStopped when something stays unasked, EndpointError, JournalError and RunLocked as the runner does.
        """
        write_run(folder, record, prompt)
        total, left = sum(1 for _ in asking.questions()), unasked(asking, folder)
        if not left:
            return None
        if not self.base_url:
            raise AskingStopped(
                f"{excerpt(asking.model)}: {left:,} of {total:,} unasked, and no endpoint is configured"
            )
        tally = Tally(total)

        def watch(_: Response) -> None:
            self.progress.step(f"asked {asking.model}", tally.done, total)

        rates, limit = Rates(self.concurrency), Limit(self.max_total_tokens or None)
        endpoint = Endpoint(self.base_url, secret=secret_of(self.api_key_env))
        outcome = asyncio.run(run(asking, folder, endpoint, rates, tally, limit=limit, watch=watch))
        if outcome.stopped:
            raise AskingStopped(f"{excerpt(asking.model)}: {outcome.stopped}")
        failed = {error: n for error, n in outcome.errors.items() if n and error in RETRIED}
        if outcome.asked and sum(failed.values()) == outcome.asked:
            # Too few for the runner to stop by itself, and just as much an endpoint that does not answer.
            raise AskingStopped(
                f"{excerpt(asking.model)}: no reply to any of {outcome.asked:,} requests ({', '.join(sorted(failed))})"
            )
        return outcome


def unasked(asking: Asking, folder: Path) -> int:
    """Requests without a final reply in the journal: a resumed run would ask them."""
    done = answered(folder)
    return sum(question.digest not in done for question in asking.questions())
