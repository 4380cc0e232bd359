# SPDX-License-Identifier: MIT
"""Who may do what: web pages of other sites, ordinary programs, the administrator, the token."""
import re
import socket
import stat

import pytest

from client import Client, Wire
from waybill import QUEUES

pytestmark = pytest.mark.embedded("decided before the store is asked")

TOKEN = "s3cret-token-0123456789"


def admin_requests(client):
    """Everything that is for the administrator, on a job that has ended."""
    job_id = client.submit()
    client.end(client.take())
    return [
        ("PUT", "/v1/queues/new", {}),
        ("DELETE", "/v1/queues/other", None),
        ("POST", "/v1/queues/work/pause", None),
        ("POST", "/v1/queues/work/resume", None),
        ("POST", "/v1/queues/work/drain", None),
        ("POST", "/v1/queues/work/down", None),
        ("POST", "/v1/queues/work/up", None),
        ("POST", "/v1/definitions?dry_run=1", {"queues": {}}),
        ("POST", "/v1/bulk", {"action": "retry", "filter": {"queue": "own"}}),
        ("POST", "/v1/check", {"full": True}),
        ("POST", "/v1/jobs", {"queue": "own", "command": ["true"]}),
        ("DELETE", f"/v1/jobs/{job_id}", None),
    ]


def wildcard(servers, token_file, **named):
    definitions = QUEUES + f'server: {{token_file: "{token_file}"}}\n'
    return servers(definitions=definitions, listen="0.0.0.0:0", **named)


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def token_server(servers, token_file):
    return servers(definitions=QUEUES + f'server: {{token_file: "{token_file}"}}\n').start()


def test_administration_over_tcp_is_refused_and_nothing_changes(client):
    requests = admin_requests(client)
    before = (client.ok("GET", "/v1/queues"), client.list())
    for method, path, body in requests:
        error = client.refused(403, "forbidden", method, path, body)
        assert "Unix socket" in error["message"] and "token" in error["message"].lower(), (path,
                                                                                           error)
    assert (client.ok("GET", "/v1/queues"), client.list()) == before


def test_administration_over_the_unix_socket_is_allowed(client, admin):
    for method, path, body in admin_requests(client):
        reply = admin.request(method, path, body)
        assert reply.status in (200, 201, 202), (method, path, reply.status, reply.body)


def test_administration_with_the_token_is_allowed(token_server):
    client = token_server.tcp(TOKEN)
    for method, path, body in admin_requests(client):
        reply = client.request(method, path, body)
        assert reply.status in (200, 201, 202), (method, path, reply.status, reply.body)


@pytest.mark.parametrize("header",
                         [f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer ", f"Basic {TOKEN}",
                          TOKEN,
                                    f"Bearer {TOKEN.upper()}", "Bearer"])
def test_a_wrong_token_gives_no_rights(token_server, header):
    admin = token_server.unix()
    for method, path in (("POST", "/v1/queues/work/pause"), ("GET", "/v1/queues/work"),
                         ("GET", "/healthz")):
        # A connection each: the address is slowed down, and each test has a server of its own.
        reply = token_server.tcp().request(method, path, headers={"Authorization": header})
        assert reply.error(401, "unauthorized")["message"].startswith("the Authorization is not")
        assert reply.headers["WWW-Authenticate"] == "Bearer"
    assert admin.ok("GET", "/v1/queues/work", headers={"Authorization": header})["state"] == "up"


def test_the_token_is_shown_nowhere(token_server):
    client = token_server.tcp(TOKEN)
    for path in ("/v1/server", "/metrics", "/v1/queues", "/v1/openapi.json"):
        assert TOKEN not in client.get(path).body.decode()
    client.refused(404, "not_found", "GET", "/v1/jobs/0000000000001")
    assert TOKEN not in token_server.log_text()


def test_backup_is_for_the_administrator_and_makes_a_store(client, admin, servers, tmp_path):
    client.submit(params={"kept": 1})
    client.refused(403, "forbidden", "POST", "/v1/backup", {"dir": str(tmp_path / "copy")})
    reply = admin.ok("POST", "/v1/backup", {"dir": str(tmp_path / "copy")}, 200)
    assert reply["dir"] == str(tmp_path / "copy") and reply["bytes"] > 0
    copy = servers("copy", data=tmp_path / "copy").start()
    job, = copy.tcp().list()
    assert job["params"] == {"kept": 1}


