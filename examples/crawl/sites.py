#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Three small sites on loopback addresses, for a crawler to visit.

Prints their URLs on one line, then serves until it is ended.  Each page takes PACE seconds (default
0.2).  One page asks for a pause the first time it is fetched.
"""
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PACE = float(os.environ.get("PACE", "0.2"))
PAUSE_S = 2
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
SITES = {  # page: what it links to
    "127.0.0.1": {"/": ["/harbour", "/mill", "/market"], "/harbour": ["/", "/boats", "/mill"],
                  "/mill": ["/", "/harbour", "/flour"], "/market": ["/", "/boats", "/fish"],
                  "/boats": ["/harbour", "/fish"], "/fish": ["/market", "/nowhere"],
                  "/flour": ["/mill"]},
    "127.0.0.2": {"/": ["/1", "/2"], "/1": ["/2", "/3"], "/2": ["/3", "/busy"],
                  "/3": ["/1", "/4"], "/busy": ["/", "/4"], "/4": ["/1"]},
    "127.0.0.3": {"/": ["/a"], "/a": ["/a/b"], "/a/b": ["/a/b/c", "/"],
                  "/a/b/c": ["/a/b/c/d"], "/a/b/c/d": ["/a/b/c/d/e"], "/a/b/c/d/e": []},
}
asked = set()


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        host = self.headers.get("Host", "").split(":")[0]
        links = SITES.get(host, {}).get(self.path)
        time.sleep(PACE)
        if self.path == "/busy" and host not in asked:
            asked.add(host)
            self.answer(429, "later", {"Retry-After": str(PAUSE_S)})
        elif links is None:
            self.answer(404, "there is no such page")
        else:
            items = "".join(f'<li><a href="{link}">{link}</a>' for link in links)
            self.answer(200, f"<title>{self.path} of {host}</title><ul>{items}</ul>")

    def answer(self, status, text, headers=None):
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)),
                            **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


def serve():
    """One port that is free on all addresses."""
    for _ in range(100):
        first = ThreadingHTTPServer((HOSTS[0], 0), Pages)
        port = first.server_address[1]
        try:
            return port, [first] + [ThreadingHTTPServer((host, port), Pages) for host in HOSTS[1:]]
        except OSError:
            first.server_close()
    sys.exit("no free port")


port, servers = serve()
for server in servers[1:]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(" ".join(f"http://{host}:{port}/" for host in HOSTS), flush=True)
servers[0].serve_forever()
