"""The Content-Security-Policy of a page names its style and script, and forms only where they are wanted."""

from __future__ import annotations

import html

import pytest
from browser import Tree

from ndcore.report.html import content_policy, wrap_page


@pytest.mark.parametrize("forms", [False, True])
def test_policy(forms: bool) -> None:
    made = wrap_page("title", "<p>text</p>", "p { color: red; }", "1;", forms)
    [content] = [a["content"] for tag, a in Tree(made).elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert html.unescape(content or "") == content_policy("p { color: red; }", "1;", forms)
    assert f"form-action {repr('self') if forms else repr('none')}" in content_policy("", "", forms)
    assert content_policy() != content_policy("p") != content_policy("", "p")
