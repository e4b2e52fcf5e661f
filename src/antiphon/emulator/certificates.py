"""A certificate authority of our own, and the certificate that the runtime shows.

Both are made when they are first needed and kept in the state folder. Clients trust the bundle: the public authorities
(those of the package certifi) and ours.
"""

import datetime as dt
import ipaddress
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import certifi
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from antiphon.emulator.state import EmulatorError, StateFolder

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")

AUTHORITY_DAYS = 3650
# What platforms accept of a server's certificate at most.
LEAF_DAYS = 397
RENEW_DAYS = 30
# Clocks of containers and virtual machines are not always right.
SKEW_DAYS = 1
OTHERS_MAKE_S = 10.0

AUTHORITY = "ca.pem"
AUTHORITY_KEY = "ca.key"
LEAF = "leaf.pem"
LEAF_KEY = "leaf.key"


@dataclass(frozen=True, slots=True)
class _Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def renewable(self) -> bool:
        left = self.certificate.not_valid_after_utc - dt.datetime.now(dt.UTC)
        return left < dt.timedelta(days=RENEW_DAYS)


def trust_bundle(folder: StateFolder) -> Path:
    """Return the file of every authority that a client of the emulator trusts, made anew if it is not up to date.

    Raises:
        EmulatorError: the folder cannot be written.
    """
    with _alone(folder):
        authority = _authority(folder)
        content = certifi.contents().encode() + _pem(authority.certificate)
        if not folder.bundle.exists() or folder.bundle.read_bytes() != content:
            folder.write(folder.bundle.name, content)
        return folder.bundle


def server_context(folder: StateFolder, hostnames: Iterable[str] = ()) -> ssl.SSLContext:
    """Return the TLS context of the runtime, with a certificate for the local names and `hostnames`.

    Raises:
        EmulatorError: the folder cannot be written, or a name is none.
    """
    names = frozenset({*LOCAL_NAMES, *hostnames})
    with _alone(folder):
        authority = _authority(folder)
        leaf = _read(folder, LEAF, LEAF_KEY)
        if leaf is None or leaf.renewable or _names_of(leaf) != names or not _signed(authority, leaf):
            leaf = _issue(authority, names)
            _write(folder, LEAF, LEAF_KEY, leaf)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder.path / LEAF, folder.path / LEAF_KEY)
        return context


@contextmanager
def _alone(folder: StateFolder) -> Iterator[None]:
    """Let one process at a time make certificates, or two would overwrite each other's authority."""
    with folder.locked("certificates.lock", wait_s=OTHERS_MAKE_S) as locked:
        if not locked:
            raise EmulatorError(f"another process keeps the certificates in {folder.path} locked; try again")
        yield


def _authority(folder: StateFolder) -> _Pair:
    authority = _read(folder, AUTHORITY, AUTHORITY_KEY)
    if authority is None or authority.renewable:
        authority = _found()
        _write(folder, AUTHORITY, AUTHORITY_KEY, authority)
    return authority


def _found() -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    # Named by its key: two of the same name are confused by programs that look authorities up by name.
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    name = _name(f"Antiphon local authority {identifier.digest.hex()[:12]}")
    builder = (
        _builder(name, name, key.public_key(), AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(identifier, critical=False)
    )
    return _Pair(builder.sign(key, hashes.SHA256()), key)


def _issue(authority: _Pair, names: frozenset[str]) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    builder = (
        _builder(_name("Antiphon local SageMaker"), issuer.subject, key.public_key(), LEAF_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in sorted(names)]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    return _Pair(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=SKEW_DAYS))
        .not_valid_after(now + dt.timedelta(days=days - SKEW_DAYS))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name)
    except ValueError:
        raise EmulatorError(f"{name!r} cannot be in a certificate; a host name has ASCII characters only") from None


def _names_of(leaf: _Pair) -> frozenset[str]:
    try:
        names = leaf.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(name.value) for name in names)


def _signed(authority: _Pair, leaf: _Pair) -> bool:
    try:
        leaf.certificate.verify_directly_issued_by(authority.certificate)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, a new one is issued
        return False
    return True


def _read(folder: StateFolder, certificate: str, key: str) -> _Pair | None:
    """Return what was kept, or None if there is nothing that belongs together."""
    try:
        read_key = serialization.load_pem_private_key((folder.path / key).read_bytes(), password=None)
        read = x509.load_pem_x509_certificate((folder.path / certificate).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(read_key, ec.EllipticCurvePrivateKey) or read_key.public_key() != read.public_key():
        return None
    return _Pair(read, read_key)


def _write(folder: StateFolder, certificate: str, key: str, pair: _Pair) -> None:
    plain = pair.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    folder.write(key, plain)
    folder.write(certificate, _pem(pair.certificate))


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