@pytest.mark.parametrize("target, words",
                         [("relative/path", ["absolute"]), ("", []), (5, []), (None, [])])
def test_a_backup_needs_a_directory(admin, target, words):
    error = admin.refused(422, "invalid", "POST", "/v1/backup", {"dir": target})
    assert all(word in error["message"] for word in ["dir"] + words), error


def test_a_backup_into_a_directory_with_files_is_refused(admin, tmp_path):
    (tmp_path / "precious").write_text("x")
    reply = admin.post("/v1/backup", {"dir": str(tmp_path)})
    assert 400 <= reply.status < 600 and "empty" in reply.json["error"]["message"], reply.body
    assert [p.name for p in tmp_path.iterdir()] == ["precious"]


def test_a_check_over_http_has_no_findings(admin, client):
    client.submit_many([{"queue": "work"}] * 50)
    for job in client.claim(max=20)["jobs"]:
        client.end(job)
    assert admin.ok("POST", "/v1/check", {"full": True}, 200) == {"ok": True, "findings": []}
    assert admin.ok("POST", "/v1/check", {}, 200)["ok"] is True


def test_an_own_command_needs_the_queue_and_the_right(client, admin):
    admin.refused(422, "invalid", "POST", "/v1/jobs", {"queue": "work", "command": ["true"]})
    client.refused(403, "forbidden", "POST", "/v1/jobs", {"queue": "own", "command": ["true"]})
    client.refused(403, "forbidden", "POST", "/v1/jobs",
                   [{"queue": "own"}, {"queue": "own", "command": ["true"]}])
    assert client.counts() == {}
    job_id = admin.submit("own", command=["echo", "{x}"], params={"x": 1})
    job = client.take("own")
    assert (job["id"], job["command"]) == (job_id, ["echo", "{x}"])


