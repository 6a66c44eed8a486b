#!/usr/bin/env python3
"""Checks a built site, and the Markdown files in the root of the repository, which are not part of it.

    check_site.py FOLDER    names each fault, and exits 1 if there is one

The site must load nothing from the network: neither its pages nor its styles may name a resource of another host. Links that a
reader may follow are not resources. In the root, links must lead to files that are there, and to headings that are in them.
"""

import html.parser
import pathlib
import re
import sys

FOREIGN = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
STYLE_URL = re.compile(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)", re.IGNORECASE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Relations that make a browser load what a link names, or connect to its host.
LOADED = {"stylesheet", "icon", "preconnect", "dns-prefetch", "preload", "prefetch", "modulepreload", "manifest"}


class Resources(html.parser.HTMLParser):
    """Collects what a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "link" and not LOADED & set(values.get("rel", "").split()):
            return
        names = ["src", "srcset", "data", "poster"] + (["href"] if tag == "link" else [])
        self.urls += [values[name] for name in names if name in values]
        self.urls += style_urls(values.get("style", ""))


def style_urls(style: str) -> list[str]:
    return [first or second for first, second in STYLE_URL.findall(style)]


def resources(path: pathlib.Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return style_urls(text)
    page = Resources()
    page.feed(text)
    return page.urls


def broken_links(site: pathlib.Path) -> list[str]:
    """The links in the root's Markdown files that lead nowhere. Headings of a page are looked up in the site."""
    faults = []
    for file in sorted(pathlib.Path().glob("*.md")):
        for link in LINK.findall(file.read_text(encoding="utf-8")):
            path, _, heading = link.partition("#")
            if re.match(r"[a-z]+:", path) or not path:
                continue
            page = site / pathlib.Path(path).relative_to("docs").with_suffix(".html") if path.startswith("docs/") else None
            if not pathlib.Path(path).exists() or heading and page and f'id="{heading}"' not in page.read_text(encoding="utf-8"):
                faults.append(f"{file}: {link}")
    return faults


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    site = pathlib.Path(sys.argv[1])
    files = sorted(path for path in site.rglob("*") if path.suffix in {".html", ".css"})
    if not files:
        sys.exit(f"{site}: there is no page")
    foreign = [f"{path}: {url}" for path in files for url in resources(path) if FOREIGN.match(url.strip())]
    faults = foreign + broken_links(site)
    print("\n".join(faults) or f"{len(files)} pages and styles load nothing from the network")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
