"""`python -m samples build OUT_DIR [--day 2]` writes the sample ministry, `python -m samples rag OUT_DIR` the data sets
of the retrieval benchmark."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.progress import Progress

from samples.ministry import NotASampleError, build
from samples.rag.documents import NAMES
from samples.rag.documents import write as write_documents
from samples.sittings import papers


def main(arguments: list[str] | None = None) -> int:
    """Parse the arguments and build; exit status 1 when the folder is not ours to replace."""
    parser = argparse.ArgumentParser(prog="python -m samples", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="write the sample ministry (a mirror and truth.json)")
    building.add_argument("out", type=Path, metavar="OUT_DIR")
    building.add_argument("--day", type=int, choices=(1, 2), default=1, help="2: a new sitting and one corrected key")
    retrieval = commands.add_parser("rag", help="write small data sets in the layouts of the retrieval benchmark")
    retrieval.add_argument("out", type=Path, metavar="OUT_DIR")
    options = parser.parse_args(arguments)
    out = options.out.resolve()
    if options.command == "rag":
        print(f"{write_documents(out)} files of {len(NAMES)} data sets in {out}")
        return 0
    try:
        with Progress(transient=True) as bar:
            task = bar.add_task("typesetting", total=len(papers(options.day)))
            build(out, options.day, lambda name: bar.update(task, advance=1, description=name))
    except NotASampleError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(papers(options.day))} papers in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
