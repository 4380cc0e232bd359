# SPDX-License-Identifier: MIT
"""Topics: who is subscribed, publishing by every way there is, and triggers for other hosts."""
import signal
import socket
import subprocess
from urllib.parse import quote

import pytest

from client import Client
from waiting import eventually

TOKEN = "s3cret-token-0123456789"
DEFINITIONS = """
queues:
  import: {description: plain}
  index: {subscribe: [import, flow.*]}
  audit: {subscribe: import}
  mirror: {subscribe: [flow.end, flow.*]}
  source: {}
  other: {on_success: [{topic: import, params: {by: chain}}]}
"""


@pytest.fixture
def server(servers):
    return servers(definitions=DEFINITIONS).start()


def publish(client, topic, body=None, status=202, **named):
    return client.ok("POST", f"/v1/topics/{topic}", body, status, **named)["ids"]


def queues_of(client, ids):
    return sorted(client.show(job_id)["queue"] for job_id in ids)


def topics(client):
    return {t["name"]: t["queues"] for t in client.ok("GET", "/v1/topics", status=200)["topics"]}


# ---- who is subscribed

def test_every_subscribed_queue_gets_a_job_of_its_own(client):
    ids = publish(client, "import", {"params": {"date": "x"}, "labels": {"a": "b"}, "priority": 7})
    assert queues_of(client, ids) == ["audit", "import", "index"]
    for job_id in ids:
        job = client.show(job_id)
        assert job["params"] == {"date": "x"} and job["labels"] == {"a": "b"}
        assert job["priority"] == 7 and job["topic"] == "import" and job["state"] == "ready"


def test_a_queue_is_subscribed_to_its_own_name(client):
    assert queues_of(client, publish(client, "source")) == ["source"]


def test_a_pattern_means_all_that_begin_so_and_a_queue_gets_one_job(client):
    assert queues_of(client, publish(client, "flow.end")) == ["index", "mirror"]
    assert queues_of(client, publish(client, "flow.begin")) == ["index", "mirror"]
    client.refused(404, "not_found", "POST", "/v1/topics/flow")
    client.refused(404, "not_found", "POST", "/v1/topics/flows")
    client.refused(404, "not_found", "POST", "/v1/topics/Import")


def test_a_publish_that_nobody_gets_is_not_found(client):
    error = client.refused(404, "not_found", "POST", "/v1/topics/nobody", {"params": {}})
    assert "'nobody'" in error["message"]
    client.refused(404, "not_found", "GET", "/v1/topics/nobody")
    client.refused(404, "not_found", "GET", "/job_start?job_name=nobody")
    assert client.list() == []


def test_topics_are_listed_with_those_who_get_them(client):
    listed = topics(client)
    assert listed["import"] == ["audit", "import", "index"]
    assert sorted(listed["flow.end"]) == ["index", "mirror"]
    assert sorted(listed["flow.*"]) == ["index", "mirror"]
    assert listed["source"] == ["source"]
    shown = client.ok("GET", "/v1/topics/flow.some", status=200)
    assert shown["name"] == "flow.some" and sorted(shown["queues"]) == ["index", "mirror"]


def test_a_changed_definition_changes_who_is_subscribed(client, server):
    admin = server.unix()
    admin.ok("PUT", "/v1/queues/index", {"subscribe": ["news"]})
    assert queues_of(client, publish(client, "import")) == ["audit", "import"]
    assert queues_of(client, publish(client, "news")) == ["index"]
    admin.refused(422, "invalid", "PUT", "/v1/queues/index", {"subscribe": ["a/b"]})
    admin.refused(422, "invalid", "PUT", "/v1/queues/index", {"subscribe": 7})


def test_what_was_published_survives_a_kill(client, server):
    ids = publish(client, "import")
    server.restart()
    assert queues_of(server.tcp(), ids) == ["audit", "import", "index"]


# ---- publishing

def test_a_known_key_is_answered_with_the_same_ids(client):
    ids = publish(client, "import", {"key": "once", "params": {"n": 1}})
    assert publish(client, "import", {"key": "once", "params": {"n": 1}}, 200) == ids
    client.refused(409, "conflict", "POST", "/v1/topics/import", {"key": "once",
                                                                 "params": {"n": 2}})
    header = {"Idempotency-Key": "header"}
    ids = publish(client, "import", {}, headers=header)
    assert publish(client, "import", {}, 200, headers=header) == ids
    assert len(client.list()) == 6


