"""The benchmark of retrieval systems as Dagster configures it; `rag_settings` holds what the fields mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from resources.rag_settings import RagRun, settings_of
from resources.store import Store


class RagBenchmarkResource(dg.ConfigurableResource):
    """Which models answer and judge, and where the data sets' original files are. Off without data and a model."""

    data: str = Field(default="", description="Folder with one folder of original files a data set, by its name")
    model: str = Field(default="", description="The model that answers")
    judge: str = Field(default="", description="The model that judges; empty: none does")
    embedding: str = Field(default="", description="The model of the vectors, for dense and hybrid")
    base_url: str = Field(default="", description="OpenAI-compatible endpoint up to /v1; empty: stored replies alone")
    api_key_env: str = Field(default="", description="Environment variable that holds the API key")
    system_url: str = Field(default="", description="OpenViking server")
    questions: int = Field(default=0, ge=0, description="Sample: so many questions; 0: all")
    seed: int = 42
    top_k: int = Field(default=5, ge=1, le=1000)
    attempts: int = Field(default=6, ge=1, le=100, description="Attempts a request")

    def run(self, store: Store, dataset: str, system: str) -> RagRun | None:
        """The run of a data set with a system; None where its files are not there, or no model is named.

        Raises RagError for settings that cannot be, StoreError where the store is no local folder.
        """
        data = Path(self.data) / dataset
        if not self.data or not self.model or not data.is_dir():
            return None
        model: dict[str, Any] = {"base_url": self.base_url, "api_key_env": self.api_key_env, "attempts": self.attempts}
        values = {
            "dataset": dataset,
            "data": str(data),
            "system": {"kind": system, "base_url": self.system_url},
            "sampling": {"questions": self.questions or None, "seed": self.seed},
            "retrieval": {"top_k": self.top_k},
            "answers": {"model": self.model, **model},
            "judge": {"model": self.judge, **model},
            "embedding": {"model": self.embedding, **model},
        }
        with store.folder("rag") as folder:
            return RagRun.of(settings_of(values, "the RAG benchmark's settings"), folder.parent)
