"""Options that many commands have: stated once, so that each reads the same variable and says the same of itself.

What belongs here: store and warehouse. What does not: an option of one command, and opening what an option names.
"""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration import variables

StoreOption = Annotated[str, typer.Option(envvar=variables.STORE, help="Folder or URL of the store.")]
StoreFolderOption = Annotated[str, typer.Option(envvar=variables.STORE, help="Folder of the store.")]
RunsStoreOption = Annotated[
    str, typer.Option(envvar=variables.STORE, help="Folder of the store; runs are in its folder runs.")
]
WarehouseOption = Annotated[
    str, typer.Option("--warehouse", help="Folder of the warehouse. Default: the store's.", show_default=False)
]
