"""The Content-Security-Policy of a page names its style and script, and forms only where they are wanted."""

from __future__ import annotations

import html

import pytest
from browser import Tree

from ndcore.report.html import page, policy


@pytest.mark.parametrize("forms", [False, True])
def test_policy(forms: bool) -> None:
    made = page("title", "<p>text</p>", "p { color: red; }", "1;", forms)
    [content] = [a["content"] for tag, a in Tree(made).elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert html.unescape(content or "") == policy("p { color: red; }", "1;", forms)
    assert f"form-action {repr('self') if forms else repr('none')}" in policy("", "", forms)
    assert policy() != policy("p") != policy("", "p")
