"""No committed file holds anything that looks like a credential; the patterns are tried on planted ones."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_BYTES = 5_000_000

SECRETS = {
    "private key": rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "Hugging Face token": rb"\bhf_[A-Za-z0-9]{30,}",
    "OpenAI or Anthropic key": rb"\bsk-[A-Za-z0-9_-]{32,}",
    "GitHub token": rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})",
    "AWS key": rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "Slack token or hook": rb"\bxox[abprs]-[A-Za-z0-9-]{20,}|hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/\w{16,}",
    "Google key": rb"\bAIza[A-Za-z0-9_-]{35}\b",
    "JSON web token": rb"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{15,}",
    "password in an address": rb"\b[a-z][a-z0-9+]{2,}://[^\s/:@'\"`<>{}$]+:[^\s/:@'\"`<>{}$]{3,}@[A-Za-z0-9.-]+\.[a-z]{2,}",
}


def found(data: bytes) -> list[tuple[str, bytes]]:
    """(kind, text) of everything that looks like a secret, but for addresses under the names kept for examples."""
    hits = [(kind, hit.group()) for kind, pattern in SECRETS.items() for hit in re.finditer(pattern, data)]
    return [
        (kind, text)
        for kind, text in hits
        if not re.search(rb"@(?:[a-z0-9-]+\.)*(?:example\.(?:org|com|net)|test|invalid)$", text)
    ]


def test_no_committed_file_holds_a_secret() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("no git checkout: which files are committed is not known")
    names = [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    assert len(names) > 400
    large = [name for name in names if (ROOT / name).stat().st_size > MAX_BYTES]
    assert large == [], "files too large to be looked at"
    hits = {name: kinds for name in names if (kinds := [kind for kind, _ in found((ROOT / name).read_bytes())])}
    assert hits == {}


# Put together here, so that this file holds none itself.
PLANTED = {
    "private key": "-----BEGIN " + "RSA PRIVATE KEY-----",
    "Hugging Face token": "hf_" + "a1" * 17,
    "OpenAI or Anthropic key": "sk-" + "proj-" + "a1" * 20,
    "GitHub token": "ghp_" + "a1" * 18,
    "AWS key": "AKIA" + "A1" * 8,
    "Slack token or hook": "hooks.slack.com/services/" + "T0AB/B0CD/" + "a1" * 10,
    "Google key": "AIza" + "a" * 35,
    "JSON web token": ".".join(["eyJ" + "a" * 20, "eyJ" + "b" * 20, "c" * 20]),
    "password in an address": "postgresql://otb:" + "hunter22@db.company.tw",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_planted_secret_is_found(kind: str) -> None:
    assert [name for name, _ in found(f"x = '{PLANTED[kind]}'\n".encode())] == [kind]


def test_what_stands_for_a_secret_is_none() -> None:
    text = b"HF_TOKEN=hf_anything sk-... https://user:pw@example.org/x postgresql://${USER}:${PASSWORD}@db/otb AKIA"
    assert found(text) == []