@pytest.mark.parametrize("body, words", [
    ({"params": []}, ["params"]), ({"parms": {}}, ["parms", "params"]), ([], ["object"]),
    ({"labels": {"a": 1}}, ["labels"]), ({"priority": 1001}, ["priority"]), ({"key": ""}, ["key"]),
    ({"queue": "import"}, ["queue"]),
])
def test_a_bad_publish_is_refused(client, body, words):
    error = client.refused(422, "invalid", "POST", "/v1/topics/import", body)
    assert all(word in error["message"] for word in words), error
    assert client.list() == []


@pytest.mark.parametrize("name", [".hidden", "x" * 201, "tab%09", "%7f"])
def test_a_bad_name_is_refused(client, name):
    client.refused(422, "invalid", "POST", f"/v1/topics/{name}")


def test_a_queue_that_takes_nothing_refuses_for_all(client, server):
    server.unix().ok("POST", "/v1/queues/index/drain")
    error = client.refused(503, "queue_down", "POST", "/v1/topics/import")
    assert "index" in error["message"]
    assert client.list() == []


def test_a_running_job_publishes_by_emitting(client):
    client.submit("source")
    job = client.take("source")
    body = {"id": job["id"], "lease": job["lease"], "seq": 1,
            "jobs": [{"topic": "import", "params": {"n": 1}}]}
    ids = client.ok("POST", "/v1/emit", body)["ids"]
    assert len(ids) == 3 and {client.state(job_id) for job_id in ids} == {"staged"}
    client.end(job)
    eventually(lambda: {client.state(job_id) for job_id in ids} == {"ready"})
    assert queues_of(client, ids) == ["audit", "import", "index"]
    body = {"id": job["id"], "lease": job["lease"], "seq": 1, "jobs": [{"topic": "nobody"}]}
    client.submit("source")
    job = client.take("source")
    error = client.refused(422, "invalid", "POST", "/v1/emit",
                           {**body, "id": job["id"], "lease": job["lease"]})
    assert "'nobody'" in error["message"]


def test_the_end_of_a_job_publishes(client):
    cause = client.submit("other", params={"a": 1})
    client.end(client.take("other"), result={"r": 2})
    jobs = eventually(lambda: client.list("queue=index"))
    assert jobs[0]["params"]["by"] == "chain" and jobs[0]["params"]["result"] == {"r": 2}
    shown = client.show(jobs[0]["id"])
    assert shown["topic"] == "import" and shown["parent"] == cause


# ---- GET /job_start

def start(client, query, **named):
    return client.request("GET", f"/job_start?{query}", **named)


def test_one_url_starts_the_jobs(client):
    reply = start(client, "job_name=import&date=2026_11_15&n=7&empty=&bare")
    assert reply.status == 202
    ids = reply.json["ids"]
    assert queues_of(client, ids) == ["audit", "import", "index"]
    assert client.show(ids[0])["params"] == {"date": "2026_11_15", "n": "7", "empty": "",
                                             "bare": ""}


def test_curl_starts_a_job(server, client):
    done = subprocess.run(["curl", "-sS", "-w", "%{http_code}",
                           f"http://127.0.0.1:{server.port}/job_start?job_name=source&date=1"],
                          capture_output=True, timeout=20, check=True)
    assert done.stdout.endswith(b"202"), done
    assert [job["params"] for job in client.list()] == [{"date": "1"}]


@pytest.mark.parametrize("value", ["a b", "ä€😀", "100%", "a&b=c", "a\nb", "'\"", "$(id)", "\\",
                                   "+", "\x01\x7f", "null", "%00"])
def test_values_are_the_texts_that_came(client, value):
    reply = start(client, f"job_name=source&v={quote(value, safe='')}&{quote('ä b')}=1")
    assert reply.status == 202, reply.body
    assert client.show(reply.json["ids"][0])["params"] == {"v": value, "ä b": "1"}


def test_a_plus_is_a_space(client):
    reply = start(client, "job_name=source&v=a+b")
    assert client.show(reply.json["ids"][0])["params"] == {"v": "a b"}


