"""Sends some bytes to a server over QUIC, and prints how long they took."""

import asyncio
import socket
import ssl
import sys
import time

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection


async def main(server: str, size: int) -> None:
    configuration = QuicConfiguration(alpn_protocols=["daybreak"], verify_mode=ssl.CERT_NONE)
    began = time.perf_counter()
    # aioquic's connect() opens a socket of IPv6, which a kernel as it is built by default does not have.
    _, client = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicConnectionProtocol(QuicConnection(configuration=configuration)), local_addr=("0.0.0.0", 0)
    )
    client.connect((socket.gethostbyname(server), 4433))
    await client.wait_connected()
    reader, writer = await client.create_stream()
    writer.write(bytes(size))
    writer.write_eof()
    received = int(await reader.read())
    took = time.perf_counter() - began
    print(f"{received} bytes in {took * 1e3:.3f} ms, {received * 8 / took / 1e6:.1f} Mbit/s")
    client.close()
    await client.wait_closed()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
