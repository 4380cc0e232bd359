#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Adds up the pages of one site: summary.py SITE DROPPED."""
import sys

from job import keep, results

site, dropped = sys.argv[1:]
pages = [member for member in results() if member["queue"] == "page"]
found = [page["result"] for page in pages if page["state"] == "done"]
summary = {
    "site": site,
    "pages": sum(not page["broken"] for page in found),
    "words": sum(page.get("words", 0) for page in found),
    "broken": sorted(page["params"]["url"] for page in pages
                     if page["state"] == "done" and page["result"]["broken"]),
    "failed": sum(page["state"] == "failed" for page in pages),
    "dropped": int(dropped),
}
keep("summary", summary)
print(summary)
