"""Data Docs as a static site that needs no network, runs no script and shows log text as text.

Great Expectations' pages load styles and scripts from six hosts, and its tables write values without escaping them
(1.24.1), so every page is written again from a list of what may stay.
"""

import shutil
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext

_SITE = "lake"
_OURS = ("index.html", "expectations", "validations")
_DROPPED = {"script", "style", "iframe", "object", "embed", "noscript", "template", "form", "svg", "button", "footer"}
"""Left out with all that they hold."""
_VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
_LOST = {"base", "link", "img", "input", "source", "meta"}
"""Left out; the character set is written anew."""
_KEPT = {"class", "id", "colspan", "rowspan"}
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem auto;max-width:75rem;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%;margin:.5rem 0}
td,th{border:1px solid #d0d7de;padding:.3rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
code{font-size:.85em;background:#f3f4f6;white-space:pre-wrap}
.badge{background:#e7ebef;border-radius:.3rem;padding:0 .3rem}.badge-danger,.text-danger,.fa-times{color:#a40e26}
.fa-check-circle{color:#116329}.fa-check-circle::before{content:"\\2713 holds"}.fa-times::before{content:"\\2717 fails"}
.fa-exclamation-triangle::before{content:"! error"}
.modal,.cooltip>span,.navbar-toggler,.alert-dismissible{display:none}.show-scrollbars{overflow:auto}
"""
_HEAD = (
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    "<style>{style}</style></head>"
)


def build_site(context: "EphemeralDataContext", folder: Path) -> None:
    """Writes the pages of all validations of the context into the folder, in place of those of an earlier night."""
    with TemporaryDirectory() as raw:
        backend = {"class_name": "TupleFilesystemStoreBackend", "base_directory": raw}
        index = {"class_name": "DefaultSiteIndexBuilder"}
        context.add_data_docs_site(
            _SITE, {"class_name": "SiteBuilder", "store_backend": backend, "site_index_builder": index}
        )
        try:
            context.build_data_docs(site_names=[_SITE])
        finally:
            context.delete_data_docs_site(_SITE)
        _clear(folder)
        for page in sorted(Path(raw).rglob("*.html")):
            to = folder / page.relative_to(raw)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(plain_page(page.read_text(encoding="utf-8")), encoding="utf-8")


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in _OURS:
        old = folder / name
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink(missing_ok=True)


def plain_page(page: str) -> str:
    """The page without scripts, remote references and attributes that could run or load anything."""
    writer = _PlainWriter()
    writer.feed(page)
    writer.close()
    title = escape(" ".join("".join(writer.title).split()) or "Data quality")
    return _HEAD.format(title=title, style=STYLE) + "<body>" + "".join(writer.body) + "</body></html>\n"


class _PlainWriter(HTMLParser):
    """Writes the body again, element by element."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.body: list[str] = []
        self.title: list[str] = []
        self._in_body = self._in_title = False
        self._dropped: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._dropped or tag in _DROPPED:
            if tag in _DROPPED:
                self._dropped.append(tag)
        elif tag in {"body", "title"}:
            self._in_body |= tag == "body"
            self._in_title = tag == "title"
        elif self._in_body and tag not in _LOST:
            self.body.append(f"<{tag}{_attributes(tag, attrs)}>")

    def handle_endtag(self, tag: str) -> None:
        if self._dropped:
            if tag == self._dropped[-1]:
                self._dropped.pop()
        elif tag == "title":
            self._in_title = False
        elif self._in_body and tag not in {"body", "html", *_VOID}:
            self.body.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self._dropped:
            return
        if self._in_title:
            self.title.append(data)
        elif self._in_body:
            self.body.append(escape(data, quote=False))


def _attributes(tag: str, attrs: list[tuple[str, str | None]]) -> str:
    kept = {name: value or "" for name, value in attrs if name in _KEPT}
    target = dict(attrs).get("href") or ""
    if tag == "a" and _is_local(target):
        kept["href"] = target
    return "".join(f' {name}="{escape(value)}"' for name, value in kept.items())


def _is_local(target: str) -> bool:
    """A place on this page or a page of this site, by a relative path."""
    path = target.partition("#")[0]
    return bool(target) and not path.startswith(("/", "\\")) and ":" not in path