@pytest.mark.parametrize("query, status, code, words", [
    ("", 422, "invalid", ["job_name"]), ("date=1", 422, "invalid", ["job_name"]),
    ("job_name=", 422, "invalid", ["job_name"]),
    ("job_name=source&a=%00", 400, "bad_request", ["'a'", "NUL"]),
    ("job_name=source&a%00=1", 400, "bad_request", ["NUL"]),
    ("job_name=source&a=%ff", 400, "bad_request", ["'a'", "UTF-8"]),
    ("job_name=source&%ff=1", 400, "bad_request", ["UTF-8"]),
    ("job_name=source%00x", 400, "bad_request", ["NUL"]),
    ("job_name=%ff", 400, "bad_request", ["UTF-8"]),
    ("job_name=a%2fb", 422, "invalid", ["job_name", "/"]),
    ("job_name=source&a=1&a=2", 422, "invalid", ["'a'", "duplicate"]),
    ("job_name=source&job_name=import", 422, "invalid", ["job_name", "duplicate"]),
    ("job_name=source&=1", 422, "invalid", ["parameter"]),
    ("job_name=source&" + "&".join(f"p{n}=" for n in range(100)), 422, "invalid", ["100"]),
])
def test_a_bad_start_is_refused(client, query, status, code, words):
    error = start(client, query).error(status, code)
    assert all(word in error["message"] for word in words), error
    assert client.list() == []


@pytest.mark.parametrize("headers", [
    {"Origin": "http://evil.example"}, {"Referer": "http://evil.example/page"},
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"},
    {"Host": "evil.example"},
])
def test_a_foreign_web_page_starts_nothing(client, headers):
    start(client, "job_name=source", headers=headers).error(403, "forbidden")
    assert client.list() == []


def test_it_is_no_post_and_no_head(client):
    client.refused(405, "method_not_allowed", "POST", "/job_start?job_name=source", {})
    assert client.request("HEAD", "/job_start?job_name=source").status == 405
    assert client.list() == []


# ---- workers' own queues

def subscribe(client, worker, topic="import", status=201, **fields):
    return client.ok("POST", f"/v1/topics/{topic}/subscribe", {"worker": worker, **fields},
                     status)["queue"]


def test_a_worker_gets_a_queue_of_its_own_which_waits_for_it(client, server):
    assert subscribe(client, "w1") == "import@w1"
    assert subscribe(client, "w1", status=200, lifetime="2d") == "import@w1"
    assert subscribe(client, "w2") == "import@w2"
    ids = publish(client, "import")
    assert queues_of(client, ids) == ["audit", "import", "import@w1", "import@w2", "index"]
    assert "import@w1" in topics(client)["import"] and "import@w1" not in topics(client)
    server.restart()
    client = server.tcp()
    job = client.take("import@w2", worker="w2")
    client.end(job)
    assert client.counts()["import@w1"] == {"ready": 1}


def test_its_queue_is_defined_as_the_topics_queue_is(client, server):
    subscribe(client, "w1", topic="index")
    server.unix().ok("PUT", "/v1/queues/index", {"retry": {"max": 7}, "subscribe": ["import"]})
    definition = client.ok("GET", "/v1/queues/index@w1")["definition"]
    assert definition["retry"]["max"] == 7 and "subscribe" not in definition
    assert definition["subscriber"]["worker"] == "w1"
    assert "index@w1" not in queues_of(client, publish(client, "import"))
    assert queues_of(client, publish(client, "index")) == ["index", "index@w1"]


@pytest.mark.parametrize("body, words", [
    ({}, ["worker"]), ({"worker": ""}, ["worker"]), ({"worker": "w", "lifetime": "0s"},
                                                    ["lifetime"]),
    ({"worker": "w", "lifetime": "soon"}, ["lifetime"]), ({"worker": "w", "name": 1}, ["name"]),
    ({"worker": "a/b"}, ["/"]),
])
def test_a_bad_subscription_is_refused(client, body, words):
    error = client.refused(422, "invalid", "POST", "/v1/topics/import/subscribe", body)
    assert all(word in error["message"] for word in words), error
    assert len(client.ok("GET", "/v1/queues")["queues"]) == 7


def test_only_the_server_makes_such_queues(server):
    admin = server.unix()
    own = {"topic": "import", "worker": "w", "lifetime": "7d"}
    admin.refused(422, "invalid", "PUT", "/v1/queues/x", {"subscriber": own})


# ---- triggers

