"""The deployment's files, read by real parsers: nobody is root, nothing is unpinned, and the UI has a login.

No container engine is asked; `docker-compose config`, where Debian's package is there, reads the file as the engine's
own client does. Each rule is also tried on a planted fault.
"""

from __future__ import annotations

import copy
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from opentwbench.board.rendering import POLICY
from orchestration.definitions import alarm_settings
from resources.alarms import PASSWORD_ENV, WEBHOOK_ENV

ROOT = Path(__file__).resolve().parents[2]
PROXY = "proxy"
WORKERS = {"redis", "worker"}
"""Services of the profile `workers`."""

OWN_START = {"postgres", PROXY, "redis"}
"""Services of images that are not the platform's."""


def compose() -> dict[str, Any]:
    """docker-compose.yml with its merges and anchors resolved."""
    return dict(yaml.safe_load((ROOT / "docker-compose.yml").read_text()))


# -- rules: each returns what breaks it


def exposed(file: dict[str, Any]) -> list[str]:
    """Services beside the proxy that can be reached from outside the deployment."""
    found = []
    for name, service in file["services"].items():
        if name != PROXY and (service.get("ports") or service.get("network_mode") or service.get("expose")):
            found.append(name)
    if not file["networks"]["inside"].get("internal"):
        found.append("network inside")
    return found


def unpinned(file: dict[str, Any]) -> list[str]:
    """Services of an image without a version of three numbers or an own build."""
    pinned = re.compile(r":\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?(@sha256:[0-9a-f]{64})?$")
    return [
        name
        for name, service in file["services"].items()
        if "build" not in service and not pinned.search(service.get("image", ""))
    ]


def without(file: dict[str, Any], key: str) -> list[str]:
    """Services that lack a setting."""
    return [name for name, service in file["services"].items() if not service.get(key)]


def privileged(file: dict[str, Any]) -> list[str]:
    """Services that may gain rights, or hold the engine's socket."""
    found = []
    for name, service in file["services"].items():
        if "no-new-privileges:true" not in service.get("security_opt", ()) or service.get("privileged"):
            found.append(name)
        found += [name for volume in service.get("volumes", ()) if "docker.sock" in str(volume)]
    return found


def written_secrets(file: dict[str, Any]) -> list[str]:
    """Settings that hold a secret itself instead of naming a variable of .env."""
    found = []
    for name, service in file["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN|WEBHOOK|SECRET|KEY|AUTH|BROKER", key) and not re.fullmatch(
                r"(redis://:)?\$\{[A-Z_]+(:[-?][^{}]*)?\}(@redis:6379/0)?", value
            ):
                found.append(f"{name}.{key}")
    return found


def may_write(file: dict[str, Any]) -> list[str]:
    """Services beside the database whose file system is not read-only, or that keep a right of root's."""
    rights = {PROXY: ["NET_BIND_SERVICE"]}
    return [
        name
        for name, service in file["services"].items()
        if name != "postgres"
        and (
            service.get("read_only") is not True
            or service.get("cap_drop") != ["ALL"]
            or service.get("cap_add", []) != rights.get(name, [])
        )
    ]


def root(file: dict[str, Any]) -> list[str]:
    """Services that begin as root: the image's own user is not known to be another, and none is named.

    The platform's image has one (`test_the_dockerfile_is_pinned_and_nobody_is_root`); PostgreSQL and Caddy leave root
    by themselves, or need a port of it.
    """
    allowed = {"postgres", PROXY}
    return [
        name
        for name, service in file["services"].items()
        if str(service.get("user", "")).split(":")[0] in ("0", "root")
        or (name not in allowed and "build" not in service and not service.get("user"))
    ]


def unlimited(file: dict[str, Any]) -> list[str]:
    """Services whose processes are ours to start and have no limit of memory and processes."""
    named = {name for key in ("mem_limit", "pids_limit") for name in without(file, key)}
    return sorted(named - {"postgres", PROXY})


