"""TLS: a server that leaves its intermediate certificate out, as the ministry's does. Verification is never off."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.tiny_mirror import FakeClock, paper_url, write_mirror

from opentwbench.exam.polite import CertificateNotVerified, Politeness
from opentwbench.exam.retrieval import Retriever
from samples.loopback import LoopbackMinistry

pytest.importorskip("cryptography", reason="certificates are made with cryptography, which is not installed")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Q0 = paper_url("Q", "0000")
QUICK = Politeness(delay_seconds=0, jitter_seconds=0)


class Issued:
    """A certificate with its key."""

    def __init__(self, name: str, issuer: Issued | None, *, authority: bool) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        by = issuer or self
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(self.subject)
            .issuer_name(by.subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.key.public_key()), critical=False)
        )
        if authority:
            builder = builder.add_extension(_AUTHORITY_USAGE, critical=True)
        else:
            address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        self.certificate = builder.sign(by.key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


_AUTHORITY_USAGE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """PEM files: root, intermediate, the server's own certificate with its key, and a foreign root."""
    folder = tmp_path_factory.mktemp("chain")
    root = Issued("Test Root", None, authority=True)
    intermediate = Issued("Test Intermediate", root, authority=True)
    server = Issued("127.0.0.1", intermediate, authority=False)
    contents = {
        "root": root.pem,
        "intermediate": intermediate.pem,
        "server": server.pem + server.key_pem,
        "foreign": Issued("Foreign Root", None, authority=True).pem,
    }
    for name, data in contents.items():
        (folder / f"{name}.pem").write_bytes(data)
    return {name: folder / f"{name}.pem" for name in contents}


@pytest.fixture
def ministry(tmp_path: Path, chain: dict[str, Path]) -> Iterator[LoopbackMinistry]:
    """Sends its own certificate only, as the ministry does."""
    write_mirror(tmp_path / "mirror", 1)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(chain["server"])
    with LoopbackMinistry(tmp_path / "mirror", tls=tls) as server:
        yield server


def bundle(tmp_path: Path, chain: dict[str, Path], *names: str) -> Path:
    path = tmp_path / "bundle.pem"
    path.write_bytes(b"".join(chain[name].read_bytes() for name in names))
    return path


def fetch(ministry: LoopbackMinistry, tmp_path: Path, ca_bundle: Path | None) -> Any:
    clock = FakeClock()
    with Retriever(ministry.base_url, tmp_path / "cache", QUICK, ca_bundle=ca_bundle, clock=clock) as retriever:
        outcome = retriever.fetch(Q0)
        assert clock.sleeps == []
        return outcome


def test_the_supplied_intermediate_completes_the_chain(
    ministry: LoopbackMinistry, tmp_path: Path, chain: dict[str, Path]
) -> None:
    # The system's store does not know the test's root, so the bundle carries it too.
    assert fetch(ministry, tmp_path, bundle(tmp_path, chain, "root", "intermediate")).status == "fetched"


@pytest.mark.parametrize("names", [(), ("root",), ("foreign",), ("foreign", "intermediate")])
def test_an_incomplete_or_foreign_chain_stops_with_what_to_do(
    ministry: LoopbackMinistry, tmp_path: Path, chain: dict[str, Path], names: tuple[str, ...]
) -> None:
    if (
        names == ("foreign", "intermediate")
        and ssl.create_default_context().verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    ):
        pytest.skip("this Python trusts a supplied intermediate by itself")
    with pytest.raises(CertificateNotVerified, match="save that certificate as a PEM file") as stopped:
        fetch(ministry, tmp_path, bundle(tmp_path, chain, *names) if names else None)
    assert "ca_bundle" in str(stopped.value)
    assert "unable to get" in stopped.value.detail
    assert ministry.log == ()


def test_a_certificate_of_another_host_stops(
    ministry: LoopbackMinistry, tmp_path: Path, chain: dict[str, Path]
) -> None:
    ministry.base_url = ministry.base_url.replace("127.0.0.1", "localhost")
    with pytest.raises(CertificateNotVerified, match=r"(?i)hostname mismatch"):
        fetch(ministry, tmp_path, bundle(tmp_path, chain, "root", "intermediate"))


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_bundle_that_cannot_be_read_is_named(
    ministry: LoopbackMinistry, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "empty.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"ca_bundle .*empty\.pem holds no certificates"):
        fetch(ministry, tmp_path, path)
