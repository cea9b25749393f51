"""Answers each QUIC stream with the number of bytes that came on it."""

import asyncio
import datetime
from pathlib import Path

from aioquic.asyncio import serve
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificate() -> tuple[Path, Path]:
    """A certificate that the server signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "daybreak")])
    now = datetime.datetime.now(datetime.timezone.utc)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    files = Path("certificate.pem"), Path("key.pem")
    files[0].write_bytes(signed.public_bytes(pem))
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(pem, form, plain))
    return files


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    received = len(await reader.read())
    writer.write(f"{received}".encode())
    writer.write_eof()


def started(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    tasks.add(asyncio.ensure_future(answer(reader, writer)))


async def main() -> None:
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["daybreak"])
    configuration.load_cert_chain(*certificate())
    await serve("0.0.0.0", 4433, configuration=configuration, stream_handler=started)
    await asyncio.Future()


tasks: set[asyncio.Future] = set()
asyncio.run(main())
