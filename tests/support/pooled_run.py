"""One run of `model_responses` in a process of its own, at the same time as others.

    python -m support.pooled_run STORE BASE_URL MODEL BARRIER COUNT

It begins when COUNT processes have put their file into the folder BARRIER.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import dagster as dg

from assets.evaluation import model_responses
from orchestration.configuration import Configuration
from orchestration.pools import pooled
from resources.models import ModelsResource
from resources.partitions import models, partition_of
from resources.settings import StoreResource


def main(store: str, base_url: str, model: str, barrier: str, count: str) -> int:
    """Ask the model, one request at a time; 0 when the run succeeded."""
    configuration = Configuration(store=store, endpoint={"base_url": base_url, "concurrency": 1})
    resources = {"store": StoreResource(url=store), "endpoints": ModelsResource(**configuration.endpoint)}
    key = partition_of(model)
    with dg.DagsterInstance.get() as instance:
        instance.add_dynamic_partitions(str(models.name), [key])
        (Path(barrier) / str(os.getpid())).touch()
        end = time.monotonic() + 240
        while len(list(Path(barrier).iterdir())) < int(count):
            if time.monotonic() > end:
                return 2
            time.sleep(0.05)
        made = dg.materialize(
            pooled([model_responses], configuration),
            instance=instance,
            partition_key=key,
            resources=resources,
            raise_on_error=False,
        )
    return int(not made.success)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
