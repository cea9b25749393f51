"""Answers each line that a client sends with the line in capitals."""

import socketserver


class Echo(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(line.upper())


with socketserver.ThreadingTCPServer(("", 7000), Echo) as server:
    server.serve_forever()
