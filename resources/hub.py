"""The Hub as Dagster configures it. Off unless a namespace is named; the token stays in its environment variable.

What belongs here: typed settings. What does not: pushing (`resources.hub_publishing`).
"""

from __future__ import annotations

import dagster as dg
from pydantic import Field

from resources.hub_client import Patience
from resources.hub_publishing import TOKEN_ENV, Hub, HubSettings
from resources.hub_reading import READ_SECONDS

_PATIENCE = Patience()


class HubResource(dg.ConfigurableResource):
    """Where data sets are pushed to, and as whom."""

    namespace: str = Field(default="", description="User or organisation on the Hub; empty: nothing is pushed")
    endpoint: str = Field(default="", description="Empty: HF_ENDPOINT, else the public Hub")
    token_env: str = Field(default=TOKEN_ENV, description="Environment variable that holds the token")
    private: bool = Field(default=False, description="Make new repositories private, and read them with the token")
    sample: str = Field(default="", description="File of the sample's edition; 'none' takes it away")
    attempts: int = Field(default=_PATIENCE.attempts, ge=1, le=100, description="Attempts at one step of a push")
    backoff_seconds: float = Field(default=_PATIENCE.backoff_seconds, gt=0, le=3600)
    read_seconds: float = Field(default=READ_SECONDS, gt=0, description="Longest time to read one repository back")

    @property
    def is_on(self) -> bool:
        """Whether anything is pushed."""
        return bool(self.namespace)

    def open(self) -> Hub:
        """The hub; raises HubError when it is off or the variable holds what is no token."""
        patience = Patience(attempts=self.attempts, backoff_seconds=self.backoff_seconds)
        settings = HubSettings(
            self.namespace, self.endpoint, self.token_env, self.private, self.sample, patience, self.read_seconds
        )
        return settings.open()
