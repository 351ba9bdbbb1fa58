"""The deployment's files, read by real parsers: nobody is root, nothing is unpinned, and the UI has a login.

No container engine is asked; `docker-compose config`, where Debian's package is there, reads the file as the engine's
own client does. Each rule is also tried on a planted fault.
"""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from opentwbench.board.rendering import POLICY

ROOT = Path(__file__).resolve().parents[2]
PROXY = "proxy"


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
            if re.search("PASSWORD|TOKEN|WEBHOOK|SECRET|KEY", key) and not re.fullmatch(
                r"\$\{[A-Z_]+(:[-?].*)?\}", value
            ):
                found.append(f"{name}.{key}")
    return found


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
    assert set(services) == {"postgres", "platform", "leaderboard", "webserver", "daemon", PROXY}
    # Only what asks the ministry, models or the Hub, and the proxy, have a way out.
    assert {name for name, each in services.items() if "outside" in each["networks"]} == {"platform", PROXY}
    # Each key is in one service.
    assert [name for name, each in services.items() if "HF_TOKEN" in each["environment"]] == ["platform"]


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed (Debian package)")
def test_docker_compose_reads_the_file(tmp_path: Path) -> None:
    example = (ROOT / "deploy" / "example.env").read_text()
    (tmp_path / "filled.env").write_text(re.sub(r"(?m)^([A-Z_]+)=$", r"\1=x", example))
    command = [
        "docker-compose",
        "-f",
        str(ROOT / "docker-compose.yml"),
        "--env-file",
        str(tmp_path / "filled.env"),
        "config",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(yaml.safe_load(done.stdout)["services"]) == set(compose()["services"])
    # Without the secrets it says which is missing, and starts nothing with an empty password.
    (tmp_path / "empty.env").write_text("")
    done = subprocess.run(
        [*command[:4], str(tmp_path / "empty.env"), "config"], capture_output=True, text=True, check=False
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
