"""Sends lines to a server one after the other, and prints how long each answer took."""

import socket
import sys
import time

with socket.create_connection((sys.argv[1], 7000)) as connection, connection.makefile("rw") as lines:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number in range(20):
        asked = time.perf_counter()
        lines.write(f"line {number}\n")
        lines.flush()
        answer = lines.readline().strip()
        print(f"{(time.perf_counter() - asked) * 1e6:9.3f} us  {answer}")
        time.sleep(0.005)
