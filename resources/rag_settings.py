"""The settings of a RAG benchmark: a YAML file and the command line become a plan, a system and services.

What belongs here: the schema (docs/rag.md describes it), reading it with errors that name the place, and opening what
it names. What does not: the stages (`opentwbench.rag.stages`). No Dagster: the command line starts at once.
An API key is named by its environment variable and never written down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.client import Endpoint, Rates
from opentwbench.evaluation.costs import Limit
from opentwbench.evaluation.replies import read_completion, valid_text
from opentwbench.rag.adapters import ADAPTERS
from opentwbench.rag.asking import Service
from opentwbench.rag.chunking import Cut
from opentwbench.rag.evidence import Library
from opentwbench.rag.model import RagError
from opentwbench.rag.retrieval.bm25 import Bm25
from opentwbench.rag.retrieval.embeddings import read_embeddings
from opentwbench.rag.retrieval.system import System
from opentwbench.rag.sampling import Sampling
from opentwbench.rag.stages import Plan, read_prepared
from resources.api_keys import secret_of

MAX_SETTINGS = 1_000_000
"""Most bytes of a settings file."""


RESERVED = frozenset(("model", "messages", "input", "stream", "n"))
"""Fields of a request that `parameters` may not set: who is asked and what, and in how many replies."""

MAX_DEPTH, MAX_INTEGER = 20, 2**63
"""How deep parameters may lie, and the integers that every reader of JSON holds."""


def _parameters(value: dict[str, Any]) -> dict[str, Any]:
    """Further fields of a request. Raises ValueError for a reserved one and for what JSON cannot say."""
    if taken := sorted(RESERVED & value.keys()):
        raise ValueError(f"{', '.join(taken)} cannot be set here")
    _check_json(value, MAX_DEPTH)
    return value


def _check_json(value: object, depth: int) -> None:
    if depth < 0:
        raise ValueError(f"deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("a key that is no text")
        for each in (*value, *value.values()):
            _check_json(each, depth - 1)
    elif isinstance(value, list):
        for each in value:
            _check_json(each, depth - 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a number that is not finite")
    elif isinstance(value, int):
        if not -MAX_INTEGER <= value < MAX_INTEGER:
            raise ValueError("an integer beyond 64 bits")
    elif isinstance(value, str):
        _valid(value)
    elif value is not None:
        raise ValueError(f"{type(value).__name__} is no value of JSON")


def _valid(text: str) -> str:
    """The text; ValueError for a lone surrogate, which no request and no file can hold."""
    if valid_text(text) != text:
        raise ValueError("a lone surrogate")
    return text


Text = Annotated[str, AfterValidator(_valid)]
Integer = Annotated[int, Field(ge=-MAX_INTEGER, lt=MAX_INTEGER)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, allow_inf_nan=False)


class ModelSettings(_Strict):
    """A model behind an OpenAI-compatible endpoint."""

    model: Text = Field(default="", description="Name of the model as the endpoint knows it")
    base_url: Text = Field(
        default="", description="Endpoint up to /v1; empty: stored replies are read, nothing is asked"
    )
    api_key_env: str = Field(default="", description="Environment variable that holds the API key")
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=512, ge=1, le=1_000_000)
    parameters: Annotated[dict[str, Any], AfterValidator(_parameters)] = Field(
        default_factory=dict, description="Further fields of every request; none of RESERVED"
    )
    concurrency: int = Field(default=8, ge=1, le=4096, description="Most requests at a time")
    requests_per_minute: float | None = Field(default=None, gt=0)
    timeout: float = Field(default=600.0, gt=0, description="Seconds for one request")
    attempts: int = Field(default=6, ge=1, le=100, description="Attempts a request")
    max_total_tokens: int | None = Field(default=None, ge=1, description="Spending stop")

    def fields(self) -> dict[str, Any]:
        """What goes into every request body."""
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, **self.parameters}

    def service(self, name: str, path: str = "/chat/completions") -> Service:
        """The model as a service; without a base URL it is asked nothing."""
        embedding = path == "/embeddings"
        return Service(
            name=name,
            model=self.model,
            endpoint=self._endpoint(path) if self.base_url else None,
            rates=Rates(self.concurrency, True, self.requests_per_minute),
            limit=Limit(self.max_total_tokens),
            parameters=self.parameters if embedding else self.fields(),
            read=read_embeddings if embedding else read_completion,
        )

    def _endpoint(self, path: str) -> Endpoint:
        return Endpoint(
            self.base_url,
            secret=secret_of(self.api_key_env),
            timeout=self.timeout,
            attempts=self.attempts,
            path=path,
            max_body=64 << 20 if path == "/embeddings" else 8 << 20,
        )


class JudgeSettings(ModelSettings):
    """The judge: a model, and how often it is asked again when it gives no verdict."""

    verdict_attempts: int = Field(default=3, ge=1, le=10, description="Times it is asked for one verdict")
    judging: Literal["score", "ragas"] | None = Field(
        default=None, description="0 to 4, or the four metrics; null: the metrics where contexts are offered"
    )


class EmbeddingSettings(ModelSettings):
    """The model of the vectors."""

    batch: int = Field(default=32, ge=1, le=2048, description="Texts a request")


class SystemSettings(_Strict):
    """The system under test."""

    kind: Literal["bm25", "dense", "hybrid", "openviking", "contexts"] | None = Field(
        default=None, description="null: contexts for tw_rag, which offers them with each question, else bm25"
    )
    chunk_size: int = Field(default=1_000, ge=50, le=100_000, description="Characters of a chunk")
    chunk_overlap: int = Field(default=0, ge=0, description="Characters that a chunk repeats of the one before")
    ingest_mode: Literal["directory", "per_file"] = Field(
        default="directory", description="OpenViking: one archive, or each file"
    )
    base_url: Text = Field(default="", description="OpenViking: its server, e.g. http://127.0.0.1:1933")
    api_key_env: str = Field(default="", description="OpenViking: environment variable that holds its key")


class SamplingSettings(_Strict):
    """What is drawn of the data set."""

    documents: int | None = Field(default=None, ge=1, description="Documents, with all their questions; null: all")
    questions: int | None = Field(default=None, ge=1, description="Questions, of the drawn documents; null: all")
    stratified: bool = Field(default=True, description="Questions in proportion to their categories")
    seed: Integer = 42


class RetrievalSettings(_Strict):
    """How questions are looked up and what a prompt shows."""

    top_k: int = Field(default=5, ge=1, le=1_000)
    context_characters: int = Field(
        default=8_000, ge=100, le=10_000_000, description="Passages' characters in a prompt"
    )
    instruction: Text = Field(default="", max_length=10_000, description="Put before every query")
    max_queries: int | None = Field(default=None, ge=1, description="Only the first so many questions")


class RagSettings(_Strict):
    """A settings file."""

    dataset: Text = Field(description="Name of the adapter")
    data: Text = Field(default="", description="Folder of the original files")
    system: SystemSettings = SystemSettings()
    sampling: SamplingSettings = SamplingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    answers: ModelSettings = ModelSettings()
    judge: JudgeSettings = JudgeSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    instructions: dict[Text, Text] | None = Field(default=None, description="Question type -> text, instead of ours")

    @property
    def kind(self) -> str:
        """The system under test."""
        return self.system.kind or ("contexts" if self.dataset == "tw_rag" else "bm25")

    def plan(self) -> Plan:
        """What is asked. Raises RagError."""
        if self.dataset not in ADAPTERS:
            raise RagError(f"dataset: {excerpt(self.dataset)} is none; there are {', '.join(ADAPTERS)}")
        if self.kind == "contexts" and self.dataset != "tw_rag":
            raise RagError(f"system.kind: {self.dataset} offers no contexts with its questions")
        vectors = self.kind in ("dense", "hybrid")
        return Plan(
            benchmark=self.dataset,
            system=self.kind,
            generator=self.answers.model,
            judge=self.judge.model,
            sampling=Sampling(**self.sampling.model_dump()),
            cut=self._cut(),
            top_k=self.retrieval.top_k,
            context_characters=self.retrieval.context_characters,
            max_queries=self.retrieval.max_queries,
            retrieval_instruction=self.retrieval.instruction,
            ingest_mode=self.system.ingest_mode,
            embedding=self.embedding.model if vectors else "",
            embedding_parameters=self.embedding.parameters if vectors else {},
            system_url=self.system.base_url.rstrip("/") if self.kind == "openviking" else "",
            instructions=self.instructions,
            parameters=self.answers.fields(),
            judge_parameters=self.judge.fields(),
            judge_attempts=self.judge.verdict_attempts,
            judging=self.judge.judging or ("ragas" if self.kind == "contexts" else "score"),
        )

    def _cut(self) -> Cut:
        return Cut(self.system.chunk_size, self.system.chunk_overlap)

    def open_system(self, folder: Path) -> System:
        """The system under test, keeping what it has in the run's folder. Raises RagError or EndpointError."""
        return OPENERS[self.kind](self, folder)