RULES: dict[str, tuple[Callable[[dict[str, Any]], list[str]], Callable[[dict[str, Any]], None], str]] = {
    # rule: (what breaks it, a planted fault, what is then named)
    "exposed": (exposed, lambda f: f["services"]["webserver"].update(ports=["3000:3000"]), "webserver"),
    "inside": (exposed, lambda f: f["networks"].update(inside={}), "network inside"),
    "unpinned": (unpinned, lambda f: f["services"]["postgres"].update(image="postgres:latest"), "postgres"),
    "untagged": (unpinned, lambda f: f["services"]["proxy"].update(image="caddy"), "proxy"),
    "health": (lambda f: without(f, "healthcheck"), lambda f: f["services"]["daemon"].pop("healthcheck"), "daemon"),
    "restart": (lambda f: without(f, "restart"), lambda f: f["services"]["daemon"].pop("restart"), "daemon"),
    "privileged": (privileged, lambda f: f["services"]["platform"].pop("security_opt"), "platform"),
    "socket": (
        privileged,
        lambda f: f["services"]["daemon"]["volumes"].append("/var/run/docker.sock:/var/run/docker.sock"),
        "daemon",
    ),
    "broker": (
        written_secrets,
        lambda f: f["services"]["worker"]["environment"].update(OTB_BROKER="redis://:x@redis:6379/0"),
        "worker.OTB_BROKER",
    ),
    "auth": (
        written_secrets,
        lambda f: f["services"]["redis"]["environment"].update(REDISCLI_AUTH="x"),
        "redis.REDISCLI_AUTH",
    ),
    "broker ports": (exposed, lambda f: f["services"]["redis"].update(ports=["6379:6379"]), "redis"),
    "read only": (may_write, lambda f: f["services"]["redis"].update(read_only=False), "redis"),
    "rights": (may_write, lambda f: f["services"]["worker"].update(cap_add=["SYS_ADMIN"]), "worker"),
    "root": (root, lambda f: f["services"]["redis"].pop("user"), "redis"),
    "as root": (root, lambda f: f["services"]["worker"].update(user="0:0"), "worker"),
    "limits": (unlimited, lambda f: f["services"]["worker"].pop("mem_limit"), "worker"),
    "secrets": (
        written_secrets,
        lambda f: f["services"]["postgres"]["environment"].update(POSTGRES_PASSWORD="x"),
        "postgres.POSTGRES_PASSWORD",
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_the_deployment_keeps_each_rule_and_a_planted_fault_breaks_it(rule: str) -> None:
    broken, plant, named = RULES[rule]
    file = compose()
    assert broken(file) == []
    faulty = copy.deepcopy(file)  # anchors share their lists
    plant(faulty)
    assert named in broken(faulty)


def test_the_processes_are_all_there() -> None:
    services = compose()["services"]
    assert set(services) == {"postgres", "platform", "leaderboard", "webserver", "daemon", PROXY, *WORKERS}
    # Only what asks the ministry, models or the Hub, and the proxy, have a way out.
    assert {name for name, each in services.items() if "outside" in each["networks"]} == {"platform", "worker", PROXY}
    # Keys are where runs are: in the code location, or with the profile on the worker.
    for key in ("HF_TOKEN", "OTB_API_KEY"):
        assert [name for name, each in services.items() if key in each["environment"]] == ["platform", "worker"]


# -- workers


def test_workers_are_a_profile_that_nobody_waits_for_without_it() -> None:
    services = compose()["services"]
    assert {name for name, each in services.items() if each.get("profiles")} == WORKERS
    assert all(services[name]["profiles"] == ["workers"] for name in WORKERS)
    for name in services.keys() - WORKERS:
        assert not WORKERS & set(services[name].get("depends_on", {})), name
    assert set(services["worker"]["depends_on"]) == {"postgres", "redis"}


def test_every_process_of_the_platform_has_the_same_instance_and_broker() -> None:
    services = compose()["services"]
    for key in ("DAGSTER_HOME", "OTB_BROKER"):
        values = {name: each["environment"].get(key) for name, each in services.items() if name not in OWN_START}
        assert len(values) == 5 and len(set(values.values())) == 1 and all(values.values()), key
    # Without the profile: the instance that knows no broker.
    assert services["daemon"]["environment"]["DAGSTER_HOME"] == "${OTB_DAGSTER_HOME:-/opt/dagster}"
    example = (ROOT / "deploy" / "example.env").read_text()
    [home] = re.findall(r"(?m)^# OTB_DAGSTER_HOME=(\S+)$", example)
    image = (ROOT / "Dockerfile").read_text()
    assert f"python deploy/instance.py > {home}/dagster.yaml" in image
    assert f"COPY --from=build --chown=root:root {home} {home}" in image
    [groups] = re.findall(r"(?m)^# OTB_GROUPS=(.+)$", example)
    assert services["worker"]["build"]["args"] == {"OTB_GROUPS": "${OTB_GROUPS:-deploy}"}
    known = re.findall(r"(?m)^([a-z0-9]+) = \[$", (ROOT / "pyproject.toml").read_text())
    assert {"deploy", "workers"} <= set(groups.split()) <= set(known)


def test_a_worker_takes_both_queues_and_as_many_runs_as_may_begin() -> None:
    command = compose()["services"]["worker"]["command"]
    blocks = yaml.safe_load((ROOT / "deploy" / "workers.yaml").read_text())
    most = blocks["concurrency"]["runs"]["max_concurrent_runs"]
    assert command[command.index("-c") + 1] == f"${{OTB_WORKER_RUNS:-{most}}}"
    locations = yaml.safe_load((ROOT / "deploy" / "workspace.yaml").read_text())["load_from"]
    queues = [each["grpc_server"]["location_name"] for each in locations]
    assert command[command.index("-Q") + 1].split(",") == queues
    # A run that waits in the worker's own queue is one that nobody else takes and that counts as started.
    assert "--disable-prefetch" in command
    made = [each for each in command if not each.startswith("$")]
    asked = [str(Path(sys.executable).with_name("celery")), *made[1:4], "--help"]
    environment = {**os.environ, "OTB_BROKER": "redis://127.0.0.1:9/0"}
    done = subprocess.run(asked, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert all(option in done.stdout for option in ("--disable-prefetch", "-Q", "-c", "-n"))


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed (Debian package)")
def test_the_broker_asks_for_its_password_and_does_not_start_without_one(tmp_path: Path) -> None:
    """The very command of the service, with other places for its data, its settings and its port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    shell, option, script = compose()["services"]["redis"]["command"]
    for place, here in (
        ("/data", str(tmp_path)),
        ("/tmp/redis.conf", str(tmp_path / "redis.conf")),
        ("6379", str(port)),
    ):
        assert place in script
        script = script.replace(place, here)
    script = script.replace("$$", "$")
    refused = subprocess.run(
        [shell, option, script], env={**os.environ, "REDISCLI_AUTH": ""}, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 78 and "OTB_REDIS_PASSWORD: set it in .env" in refused.stderr
    settings = {**os.environ, "REDISCLI_AUTH": "a1b2c3"}
    server = subprocess.Popen([shell, option, script], env=settings, stdout=subprocess.DEVNULL)
    try:
        assert _ping(port, settings) == "PONG"
        assert "NOAUTH" in _ping(port, {**os.environ, "REDISCLI_AUTH": ""})
        assert (tmp_path / "redis.conf").stat().st_mode & 0o077 == 0
        assert b"a1b2c3" not in Path(f"/proc/{server.pid}/cmdline").read_bytes()
        assert (tmp_path / "appendonlydir").is_dir()
    finally:
        server.terminate()
        assert server.wait(20) == 0


def _ping(port: int, settings: dict[str, str]) -> str:
    """What redis answers, as soon as it answers at all."""
    command, answer = ["redis-cli", "-p", str(port), "ping"], ""
    for _ in range(200):
        done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
        answer = (done.stdout + done.stderr).strip()
        if answer and "refused" not in answer:
            break
        time.sleep(0.1)
    return answer


def test_every_setting_of_the_alarms_reaches_the_process_that_sends_them() -> None:
    asked: list[str] = []

    class Asked(dict[str, str]):
        def get(self, name: str, otherwise: str | None = None) -> Any:
            asked.append(name)
            return otherwise

    alarm_settings(Asked())
    read = {*asked, WEBHOOK_ENV, PASSWORD_ENV}
    assert len(read) >= 9
    assert read - compose()["services"]["platform"]["environment"].keys() == set()


HASH = "$2a$14$Zkx19XLiW6VYouLHR5NmfO"
"""Of the form of bcrypt."""


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed (Debian package)")
@pytest.mark.parametrize("profile", [[], ["--profile", "workers"]])
def test_docker_compose_reads_the_file(profile: list[str], tmp_path: Path) -> None:
    example = (ROOT / "deploy" / "example.env").read_text()
    if profile:
        example = re.sub(r"(?m)^# ([A-Z_]+=)", r"\1", example).replace("COMPOSE_PROFILES=workers\n", "")
    # Between single quotes every $ of the hash is itself to compose 1 and 2; a `$$` without them is two to compose 1.
    example = example.replace("OTB_UI_PASSWORD_HASH=''", f"OTB_UI_PASSWORD_HASH='{HASH}'")
    (tmp_path / "filled.env").write_text(re.sub(r"(?m)^([A-Z_]+)=$", r"\1=x", example))
    command = [
        "docker-compose",
        "-f",
        str(ROOT / "docker-compose.yml"),
        "--env-file",
        str(tmp_path / "filled.env"),
        *profile,
        "config",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    # Compose 1 shows the services of every profile, compose 2 of those that are chosen.
    assert set(compose()["services"]) - (set() if profile else WORKERS) <= set(services) <= set(compose()["services"])
    home, groups = ("/opt/dagster-workers", "deploy s3 workers") if profile else ("/opt/dagster", "deploy")
    assert services["daemon"]["environment"]["DAGSTER_HOME"] == home
    assert services["proxy"]["environment"]["OTB_UI_PASSWORD_HASH"].replace("$$", "$") == HASH  # `config` doubles them
    assert services["platform"]["build"]["args"]["OTB_GROUPS"] == groups
    if profile:
        assert services["worker"]["environment"]["OTB_BROKER"] == "redis://:x@redis:6379/0"
    # Without the secrets it says which is missing, and starts nothing with an empty password.
    (tmp_path / "empty.env").write_text("")
    done = subprocess.run(
        [*command[:4], str(tmp_path / "empty.env"), *profile, "config"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "set it in .env" in done.stderr


# -- the proxy


def sites() -> dict[str, str]:
    """Address -> block of each site of the Caddyfile."""
    text = re.sub(r"(?m)^\s*#.*$", "", (ROOT / "deploy" / "Caddyfile").read_text())
    return {m[1]: m[2] for m in re.finditer(r"(?ms)^(\{\$[A-Z_]+\}) \{\n(.*?)^\}", text)}


def open_proxies(blocks: dict[str, str]) -> list[str]:
    """Sites that hand requests on without asking for a login first, for every path."""
    login = r"(?m)^\tbasic_auth \{\n\t\t\{\$OTB_UI_USER\} \{\$OTB_UI_PASSWORD_HASH\}"
    return [site for site, block in blocks.items() if "reverse_proxy" in block and not re.search(login, block)]


def test_the_ui_is_never_served_without_a_login() -> None:
    found = sites()
    assert set(found) == {"{$OTB_BOARD_SITE}", "{$OTB_UI_SITE}"}
    assert open_proxies(found) == []
    assert "reverse_proxy" not in found["{$OTB_BOARD_SITE}"]
    planted = {**found, "{$OTB_UI_SITE}": found["{$OTB_UI_SITE}"].replace("basic_auth", "basic_auth /admin/*")}
    assert open_proxies(planted) == ["{$OTB_UI_SITE}"]


def test_the_board_is_served_under_its_own_policy() -> None:
    [policy] = re.findall(r'Content-Security-Policy "([^"]+)"', sites()["{$OTB_BOARD_SITE}"])
    assert policy == f"{POLICY}; frame-ancestors 'none'"
    assert "unsafe" not in policy


# -- the Dockerfile: the rules of hadolint that matter here (DL3006, DL3002, DL3013, DL3020, DL3025, DL3042)


def dockerfile_faults(text: str) -> list[str]:
    """What breaks a rule, by the rule's name."""
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if line and not line.startswith("#")]
    faults = []
    images = [line.split()[1] for line in lines if line.startswith("FROM ")]
    faults += ["unpinned image" for image in images if not re.search(r":\d+\.\d+\.\d+[-\w.]*(@sha256:|$)", image)]
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    faults += ["runs as root"] if not users or users[-1] in ("root", "0") else []
    for line in lines:
        installs = re.search(r"pip install (.*)", line)
        if installs and not re.search(r'"\w[\w-]*==[\d.]+"', installs[1]):
            faults.append("unpinned package")
        if installs and "--no-cache-dir" not in line:
            faults.append("cache kept")
        faults += ["ADD"] if line.startswith("ADD ") else []
        faults += ["shell form"] if re.match(r"(CMD|ENTRYPOINT) [^\[]", line) else []
        faults += ["copies everything"] if re.match(r"COPY (--\S+ )*\. ", line) else []
        faults += ["secret"] if re.match(r"(ENV|ARG) \S*(PASSWORD|TOKEN|SECRET)", line) else []
    return faults


def test_the_dockerfile_is_pinned_and_nobody_is_root() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert dockerfile_faults(text) == []
    planted = {
        "unpinned image": text.replace("python:3.11.14-slim-bookworm", "python:3.11-slim"),
        "runs as root": text.replace("USER otb", "USER root"),
        "unpinned package": text.replace('"uv==0.13.9"', "uv"),
        "cache kept": text.replace("--no-cache-dir ", ""),
        "ADD": text + "ADD https://example.org/x /x\n",
        "shell form": text + "CMD otb\n",
        "copies everything": text + "COPY . /app\n",
        "secret": text + "ENV HF_TOKEN=x\n",
    }
    for fault, faulty in planted.items():
        assert fault in dockerfile_faults(faulty), fault


def test_the_image_gets_what_it_copies_and_nothing_else() -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    text = (ROOT / "Dockerfile").read_text()
    copied = [name for line in re.findall(r"(?m)^COPY (?!--from)(?:--\S+ )*(.*) \S+$", text) for name in line.split()]
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / name).exists() for name in copied)


def test_uv_is_the_one_of_the_makefile() -> None:
    [version] = re.findall(r"(?m)^UV_VERSION := (.+)$", (ROOT / "Makefile").read_text())
    assert f'"uv=={version}"' in (ROOT / "Dockerfile").read_text()
