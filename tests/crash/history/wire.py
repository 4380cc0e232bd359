#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The links between servers and PostgreSQL, as a process: each can be slow, or reset at one end.

  wire.py SERVERS      reads commands from standard input, one a line; answers each with `ok COUNT`

  delay NUMBER SECONDS     of the link of that server, each way, with up to a third of jitter;
                           COUNT: pieces that were held back by the delay before
  reset NUMBER near|far    the server's end, or PostgreSQL's, of all its connections; the other end
                           stays for a while and gets what was under way; COUNT: connections
"""
import asyncio
import random
import socket
import struct
import sys

import net

OTHER_END_STAYS_S = 8
CHUNK = 1 << 16


class Connection:
    def __init__(self, link, near, far):
        self.link = link
        self.ends = {"near": near, "far": far}  # (reader, writer)
        self.was_reset = False

    async def run(self):
        ways = [self._pump("near", "far"), self._pump("far", "near")]
        await asyncio.gather(*ways, return_exceptions=True)
        for _, writer in self.ends.values():
            writer.close()

    async def _pump(self, source, target):
        """One way: what comes in goes out after the delay of the moment, in order."""
        waiting = asyncio.Queue()
        delivery = asyncio.create_task(self._deliver(waiting, self.ends[target][1]))
        try:
            while True:
                data = await self.ends[source][0].read(CHUNK)
                await waiting.put((asyncio.get_running_loop().time() + self.link.pause(), data))
                if not data:
                    break
        except OSError:
            await waiting.put((0, b""))
        await delivery
        if self.was_reset:
            await asyncio.sleep(OTHER_END_STAYS_S)
        self.ends[target][1].close()

    @staticmethod
    async def _deliver(waiting, writer):
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(max(0, due - asyncio.get_running_loop().time()))
            if not data:
                return
            if not writer.is_closing():  # that end may have been reset
                writer.write(data)

    def reset(self, end):
        self.was_reset = True
        writer = self.ends[end][1]
        sock = writer.get_extra_info("socket")
        if sock is None or sock.fileno() < 0:  # gone already
            return 0
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return 1


class Link:
    def __init__(self, number):
        self.number = number
        self.delay = 0.0
        self.delayed = 0  # pieces, since the delay was set
        self.connections = set()

    def pause(self):
        self.delayed += self.delay > 0
        return self.delay * random.uniform(1, 1.33) if self.delay else 0.0

    def set_delay(self, seconds):
        before, self.delayed = self.delayed, 0
        self.delay = seconds
        return before

    async def serve(self):
        await asyncio.start_server(self._accepted, net.HUB, net.LINK_PORT + self.number)

    async def _accepted(self, reader, writer):
        try:
            far = await asyncio.open_connection(net.STORE, net.STORE_PORT,
                                                local_addr=(net.link_address(self.number), 0))
        except OSError:
            writer.close()
            return
        connection = Connection(self, (reader, writer), far)
        self.connections.add(connection)
        try:
            await connection.run()
        finally:
            self.connections.discard(connection)

    def reset(self, end):
        return sum(connection.reset(end) for connection in self.connections)


async def main():
    links = [Link(number) for number in range(int(sys.argv[1]))]
    for link in links:
        await link.serve()
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    print("ok", flush=True)
    while True:
        words = (await commands.readline()).decode().split()
        if not words:
            return
        link = links[int(words[1])]
        count = link.set_delay(float(words[2])) if words[0] == "delay" else link.reset(words[2])
        print(f"ok {count}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
