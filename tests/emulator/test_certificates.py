"""The authority and the certificate: made once, renewed when needed, believed by TLS."""

import ssl
from pathlib import Path

import certifi
import pytest
from cryptography import x509

from antiphon.emulator import certificates
from antiphon.emulator.certificates import server_context, trust_bundle
from antiphon.emulator.state import EmulatorError, StateFolder

AMAZON = "runtime.sagemaker.us-east-1.amazonaws.com"


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path)


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> bool:
    """Shake hands in memory; return whether both sides are done."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client.wrap_bio(to_client, to_server, server_hostname=name)
    two = server.wrap_bio(to_server, to_client, server_side=True)
    done = set()
    for _ in range(4):
        for side in (one, two):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            done.add(side)
    return done == {one, two}


def client_context(folder: StateFolder) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(trust_bundle(folder)))
    # As strict as Python 3.13 is by default.
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", AMAZON])
def test_a_client_with_the_bundle_believes_it(name: str, folder: StateFolder) -> None:
    server = server_context(folder, [AMAZON])
    assert handshake(server, client_context(folder), name)


def test_a_name_that_was_not_asked_for_is_not_believed(folder: StateFolder) -> None:
    server = server_context(folder)
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(server, client_context(folder), AMAZON)


def test_a_client_without_the_bundle_does_not_believe_it(folder: StateFolder) -> None:
    server = server_context(folder)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, ssl.create_default_context(cafile=certifi.where()), "localhost")


def files(folder: StateFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.path.glob("*.pem")}


def test_they_are_made_once(folder: StateFolder) -> None:
    trust_bundle(folder)
    server_context(folder)
    before = files(folder)
    server_context(folder)
    trust_bundle(folder)
    assert files(folder) == before
    assert set(before) == {"ca.pem", "leaf.pem", "bundle.pem"}


def test_other_names_make_another_leaf_of_the_same_authority(folder: StateFolder) -> None:
    server_context(folder)
    before = files(folder)
    server_context(folder, [AMAZON, "10.0.0.1"])
    after = files(folder)
    assert after["ca.pem"] == before["ca.pem"]
    assert after["leaf.pem"] != before["leaf.pem"]
    names = x509.load_pem_x509_certificate(after["leaf.pem"]).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert {str(name.value) for name in names.value} == {"localhost", "127.0.0.1", "::1", "10.0.0.1", AMAZON}


def test_what_ends_soon_is_renewed(folder: StateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "LEAF_DAYS", certificates.RENEW_DAYS)
    server_context(folder)
    before = files(folder)
    monkeypatch.undo()
    server_context(folder)
    after = files(folder)
    assert (after["ca.pem"] == before["ca.pem"], after["leaf.pem"] == before["leaf.pem"]) == (True, False)


def test_another_authority_makes_another_bundle_and_leaf(folder: StateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "AUTHORITY_DAYS", certificates.RENEW_DAYS)
    trust_bundle(folder)
    server_context(folder)
    before = files(folder)
    monkeypatch.undo()
    assert handshake(server_context(folder), client_context(folder), "localhost")
    after = files(folder)
    assert all(after[name] != before[name] for name in before)


@pytest.mark.parametrize("name", ["ca.pem", "ca.key", "leaf.pem", "leaf.key", "bundle.pem"])
@pytest.mark.parametrize("broken", [b"", b"-----BEGIN CERTIFICATE-----\n", None])
def test_a_file_that_is_broken_or_gone_is_made_anew(name: str, broken: bytes | None, folder: StateFolder) -> None:
    trust_bundle(folder)
    server_context(folder)
    if broken is None:
        (folder.path / name).unlink()
    else:
        (folder.path / name).write_bytes(broken)
    assert handshake(server_context(folder), client_context(folder), "localhost")


def test_the_bundle_has_the_public_authorities_too(folder: StateFolder) -> None:
    bundle = trust_bundle(folder).read_text()
    assert bundle.startswith(certifi.contents())
    assert bundle.count("BEGIN CERTIFICATE") == certifi.contents().count("BEGIN CERTIFICATE") + 1


def test_keys_are_for_their_owner_only(folder: StateFolder) -> None:
    server_context(folder)
    for name in ("ca.key", "leaf.key"):
        assert (folder.path / name).stat().st_mode & 0o077 == 0


def test_a_name_that_is_none_is_explained(folder: StateFolder) -> None:
    with pytest.raises(EmulatorError, match="cannot be in a certificate"):
        server_context(folder, ["sägewerk.example"])


def test_two_do_not_make_certificates_at_once(folder: StateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "OTHERS_MAKE_S", 0.05)
    with (
        folder.locked("certificates.lock", wait_s=0),
        pytest.raises(EmulatorError, match="another process"),
    ):
        trust_bundle(folder)
