#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up the results of the queue `count`."""
import json
import subprocess

command = ["waybill", "list", "--queue", "count", "--state", "done", "--all", "--json"]
listed = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
jobs = [json.loads(line) for line in listed.stdout.splitlines()]
jobs.sort(key=lambda job: -job["result"]["words"])
most = max((job["result"]["words"] for job in jobs), default=1)

for job in jobs:
    words = job["result"]["words"]
    bar = "█" * round(30 * words / most)
    again = f"  (attempt {job['attempt']})" if job["attempt"] > 1 else ""
    print(f"{job['result']['file']:16} {words:5}  {bar}{again}")
print(f"{'all together':16} {sum(job['result']['words'] for job in jobs):5}  in {len(jobs)} texts")
