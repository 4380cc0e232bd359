#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Begins with the first page of each site: crawl.py "URL URL…"."""
import sys
from urllib.parse import urlsplit

from job import emit

for url in sys.argv[1].split():
    host = urlsplit(url).netloc
    emit({"queue": "page", "params": {"url": url, "host": host, "depth": 0},
          "group": {"open": "site", "name": host}})
    print(host)
