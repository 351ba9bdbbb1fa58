"""Model endpoints and the warehouse as Dagster configures them.

What belongs here: typed settings, and what they open. What does not: asking (`opentwbench.evaluation.runner`), the
warehouse itself (`resources.warehouse`). A key is named by its environment variable, never configured.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import uvloop
from pydantic import Field

from opentwbench.evaluation.client import Endpoint, Rates
from opentwbench.evaluation.costs import Limit
from opentwbench.evaluation.items import Roster, item_set
from opentwbench.evaluation.journal import write_run
from opentwbench.evaluation.protocols import find
from opentwbench.evaluation.reuse import sources_of, take
from opentwbench.evaluation.runner import RunOutcome, Tally, run
from opentwbench.evaluation.runs import Wish, prepare
from resources.api_keys import secret_of
from resources.formosa_asking import Asker
from resources.progress import Progress
from resources.store import Store
from resources.warehouse import Warehouse, warehouse_of
from resources.warehouse_tables import Places


class ModelsResource(dg.ConfigurableResource):
    """Where models are asked, and how. Without an endpoint nothing is asked: stored responses are taken as they are."""

    base_url: str = Field(default="", description="OpenAI-compatible endpoint, up to /v1; empty: ask nothing")
    api_key_env: str = Field(default="", description="Environment variable that holds the API key; empty: none")
    protocol: str = Field(default="box", description="Name of a protocol")
    budget: int = Field(default=0, ge=0, description="Token budget; 0 is the protocol's own")
    benchmark: str = Field(default="exam", description="exam, exam_sample, formosa or rag")
    sample: str = Field(default="", description="File of item ids to ask; empty: every scored item")
    repeats: int = Field(default=1, ge=1, le=1000)
    serving_precision: str = Field(default="unknown", description="native, quantised or unknown")
    concurrency: int = Field(default=32, ge=1, le=4096)
    reuse_replies: bool = Field(
        default=True, description="Take replies of the model's earlier runs to byte-identical requests"
    )
    max_total_tokens: int = Field(default=0, ge=0, description="Spending stop; 0 is none")

    def ask(self, model: str, places: Places) -> tuple[str, RunOutcome] | None:
        """Ask the model what is published; its run id and how this start ended. None without an endpoint.

        Raises EndpointError, RunError, ProtocolError, DatasetError or JournalError for what cannot be asked.
        """
        if not self.base_url:
            return None
        chosen = frozenset(Path(self.sample).read_text(encoding="utf-8").split()) if self.sample else None
        wish = Wish(
            model=model,
            protocol=find(self.protocol, self.budget or None),
            benchmark=self.benchmark,
            repeats=self.repeats,
            serving_precision=self.serving_precision,
        )
        asked = item_set(places.folders_of(self.benchmark), item_set="scored", chosen=chosen)
        plan, record = prepare(wish, asked, Roster(asked))
        folder = places.runs / record.run_id
        write_run(folder, record, plan.protocol)
        if self.reuse_replies:
            take(plan, record, folder, sources_of(record, places.runs_of(model)))
        endpoint = Endpoint(self.base_url, secret=secret_of(self.api_key_env))
        tally, limit = Tally(record.n_items * record.repeats), Limit(self.max_total_tokens or None)
        return record.run_id, uvloop.run(run(plan, folder, endpoint, Rates(self.concurrency), tally, limit=limit))

    def asker(self, progress: Progress) -> Asker:
        """The same endpoint for requests that are no benchmark's: Formosa's drafts, judgements and pool."""
        return Asker(self.base_url, self.api_key_env, self.concurrency, self.max_total_tokens, progress)


class WarehouseResource(dg.ConfigurableResource):
    """Where the raw tables and the mart are kept."""

    folder: str = Field(default="", description="Local folder; empty: the folder 'warehouse' of a local store")

    def open(self, store: Store) -> Warehouse:
        """The warehouse of a store; raises StoreError when the store is remote and no folder is named."""
        return warehouse_of(store, self.folder)
