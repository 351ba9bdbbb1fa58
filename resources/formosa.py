"""The settings of the Formosa track as Dagster shows and validates them; `formosa_plan` holds what they mean."""

from __future__ import annotations

from dataclasses import fields

import dagster as dg
from pydantic import Field

from opentwbench.formosa.windows import LIMIT, TAIL
from resources.formosa_plan import FormosaPlan
from resources.store import Store


class FormosaResource(dg.ConfigurableResource):
    """What an edition is made from and with. What is empty is taken from the last build of the store."""

    corpus: str = Field(default="", description="Folder or git checkout of Taiwan.md")
    commit: str = Field(default="", description="Read this commit of the checkout; empty: the folder as it is")
    stated: str = Field(default="", description="The commit that a plain folder was copied from")
    limit: int = Field(default=0, ge=0, description=f"A window closes before so many characters; 0: {LIMIT:,}")
    tail: int = Field(default=-1, ge=-1, description=f"A shorter last window is joined to the one before; -1: {TAIL}")
    model: str = Field(default="", description="The drafting model")
    judges: list[str] = Field(default=[], description="Candidate judges of the planted-defect study")
    judge: str = Field(default="", description="The judge that grounds; empty: the first candidate that passes")
    pool: list[str] = Field(default=[], description="Models of the pool, asked every grounded item")
    external: list[str] = Field(default=[], description="Models asked beside the pool: they select nothing")
    runs: list[str] = Field(default=[], description="Run folders of further pool members, asked elsewhere")
    submissions: list[str] = Field(default=[], description="Folders of submissions that are pool members")
    band: str = Field(default="", description="Pass counts to keep, LOW-HIGH; empty: what not all of the pool pass")
    edition: str = Field(default="", description="Name of the edition")
    date: str = Field(default="", description="Its date, YYYY-MM-DD: nothing here asks a clock")
    lexicon: str = Field(default="", description="Folder of the orthography lists; empty: a small list of our own")
    good: str = Field(default="", description="Good drafts that a person looked at (JSONL); empty: chosen by rule")
    findings: str = Field(default="", description="Further findings, e.g. a maintainer's (JSONL)")
    pull: bool = Field(default=False, description="Pull the corpus's checkout before it is cut (--ff-only)")
    withdrawn: str = Field(default="", description="Items that stay published and leave the scored set (JSONL)")

    def plan(self, store: Store) -> FormosaPlan:
        """The settings, completed by what the store keeps."""
        names = [each.name for each in fields(FormosaPlan)]
        return FormosaPlan.of({name: getattr(self, name) for name in names}).kept_in(store)