def local_address():
    """An address of this machine that is not loopback; None when there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
            address = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address


def triggered(servers, tmp_path, triggers, listen="0.0.0.0:0"):
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    definitions = DEFINITIONS + f"""
server: {{token_file: "{token}"}}
triggers: {triggers}
"""
    return servers(definitions=definitions, listen=listen)


def test_a_trigger_is_open_to_its_addresses_without_a_token(servers, tmp_path):
    server = triggered(servers, tmp_path, "{source: {from: [127.0.0.0/8]}}").start()
    client = server.tcp()
    assert start(client, "job_name=source&a=1").status == 202
    start(client, "job_name=import").error(401, "unauthorized")
    start(client, "job_name=").error(401, "unauthorized")
    client.refused(401, "unauthorized", "POST", "/v1/topics/source", {})
    client.refused(401, "unauthorized", "GET", "/v1/jobs")
    start(client, "job_name=source", headers={"Origin": "http://evil.example"}).error(
        403, "forbidden")
    assert start(server.tcp(TOKEN), "job_name=import").status == 202
    assert len(server.tcp(TOKEN).list()) == 4


def test_a_trigger_is_not_open_to_other_addresses(servers, tmp_path):
    server = triggered(servers, tmp_path, "{source: {from: [127.0.0.2, 10.99.0.0/16]}}").start()
    client = server.tcp()
    start(client, "job_name=source").error(401, "unauthorized")
    assert server.tcp(TOKEN).list() == []


def test_another_address_of_the_machine_is_another_address(servers, tmp_path):
    address = local_address()
    if address is None:
        pytest.skip("this machine has no address but loopback")
    server = triggered(servers, tmp_path, f"{{source: {{from: ['{address}/32']}}}}").start()
    outside = Client((address, server.port))
    assert start(outside, "job_name=source").status == 202
    start(server.tcp(), "job_name=source").error(401, "unauthorized")
    outside.close()


def test_ipv6_and_ipv4_within_it(servers, tmp_path):
    if not socket.has_ipv6:
        pytest.skip("there is no IPv6 here")
    server = triggered(servers, tmp_path, "{source: {from: ['::1', 127.0.0.1]}}", "[::]:0")
    server.start()
    for host in ("::1", "127.0.0.1"):
        client = Client((host, server.port))
        assert start(client, "job_name=source").status == 202, host
        start(client, "job_name=import").error(401, "unauthorized")
        client.close()


def test_triggers_are_read_again_on_hup(servers, tmp_path):
    server = triggered(servers, tmp_path, "{source: {from: [127.0.0.1]}}").start()
    client = server.tcp()
    assert start(client, "job_name=source").status == 202
    text = server.file.read_text()
    server.define(text.replace("{source: ", "{index: "))
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: start(client, "job_name=index").status == 202)
    start(client, "job_name=source").error(401, "unauthorized")
    server.define(text.replace("127.0.0.1", "127.0.0.300"))
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: "old ones stay" in server.log_text())
    assert start(client, "job_name=index").status == 202


@pytest.mark.parametrize("triggers, words", [
    ("{source: {from: [10.0.0.0/33]}}", ["10.0.0.0/33"]), ("{source: {from: [host]}}", ["host"]),
    ("{source: {}}", ["from"]), ("{source: {form: [10.0.0.1]}}", ["form", "from"]),
    ("{a/b: {from: [10.0.0.1]}}", ["a/b"]), ("[source]", ["triggers"]),
])
def test_a_bad_trigger_is_refused_at_the_start(servers, tmp_path, triggers, words):
    server = triggered(servers, tmp_path, triggers).spawn()
    assert server.wait_exit() != 0
    assert all(word in server.log_text() for word in ["queues.yaml", *words]), server.log_text()


def test_the_command_line_publishes_a_body(client, server, tmp_path):
    (tmp_path / "dump").write_bytes(b"\x00\xff dump")
    for option, stdin, wanted in (("text", b"", {"body": "text"}),
                                  ("-", b"piped", {"body": "piped"}),
                                  (f"@{tmp_path}/dump", b"", {"body_base64": "AP8gZHVtcA=="})):
        ran = server.cli("topic", "publish", "import", "--body", option, "-p", "n=1",
                         stdin=stdin)
        assert ran.status == 0, ran
        for job_id in ran.out.split():
            job = client.show(job_id)
            assert {k: job[k] for k in job if k.startswith("body")} == wanted
            assert job["params"] == {"n": "1"}
    assert server.cli("topic", "publish", "import", "--body", "@/nowhere/at/all").status == 2
