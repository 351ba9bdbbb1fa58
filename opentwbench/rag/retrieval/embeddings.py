"""Embeddings of an OpenAI-compatible endpoint: requests in batches, replies checked, vectors of length one.

The endpoint's reply is hostile until checked, and before it counts: `index` orders the vectors and must be a
permutation, as many as texts were asked for, values are finite, no vector is of length zero, all are of one dimension,
given as numbers or as base64 of little-endian float32 (facts on retrieval).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from opentwbench.evaluation.model import ErrorClass, Response
from opentwbench.evaluation.replies import Failure, Reply
from opentwbench.rag.asking import Ask, Service
from opentwbench.rag.model import RagError

MAX_DIMENSION = 65_536

Matrix = npt.NDArray[np.float32]


def read_embeddings(body: bytes, secret: str = "") -> Reply | Failure:
    """A reply of /embeddings. The vectors become the reply's content, as JSON that `vectors_of` reads back."""
    try:
        record = json.loads(body)
        vectors = _vectors(record)
    except ValueError as error:
        # A decoder's message may quote the body; ours are short and name a rule.
        why = "no JSON" if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) else str(error)
        return Failure(ErrorClass.UNREADABLE, f"no embeddings: {why}"[:200], retry=True)
    except (TypeError, KeyError, RecursionError, OverflowError) as error:
        return Failure(ErrorClass.UNREADABLE, f"no embeddings: {type(error).__name__}"[:200], retry=True)
    usage = record.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    counted = tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 2**53 else None
    packed = {"shape": list(vectors.shape), "float32": base64.b64encode(vectors.tobytes()).decode("ascii")}
    return Reply(content=json.dumps(packed), prompt_tokens=counted, completion_tokens=None if counted is None else 0)


def _vectors(record: Any) -> Matrix:
    entries = record["data"]
    if not isinstance(entries, list) or not entries:
        raise ValueError("no data")
    if any(isinstance(entry["index"], bool) for entry in entries):
        raise ValueError("index is no number")
    by_index = {entry["index"]: _vector(entry["embedding"]) for entry in entries}
    if sorted(by_index) != list(range(len(entries))):
        raise ValueError("index is no permutation")
    if len({len(vector) for vector in by_index.values()}) != 1:
        raise ValueError("vectors of several dimensions")
    matrix = np.stack([by_index[n] for n in range(len(entries))])
    if not np.isfinite(matrix).all() or not 0 < matrix.shape[1] <= MAX_DIMENSION:
        raise ValueError("values that are no vectors")
    if not matrix.any(axis=1).all():
        raise ValueError("a vector of length zero")
    return matrix


def _vector(value: object) -> Matrix:
    if isinstance(value, str):
        try:
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
        except binascii.Error as error:
            raise ValueError("no base64") from error
    if not isinstance(value, list) or any(
        isinstance(each, bool) or not isinstance(each, int | float) for each in value
    ):
        raise ValueError("no list of numbers")
    with np.errstate(over="ignore"):  # what is beyond float32 becomes infinite, which is refused
        return np.array(value, dtype=np.float64).astype(np.float32)


def ask_for(service: Service, ask_id: str, texts: Sequence[str]) -> Ask:
    """The request for the vectors of some texts."""
    return Ask(ask_id, {"model": service.model, **service.parameters, "input": list(texts)})


def doubt_of(ask: Ask, content: str | None, dimension: int | None = None) -> str:
    """Why a reply's vectors are not those of the request's texts, of `dimension` where one is given; '' if they are."""
    try:
        unit_vectors(content, len(ask.body["input"]), dimension)
    except ValueError as error:
        return str(error)
    return ""


def unit_vectors(content: str | None, expected: int, dimension: int | None = None) -> Matrix:
    """The vectors of a stored reply, each of length one. Raises ValueError."""
    try:
        packed = json.loads(content or "")
        rows, columns = packed["shape"]
        matrix = np.frombuffer(base64.b64decode(packed["float32"]), dtype=np.float32).reshape(rows, columns)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"no vectors stored: {type(error).__name__}") from None
    if rows != expected:
        raise ValueError(f"{rows} vectors for {expected} texts")
    if dimension is not None and columns != dimension:
        raise ValueError(f"vectors of {columns} dimensions, not of {dimension}")
    # In 64 bits: the square of 3e38 is beyond the 32 that a vector is kept in.
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError("a vector of length zero")
    unit: Matrix = (matrix / lengths).astype(np.float32)
    return unit


def vectors_of(response: Response, expected: int) -> Matrix:
    """The vectors of a response, one row a text, each of length one. Raises RagError for any other reply."""
    try:
        return unit_vectors(response.content, expected)
    except ValueError as error:
        raise RagError(f"embedding {response.item_id}: {error}") from None
