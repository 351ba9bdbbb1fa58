"""How long the fuzz tests try: about a minute together in CI, as long as OTB_FUZZ_EXAMPLES says in `make fuzz`."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("otb-fuzz", max_examples=int(os.environ.get("OTB_FUZZ_EXAMPLES", "150")), database=None)
settings.load_profile("otb-fuzz")
