# SPDX-License-Identifier: MIT
"""A proxy that can cut a connection before a request or between it and its reply."""
import select
import socket
import threading


class Proxy:
    """Forwards TCP connections.  One on which a marked request comes is cut at once, or when the
    reply comes, as often as was asked for."""

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.mark = None
        self.unheard = False
        self.cuts_left = 0
        self.cuts = 0
        self.heard = b""  # all that was asked
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def cut(self, mark, times=1, unheard=False):
        """Drops the next replies to requests that contain the mark, or those requests."""
        with self.lock:
            self.mark, self.cuts_left, self.cuts, self.unheard = mark, times, 0, unheard

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self.target)
            except OSError:
                near.close()
                continue
            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()

    def _is_marked(self, data):
        with self.lock:
            return self.mark is not None and self.cuts_left > 0 and self.mark in data

    def _spend(self):
        with self.lock:
            if self.cuts_left == 0:
                return False
            self.cuts_left -= 1
            self.cuts += 1
            return True

    def _forward(self, near, far):
        marked = False
        try:
            while True:
                for sock in select.select([near, far], [], [])[0]:
                    data = sock.recv(1 << 16)
                    if not data:
                        return
                    if sock is near:
                        self.heard += data
                        marked = marked or self._is_marked(data)
                        if marked and self.unheard and self._spend():
                            return
                        far.sendall(data)
                    elif marked and self._spend():
                        return
                    else:
                        marked = False
                        near.sendall(data)
        except OSError:
            pass
        finally:
            near.close()
            far.close()

    def close(self):
        self.listener.close()
