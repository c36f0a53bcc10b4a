"""How a store is shared: by name, one listener, and everything ends with the store."""

from __future__ import annotations

import pytest
from stores import TEXT, opened, settings

import ndcore as nd


def test_sessions_and_the_listener_end_with_the_store(tmp_path):
    with opened(tmp_path, **settings()) as store:
        session, listener = store.session("s"), store.listen()
        session.decide("a", TEXT)
        assert store.session("s") is session and store.listen() is listener
    assert listener.closed
    with opened(tmp_path) as store:
        assert len(store) == 0 and len(store.session("s")) == 0


def test_a_listener_can_be_opened_again(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.listen().close()
        with store.listen(), nd.StoreClient(store.path) as client:
            assert client.decide("a", TEXT).kept


def test_readers_share_nothing(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("a", TEXT)
        with opened(tmp_path, read_only=True) as reader:
            for call in (lambda: reader.session("s"), reader.listen, lambda: reader.merge(store)):
                with pytest.raises(ValueError, match=r"read_only=True|itself"):
                    call()
