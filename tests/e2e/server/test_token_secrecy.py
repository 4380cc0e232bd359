# SPDX-License-Identifier: MIT
"""Where tokens go, and where they do not."""
import http.server
import os
import socket
import subprocess
import threading

import pytest

from processes import Process, must_end, noted
from waiting import eventually
from waybill import BIN, QUEUES, plain_env, run_waybill

pytestmark = pytest.mark.embedded("between a line or a worker and its server")

TOKEN = "s3cret-token-0123456789"
NOBODY = 65534


class Listener:
    """Takes connections and keeps what comes; answers as it is told."""

    def __init__(self, host, answer):
        self.seen = []
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                listener.seen.append(dict(self.headers))
                status, headers = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer((host, 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def listeners():
    made = []

    def make(host, answer=(503, {})):
        made.append(Listener(host, answer))
        return made[-1]

    yield make
    for listener in made:
        listener.close()


def own_address():
    """An address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            address = probe.getsockname()[0]
        except OSError:
            address = "127.0.0.1"
    if address.startswith("127."):
        pytest.skip("this machine has no other address")
    return address


@pytest.mark.parametrize("verb",
                         [["status"], ["list"], ["worker", "-j", "1"], ["add", "work"], ["top"]])
def test_a_token_is_not_sent_in_the_clear(listeners, verb, tmp_path):
    address = own_address()
    listener = listeners(address)
    env = plain_env(WAYBILL_URL=f"http://{address}:{listener.port}", WAYBILL_TOKEN=TOKEN,
                    HOME=str(tmp_path), WAYBILL_DATA=str(tmp_path))
    ran = run_waybill(*verb, env=env)
    assert ran.status == 2 and "--insecure" in ran.err and "https://" in ran.err, ran
    assert TOKEN not in ran.err and listener.seen == []


@pytest.mark.parametrize("how", [["--insecure"], []])
def test_who_says_so_sends_it(listeners, how):
    address = own_address()
    listener = listeners(address)
    more = {} if how else {"WAYBILL_INSECURE": "1"}
    ran = run_waybill("list", *how, env=plain_env(WAYBILL_URL=f"http://{address}:{listener.port}",
                                                  WAYBILL_TOKEN=TOKEN, **more))
    assert ran.status == 5, ran
    assert listener.seen[0]["Authorization"] == f"Bearer {TOKEN}"


def test_without_a_token_everybody_may_be_asked(listeners):
    address = own_address()
    listener = listeners(address)
    ran = run_waybill("list", env=plain_env(WAYBILL_URL=f"http://{address}:{listener.port}"))
    assert ran.status == 5 and len(listener.seen) == 1, ran


def test_a_redirect_takes_the_token_nowhere(listeners):
    other = listeners("127.0.0.1")
    first = listeners("127.0.0.1", (302, {"Location": f"http://127.0.0.1:{other.port}/v1/jobs"}))
    ran = run_waybill("list", env=plain_env(WAYBILL_URL=f"http://127.0.0.1:{first.port}",
                                            WAYBILL_TOKEN=TOKEN))
    assert ran.status != 0 and len(first.seen) == 1 and other.seen == [], ran


DAEMON = """setsid sh -c 'echo $$ > "$1.daemon"; exec sleep 1000' sh "$1" &
env > "$1.env"
echo $$ > "$1.pid"
while [ ! -e "$1" ]; do sleep 0.02; done
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_worker_with_a_token_cannot_be_looked_into_and_still_ends_what_jobs_start(
        shops, tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    shop = shops(slots=0,
                 definitions=f'{QUEUES}server: {{token_file: "{tmp_path}/token"}}\n').start()
    os.chmod(shop.server.dir.parent, 0o755)
    os.chmod(shop.server.dir, 0o777)
    state = shop.server.dir / "nobody"
    state.mkdir()
    os.chown(state, NOBODY, NOBODY)
    place = shop.place()
    queue = shop.queue(DAEMON, [str(place)])
    worker = subprocess.Popen(
        [BIN, "worker", "--server", f"http://127.0.0.1:{shop.server.port}",
         "--data", str(state), "--name", "w", "-j", "1"], user=NOBODY, group=NOBODY,
        extra_groups=[], cwd="/", env=plain_env(WAYBILL_TOKEN=TOKEN, HOME=str(state)),
        stderr=(shop.server.dir / "worker.log").open("wb"))
    try:
        job_id = shop.submit(queue)
        noted(f"{place}.pid")
        daemon = noted(f"{place}.daemon")
        assert TOKEN.encode() not in open(f"{place}.env", "rb").read()
        for name in ("environ", "mem", "maps"):
            ran = subprocess.run(["cat", f"/proc/{worker.pid}/{name}"], user=NOBODY, group=NOBODY,
                                 extra_groups=[], capture_output=True, check=False)
            assert ran.returncode != 0 and TOKEN.encode() not in ran.stdout, name
        place.touch()
        assert shop.ended(job_id)["state"] == "done"
        must_end(daemon)
        again = shop.submit(shop.queue("sleep 1000 & exit 3"))
        assert shop.ended(again)["exit"] == 3
    finally:
        worker.terminate()
        assert worker.wait(20) == 0, (shop.server.dir / "worker.log").read_text()
    eventually(lambda: not Process(worker.pid).alive(), "the end")