def _bm25(settings: RagSettings, folder: Path) -> Bm25:
    return Bm25(folder / "index" / "bm25", settings._cut())


def _dense(settings: RagSettings, folder: Path) -> Any:
    from opentwbench.rag.retrieval.dense import Dense

    service = settings.embedding.service("embedding", "/embeddings")
    return Dense(folder / "index" / "dense", settings._cut(), service, settings.embedding.batch)


def _hybrid(settings: RagSettings, folder: Path) -> Any:
    from opentwbench.rag.retrieval.hybrid import Hybrid

    return Hybrid(_bm25(settings, folder), _dense(settings, folder))


def _openviking(settings: RagSettings, folder: Path) -> Any:
    from opentwbench.rag.retrieval.openviking import OpenViking, Server

    if not settings.system.base_url:
        raise RagError("system.base_url: the address of the OpenViking server is missing")
    library = Library(read_prepared(folder).benchmark.documents)
    root = f"viking://resources/otb-{settings.plan().name}".replace(".", "-")
    server = Server(settings.system.base_url, root, secret_of(settings.system.api_key_env))
    return OpenViking(folder / "index" / "openviking", server, library, settings.system.ingest_mode)


def _contexts(settings: RagSettings, folder: Path) -> Any:
    from opentwbench.rag.retrieval.offered import Offered

    return Offered(read_prepared(folder).benchmark)


