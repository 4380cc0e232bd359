#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Fetches a page and emits its links within the same host: fetch.py URL DEPTH."""
import sys
import urllib.error
import urllib.request
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

from job import emit, keep, say


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.words, self.title, self.in_title = [], 0, "", False

    def handle_starttag(self, tag, attrs):
        self.in_title = tag == "title"
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]

    def handle_data(self, data):
        self.words += len(data.split())
        if self.in_title:
            self.title += data.strip()


def fetch(url):
    """The text of a page, or None for a broken link."""
    try:
        with urllib.request.urlopen(url, timeout=30) as reply:
            return reply.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        if error.code == 429:  # too many requests: nobody goes there for a while
            say(f"busy network {error.headers.get('Retry-After', 10)} {url} asks for a pause")
            raise SystemExit(0) from error
        if error.code == 404:
            return None
        raise SystemExit(f"{url}: {error}") from error


url, depth = sys.argv[1], int(sys.argv[2])
text = fetch(url)
keep("broken", text is None)
if text is not None:
    page = Page()
    page.feed(text)
    keep("title", page.title)
    keep("words", page.words)
    for link in page.links:
        target = urldefrag(urljoin(url, link)).url
        if urlsplit(target).netloc == urlsplit(url).netloc:
            emit({"queue": "page", "params": {"url": target, "host": urlsplit(url).netloc,
                                              "depth": depth + 1}})
print(url, "is a broken link" if text is None else "")
