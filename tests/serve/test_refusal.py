"""A refusal has a status and words."""

from __future__ import annotations

from ndcore.serve.refusal import Refused


def test_refusals() -> None:
    refused = Refused(404, "nothing here")
    assert (refused.status, refused.message, str(refused)) == (404, "nothing here", "nothing here")