OPENERS: Mapping[str, Callable[[RagSettings, Path], System]] = {
    "bm25": _bm25,
    "dense": _dense,
    "hybrid": _hybrid,
    "openviking": _openviking,
    "contexts": _contexts,
}


class _Loader(yaml.SafeLoader):
    """Plain YAML: nothing but texts, numbers, booleans, null, lists and mappings with texts as keys.

    No alias (a few lines of them can stand for gigabytes), no tag, no key twice. What YAML would make a date of is the
    text that was written.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse an alias, a tag, and nesting beyond MAX_DEPTH."""
        event = self.peek_event()
        if isinstance(event, yaml.events.AliasEvent):
            raise _fault("aliases are not read", event)
        if getattr(event, "tag", None) is not None:
            raise _fault("tags are not read", event)
        self.depth = getattr(self, "depth", 0) + 1
        if self.depth > MAX_DEPTH:
            raise _fault(f"deeper than {MAX_DEPTH} levels", event)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that is no text, or that stands twice."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != _TEXT:
                raise _fault("a key that is no text", key)
            if key.value in seen:
                raise _fault(f"{key.value} stands twice", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_integer(self, node: Any) -> int:
        """Refuse an integer of more digits than anybody means; Python itself fails at 4,300."""
        if len(node.value) > 40:
            raise _fault("an integer of more than 40 digits", node)
        return self.construct_yaml_int(node)


_TEXT = "tag:yaml.org,2002:str"
_UNREAD = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")
"""What a plain word is not taken for: a date, << and =."""

_Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag not in _UNREAD]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_integer)


def _fault(problem: str, where: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=where.start_mark)


def read_settings(path: Path) -> dict[str, Any]:
    """The mapping of a settings file, not yet checked against the schema. Raises RagError naming line and reason."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RagError(f"{path}: {error.strerror}") from None
    if len(data) > MAX_SETTINGS:
        raise RagError(f"{path.name}: {len(data):,} bytes, more than {MAX_SETTINGS:,}")
    try:
        value = yaml.load(data.decode(), _Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise RagError(f"{path.name} line {line}: {excerpt(error.problem or 'no YAML', 200)}") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise RagError(f"{path.name}: no YAML: {type(error).__name__}") from None
    if not isinstance(value, dict):
        raise RagError(f"{path.name}: not a mapping")
    return value


def settings_of(values: Mapping[str, Any], name: str = "settings") -> RagSettings:
    """The settings of a mapping. Raises RagError naming every field that is wrong, and why."""
    try:
        return RagSettings.model_validate(values)
    except ValidationError as error:
        said = [f"{'.'.join(map(str, each['loc']))}: {each['msg'].lower()}" for each in error.errors()[:10]]
        raise RagError(f"{name}: " + "; ".join(excerpt(text, 200) for text in said)) from None


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, mapping by mapping; a None of `over` changes nothing."""
    result = dict(base)
    for key, value in over.items():
        if isinstance(value, Mapping):
            held = result.get(key)
            if inner := merged(held if isinstance(held, Mapping) else {}, value):
                result[key] = inner
        elif value is not None:
            result[key] = value
    return result


@dataclass(frozen=True, slots=True)
class RagRun:
    """A run that can be carried out: its settings, its plan and its folder."""

    settings: RagSettings
    plan: Plan
    folder: Path

    @classmethod
    def of(cls, settings: RagSettings, store: Path) -> RagRun:
        """The run of some settings, in the folder rag of a local store. Raises RagError."""
        plan = settings.plan()
        return cls(settings, plan, store / "rag" / plan.name)

    @property
    def generator(self) -> Service:
        """The model that answers."""
        return self.settings.answers.service("answer")

    @property
    def judge(self) -> Service:
        """The model that judges."""
        return self.settings.judge.service("judge")
