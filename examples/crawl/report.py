#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Adds up the sites of one run."""
from job import results

sites = [member["result"]["summary"] for member in results()
         if member["queue"] == "summary" and member["state"] == "done"]
print(f"{'site':24}{'pages':>8}{'words':>8}{'dropped':>12}")
for site in sorted(sites, key=lambda site: site["site"]):
    print(f"{site['site']:24}{site['pages']:8}{site['words']:8}{site['dropped']:12}")
print(f"{'all sites':24}{sum(s['pages'] for s in sites):8}{sum(s['words'] for s in sites):8}"
      f"{sum(s['dropped'] for s in sites):12}")
for url in sorted(url for site in sites for url in site["broken"]):
    print(f"broken link: {url}")