CROSS_SITE = [
    {"Origin": "http://evil.example"},
    {"Origin": "https://evil.example:8443"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://127.0.0.1.evil.example"},
    {"Origin": "file://"},
    {"Referer": "http://evil.example/page"},
    {"Referer": "http://localhost.evil.example/"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Host": "evil.example"},
    {"Host": "rebound.evil.example:6769"},
    {"Host": "127.0.0.1.evil.example"},
    {"Host": "localhost@evil.example"},
]


@pytest.mark.parametrize("headers", CROSS_SITE, ids=str)
def test_a_request_of_another_site_is_refused(shared_server, headers):
    client = shared_server.tcp()
    for method, path, body in (("POST", "/v1/jobs", {"queue": "work"}), ("GET", "/v1/jobs", None)):
        error = client.refused(403, "forbidden", method, path, body, headers)
        assert "names" in error["message"] or "site" in error["message"]
    assert client.list() == []


def test_a_request_of_our_own_page_is_answered(shared_server):
    client = shared_server.tcp()
    port = shared_server.port
    for headers in ({"Origin": f"http://127.0.0.1:{port}"},
                    {"Origin": f"http://localhost:{port}", "Host": f"localhost:{port}"},
                    {"Referer": f"http://127.0.0.1:{port}/x?y#z"},
                    {"Sec-Fetch-Site": "same-origin"},
                    {"Sec-Fetch-Site": "none"}, {"Host": f"localhost:{port}"},
                    {"Host": f"[::1]:{port}"}, {}):
        assert client.get("/v1/jobs", headers=headers).status == 200, headers


def test_a_cross_site_request_with_the_token_is_refused_as_well(token_server):
    client = token_server.tcp(TOKEN)
    client.refused(403, "forbidden", "GET", "/v1/jobs", None, {"Origin": "http://evil.example"})


def test_a_cross_site_request_gets_no_permission_from_options(shared_server):
    reply = shared_server.tcp().request("OPTIONS", "/v1/jobs", headers={
        "Origin": "http://evil.example", "Access-Control-Request-Method": "POST"})
    assert reply.headers.get("Access-Control-Allow-Origin") is None


def test_server_names_are_answered_to(servers):
    server = servers(definitions=QUEUES + "server: {names: [queue.example.org]}\n").start()
    client = server.tcp()
    assert client.get("/v1/jobs", headers={"Host": "queue.example.org"}).status == 200
    assert client.get("/v1/jobs",
                      headers={"Host": f"queue.example.org:{server.port}"}).status == 200
    client.refused(403, "forbidden", "GET", "/v1/jobs", None, {"Host": "other.example.org"})


def test_the_data_directory_lets_others_through_but_its_files_are_for_the_owner_alone(servers):
    server = servers()
    server.data = server.dir / "on" / "the way" / "data"
    server.start()
    server.tcp().submit()
    for path in (server.data, server.data.parent, server.data.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o711, path
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in server.data.iterdir()
             if not path.is_dir()}
    assert {"waybill.sock", "waybill.db", "waybill.db-wal", "waybill.lock"} <= set(files)
    assert set(files.values()) == {0o600}, files


def test_a_data_directory_that_is_there_keeps_its_mode(servers):
    server = servers()
    server.data.mkdir(mode=0o700)
    server.start()
    assert stat.S_IMODE(server.data.stat().st_mode) == 0o700


def test_listening_beyond_loopback_without_a_token_is_refused(servers):
    server = servers(listen="0.0.0.0:0").spawn()
    assert server.read_ready() == ""
    assert server.wait_exit() != 0
    assert "token" in server.log_text()


def test_a_server_on_all_addresses_is_shown_under_one_that_can_be_reached(servers, token_file):
    server = wildcard(servers, token_file)
    server.spawn()
    host, port = re.fullmatch(r"ready http://(\S+):(\d+) unix:.+\n", server.read_ready()).groups()
    assert host != "0.0.0.0"
    client = server._add(Client((host, int(port)), TOKEN))
    job = client.show(client.submit())
    assert job["url"] == f"http://{host}:{port}/v1/jobs/{job['id']}"
    named = servers("named", definitions=QUEUES + f'server: {{token_file: "{token_file}", '
                    'names: [queue.example.org]}\n', listen="0.0.0.0:0").spawn()
    assert named.read_ready().startswith("ready http://queue.example.org:")


def test_beyond_loopback_everything_but_health_wants_the_token(servers, token_file):
    server = wildcard(servers, token_file).start()
    stranger, friend = server.tcp(), server.tcp(TOKEN)
    for method, path in (("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("GET", "/metrics"),
                         ("GET", "/v1/server"),
                         ("POST", "/v1/claim"), ("GET", "/v1/openapi.json")):
        stranger.refused(401, "unauthorized", method, path)
        stranger.refused(401, "unauthorized", method, path, None, {"Authorization": "Bearer wrong"})
    for path in ("/healthz", "/readyz"):
        assert stranger.get(path).status == 200
    friend.submit()
    assert len(friend.list()) == 1


def test_beyond_loopback_the_address_asked_for_is_ours(servers, token_file):
    server = wildcard(servers, token_file).start()
    client = Client(("127.0.0.2", server.port), TOKEN)
    assert client.get("/v1/jobs").status == 200
    client.refused(403, "forbidden", "GET", "/v1/jobs", None, {"Host": "evil.example"})
    client.close()


@pytest.mark.parametrize("content", ["", "\n", None])
def test_a_token_file_without_a_token_is_refused_at_the_start(servers, tmp_path, content):
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    server = wildcard(servers, path).spawn()
    assert server.read_ready() == ""
    assert server.wait_exit() != 0
    assert "token" in server.log_text()


def test_ipv6_loopback(servers):
    try:
        probe = socket.create_server(("::1", 0), family=socket.AF_INET6)
        probe.close()
    except OSError:
        pytest.skip("no IPv6 loopback here")
    server = servers(listen="[::1]:0").start()
    with Wire(socket.create_connection(("::1", server.port), 10)) as wire:
        wire.send(f"GET /v1/jobs HTTP/1.1\r\nHost: [::1]:{server.port}\r\n\r\n".encode())
        assert wire.reply().status == 200
