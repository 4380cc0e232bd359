# SPDX-License-Identifier: MIT
"""Groups on the command line, and what programs see of them."""
import json
import os

from waiting import eventually

DEFINITIONS = """
queues:
  work: {command: [sh, -c, 'echo "group {\\"seen\\":\\"$WAYBILL_GROUP\\"}" >&3; echo done >&3']}
  last: {command: [sh, -c, 'echo "$WAYBILL_GROUP_RESULTS" > "$1"', sh, "{out}"]}
groups:
  site: {finally: {queue: last, params: {out: "{out}", seen: "{seen}"}}}
"""


def test_programs_change_the_data_and_the_finaliser_finds_the_results(shops, directory):
    shop = shops(definitions=DEFINITIONS).start()
    out = os.path.join(directory, "results")
    admin = shop.server.unix()
    job = admin.submit("work", group={"open": "site", "name": "a", "data": {"out": out}})
    group_id = admin.show(job)["group"]["id"]
    path = f"/v1/groups/{group_id}"
    eventually(lambda: admin.ok("GET", path)["state"] == "done", "it has ended")
    group = admin.ok("GET", path)
    assert group["data"] == {"out": out, "seen": group_id}
    assert admin.show(group["finaliser"])["params"] == {"out": out, "seen": group_id}
    with open(out, encoding="utf-8") as file:
        assert file.read().strip().endswith(f"/v1/groups/{group_id}/results")


def test_the_tree_is_drawn_with_bars(server):
    def cli(*args):
        result = server.cli(*args)
        assert result.status == 0, result
        return result.out

    top = cli("group", "open", "--name", "top").strip()
    cli("group", "open", "--name", "below", "--parent", top)
    cli("add", "work", "--group", top, "-p", "a=1")
    tree = cli("group", "show", top)
    assert "top" in tree and "below" in tree and "0/1" in tree
    assert top in cli("group", "list") and top in cli("group", "list", "--names")
    cli("group", "set", top, "-p", "n:=5")
    assert json.loads(cli("group", "show", top, "--json"))["data"] == {"n": 5}
    assert "work" in cli("list", "--group", top)
    cli("group", "pause", top)
    assert "paused" in cli("group", "show", top)
    cli("group", "cancel", top)
    eventually(lambda: "cancelled  " in cli("group", "show", top), "it is cancelled")
    assert server.cli("group", "show", "nonsense").status != 0
