"""The values for Dagster's Helm chart: the chart's names, and what dagster-k8s accepts. No cluster is asked."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster._config import validate_config
from dagster._core.instance.config import dagster_instance_config_schema
from dagster_k8s import K8sRunLauncher
from dagster_k8s.models import k8s_snake_case_dict
from kubernetes.client import V1Container, V1JobSpec, V1PodSpec

ROOT = Path(__file__).resolve().parents[2]
VALUES = ROOT / "deploy" / "kubernetes" / "values.yaml"

# Names of the chart's values.schema.json (helm/dagster of Dagster's repository); a name outside is ignored in silence.
TOP = {
    "additionalInstanceConfig",
    "busybox",
    "computeLogManager",
    "dagster-user-deployments",
    "dagsterDaemon",
    "dagsterWebserver",
    "flower",
    "generateCeleryConfigSecret",
    "generatePostgresqlPasswordSecret",
    "global",
    "imagePullSecrets",
    "ingress",
    "migrate",
    "postgresql",
    "pythonLogs",
    "rabbitmq",
    "redis",
    "retention",
    "runLauncher",
    "scheduler",
    "serviceAccount",
    "telemetry",
}
LAUNCHER = {
    "image",
    "imagePullPolicy",
    "jobNamespace",
    "loadInclusterConfig",
    "kubeconfigFile",
    "envConfigMaps",
    "envSecrets",
    "envVars",
    "volumeMounts",
    "volumes",
    "labels",
    "failPodOnRunFailure",
    "resources",
    "schedulerName",
    "securityContext",
    "runK8sConfig",
}
LAUNCHER_REQUIRED = {
    "imagePullPolicy",
    "loadInclusterConfig",
    "envConfigMaps",
    "envSecrets",
    "envVars",
    "volumeMounts",
    "volumes",
}
LOCATION = {
    "name",
    "image",
    "dagsterApiGrpcArgs",
    "codeServerArgs",
    "includeConfigInLaunchedRuns",
    "deploymentNamespace",
    "port",
    "env",
    "envConfigMaps",
    "envSecrets",
    "annotations",
    "nodeSelector",
    "affinity",
    "tolerations",
    "podSecurityContext",
    "securityContext",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "labels",
    "volumeMounts",
    "volumes",
    "schedulerName",
    "initContainers",
    "sidecarContainers",
}
RUN_K8S = {"containerConfig", "podSpecConfig", "podTemplateSpecMetadata", "jobSpecConfig", "jobMetadata"}
SECRET = re.compile(r"TOKEN|PASSWORD|SECRET|ACCESS_KEY|BROKER", re.IGNORECASE)


def values() -> dict[str, Any]:
    return dict(yaml.safe_load(VALUES.read_text(encoding="utf-8")))


def launcher(found: dict[str, Any]) -> dict[str, Any]:
    return dict(found["runLauncher"]["config"]["k8sRunLauncher"])


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def unknown_names(found: dict[str, Any]) -> list[str]:
    """Names that the chart does not know, and names that it demands."""
    own = launcher(found)
    faults = sorted({*found} - TOP) + sorted({*own} - LAUNCHER) + sorted(LAUNCHER_REQUIRED - {*own})
    faults += sorted({*own["runK8sConfig"]} - RUN_K8S)
    for each in found["dagster-user-deployments"]["deployments"]:
        faults += sorted({*each} - LOCATION) + sorted({"name", "image", "port"} - {*each})
    return faults


def refused_by_dagster(found: dict[str, Any]) -> list[str]:
    """What K8sRunLauncher says to the configuration that the chart makes of the values."""
    own = launcher(found)
    nested = {"runK8sConfig": "run_k8s_config", "resources": "resources"}
    made = {snake(name): value for name, value in own.items() if name not in nested}
    made["resources"] = own["resources"]
    made["run_k8s_config"] = {snake(name): value for name, value in own["runK8sConfig"].items()}
    made |= {"service_account_name": found["global"]["serviceAccountName"], "dagster_home": "/opt/dagster"}
    made |= {"instance_config_map": "otb-instance", "postgres_password_secret": found["global"]["postgresqlSecretName"]}
    made["env_secrets"] = [each["name"] for each in own["envSecrets"]]
    models = {"containerConfig": V1Container, "podSpecConfig": V1PodSpec, "jobSpecConfig": V1JobSpec}
    faults = []
    for name, model in models.items():
        try:
            k8s_snake_case_dict(model, own["runK8sConfig"].get(name, {}))
        except Exception as error:  # dagster-k8s raises no narrower one
            faults.append(str(error))
    checked = validate_config(K8sRunLauncher.config_type(), made)
    faults += [error.message for error in checked.errors or ()]
    extra = validate_config(dagster_instance_config_schema(), found["additionalInstanceConfig"])
    return faults + [error.message for error in extra.errors or ()]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, f"{path}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, path)
    else:
        yield path, value


def written_secrets(found: dict[str, Any]) -> list[str]:
    """Secrets that stand in the file: they are named (envSecrets, ...SecretName) and never written."""
    named = ("SecretName", "generatePostgresqlPasswordSecret", "generateCeleryConfigSecret")
    return [path for path, value in leaves(found) if SECRET.search(path) and value and not path.endswith(named)
            and ".envSecrets" not in path]  # fmt: skip


def as_root(found: dict[str, Any]) -> list[str]:
    pods = [found["dagsterWebserver"], found["dagsterDaemon"], *found["dagster-user-deployments"]["deployments"]]
    return [str(each.get("name")) for each in pods if not each.get("podSecurityContext", {}).get("runAsNonRoot")]


def unlimited(found: dict[str, Any]) -> list[str]:
    """Pods without a limit of memory, images without a version, ways in."""
    pods = [found["dagsterWebserver"], found["dagsterDaemon"], *found["dagster-user-deployments"]["deployments"]]
    faults = [f"no limit {each.get('name')}" for each in [*pods, launcher(found)] if "limits" not in each["resources"]]
    faults += [f"tag {each['image']['tag']}" for each in pods if each["image"]["tag"] in ("", "latest")]
    return faults + (["ingress"] if found["ingress"]["enabled"] else [])


def plant_location(found: dict[str, Any], **more: Any) -> None:
    found["dagster-user-deployments"]["deployments"][0].update(more)


RULES: dict[str, tuple[Callable[[dict[str, Any]], list[str]], Callable[[dict[str, Any]], Any]]] = {
    "names": (unknown_names, lambda v: v.update(runLaunchr={})),
    "names of the launcher": (unknown_names, lambda v: v["runLauncher"]["config"]["k8sRunLauncher"].pop("envVars")),
    "names of a location": (unknown_names, lambda v: plant_location(v, dagsterGrpcArgs=[])),
    "dagster-k8s": (
        refused_by_dagster,
        lambda v: v["runLauncher"]["config"]["k8sRunLauncher"]["runK8sConfig"]["podSpecConfig"].update(
            restartPolcy="x"
        ),
    ),
    "instance": (refused_by_dagster, lambda v: v["additionalInstanceConfig"].update(freshnes={})),
    "secrets": (written_secrets, lambda v: plant_location(v, env={"HF_TOKEN": "hf_x"})),
    "root": (as_root, lambda v: plant_location(v, podSecurityContext={})),
    "limits": (unlimited, lambda v: v["runLauncher"]["config"]["k8sRunLauncher"].update(resources={})),
    "ways in": (unlimited, lambda v: v["ingress"].update(enabled=True)),
}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_values_keep_each_rule_and_a_planted_fault_breaks_it(rule: str) -> None:
    check, plant = RULES[rule]
    assert check(values()) == []
    damaged = copy.deepcopy(values())  # anchors are shared objects
    plant(damaged)
    assert check(damaged) != []


def test_the_locations_are_those_of_the_workspace() -> None:
    workspace = yaml.safe_load((ROOT / "deploy" / "workspace.yaml").read_text(encoding="utf-8"))
    servers = {each["grpc_server"]["location_name"]: each["grpc_server"]["port"] for each in workspace["load_from"]}
    assert {each["name"]: each["port"] for each in values()["dagster-user-deployments"]["deployments"]} == servers


def test_pools_and_retries_are_those_of_the_one_machine() -> None:
    instance = yaml.safe_load((ROOT / "deploy" / "dagster.yaml").read_text(encoding="utf-8"))
    found = values()
    assert found["additionalInstanceConfig"]["concurrency"]["pools"] == instance["concurrency"]["pools"]
    assert found["dagsterDaemon"]["runRetries"] == {snake_back(n): v for n, v in instance["run_retries"].items()}


def snake_back(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
