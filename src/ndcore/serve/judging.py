"""The page on which people judge pairs. It is the only page of ndcore that writes, so it needs a secret.

The address has a secret that can be used once: it is exchanged for a cookie that scripts cannot read and that the requests
of other sites do not carry. A request that writes must also say that it comes from a page of this server (Origin).
"""

from __future__ import annotations

import hmac
import html
import secrets
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route as Path

from ndcore.report.comparison import compare
from ndcore.report.elements import fit, show_name, show_section, show_text
from ndcore.report.html import content_policy, draw_overview, wrap_page
from ndcore.report.judged import CURVES, Judged, curve_chart, measure_table
from ndcore.report.side_by_side import LEGEND, show_side_by_side
from ndcore.serve.app import WorkerThreads
from ndcore.serve.bodies import parse_query, read_body
from ndcore.serve.guard import App, Guard
from ndcore.serve.pages import STYLE
from ndcore.serve.refusal import Refused
from ndcore.text.shingling import Shingling

COOKIE = "ndcore-judge"
PAGE_BYTES, SHOWN = 2_000_000, 100_000  # bytes of the page for both texts; characters of each text
MOST_BODY = 64 << 10
SECONDS = 60.0
LABELS = (("same", "1", "Same"), ("different", "2", "Different"), ("skip", "3", "Skip"))
STYLES = STYLE + CURVES + """
.judge { position: sticky; top: 0; z-index: 2; background: var(--page); padding: .6rem 0; display: flex; flex-wrap: wrap;
  gap: .5rem; align-items: end; border-bottom: 1px solid var(--line); }
.judge button { min-height: 2.75rem; } .judge .field { flex: 1 1 12rem; margin: 0; } .judge kbd { opacity: .75; }
.judge + form { margin: .5rem 0; } .undo button { background: none; color: var(--shared); border-color: var(--line); }
.nd-pair th { position: static; }
"""
SCRIPT = """
document.addEventListener('keydown', event => {
  const typing = event.target instanceof Element && event.target.closest('input, textarea');
  if (typing && event.key === 'Escape') { event.target.blur(); return; }
  if (typing || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const one = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!one) return;
  event.preventDefault();
  if (one instanceof HTMLButtonElement) one.click(); else one.focus();
});
"""
POLICY = content_policy(STYLES, SCRIPT, True) + "; frame-ancestors 'none'"


class Judging(Protocol):
    """The part of a session of `ndcore.judge` that its page needs."""

    def next(self, person: str = "") -> Any:
        """Return the pair that a person is to judge next, or None."""

    def answer(self, label: str, note: str = "", person: str = "", number: int | None = None) -> Any:
        """Record an answer."""

    def undo(self, person: str = "") -> Any:
        """Take back a person's last answer."""

    def findings(self) -> Any:
        """Return the estimates from all answers."""

    def save(self) -> Any:
        """Write the evidence and the settings to disk."""


def judging_application(session: Judging, secret: str, hosts: Iterable[str] = ()) -> App:
    """Make the ASGI application that shows the pairs of a session and takes answers.

    Parameters
    ----------
    session : Judging
    secret : str
        The secret of the address ``/?secret=…``; the first request that has it gets the cookie.
    hosts : iterable of str
        As in `ndcore.serve.app.application`.
    """
    judge = _Judge(session, secret)
    routes = [Path("/", judge.show), Path("/answer", judge.answer, methods=["POST"]),
              Path("/undo", judge.undo, methods=["POST"])]
    handlers: Any = {Refused: _answer_refusal}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), lambda scope, error: _problem(error), hosts)


class _Judge:
    """The endpoints. They use the session one at a time."""

    def __init__(self, session: Judging, secret: str) -> None:
        self.session, self._secret = session, secret
        self._cookie = secrets.token_urlsafe(32)
        self._work, self._one = WorkerThreads(SECONDS), threading.Lock()

    async def show(self, request: Request) -> Response:
        """Show the next pair, or exchange the secret for the cookie."""
        given = dict(parse_query(request.scope["query_string"]))
        if "secret" in given and not self._has_cookie(request):
            return self._exchange(str(given["secret"]))
        self._check(request)
        person = str(given.get("person", ""))
        if "secret" in given:
            return _redirect(person)
        return _page(await self._alone(lambda: judging_page(self.session, person)))

    async def answer(self, request: Request) -> Response:
        """Record an answer, and show the next pair."""
        form, person = await self._form(request)
        number = form.get("number", "")
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise Refused(400, f"number is the number of a pair, got {number!r:.40}")
        note = form.get("note", "").replace("\r\n", "\n")
        await self._alone(lambda: self.session.answer(form.get("label", ""), note, person, int(number)))
        return _redirect(person)

    async def undo(self, request: Request) -> Response:
        """Take back the last answer, and show its pair again."""
        _, person = await self._form(request)
        await self._alone(lambda: self.session.undo(person))
        return _redirect(person)

    async def _form(self, request: Request) -> tuple[dict[str, str], str]:
        """Check a request that writes, and read its form."""
        self._check(request)
        if not request.headers.get("origin"):  # where there is one, the guard has compared it
            raise Refused(403, "the request does not say which site it comes from (Origin); answer on the page of this "
                               "server")
        declared = request.headers.get("content-length")
        body = await read_body(request.stream(), declared, MOST_BODY, self._work.seconds)
        form = {name: str(value) for name, value in parse_query(body)}
        return form, form.get("person", "")

    async def _alone(self, work: Callable[[], Any]) -> Any:
        """Run on a thread, while no other request uses the session."""
        def alone() -> Any:
            with self._one:
                return work()

        try:
            return await self._work.run(alone)
        except ValueError as error:
            raise Refused(400, str(error)) from error

    def _has_cookie(self, request: Request) -> bool:
        return hmac.compare_digest(request.cookies.get(COOKIE, "").encode("latin-1", "replace"), self._cookie.encode())

    def _check(self, request: Request) -> None:
        if not self._has_cookie(request):
            raise Refused(403, "this page takes answers from the browser alone in which the address that the terminal shows "
                               "was opened first; open that address, or start ndcore judge again")

    def _exchange(self, given: str) -> Response:
        """Exchange the secret for the cookie; this works once."""
        if not self._secret or not hmac.compare_digest(given.encode("utf-8", "replace"), self._secret.encode()):
            raise Refused(403, "the secret of this address is wrong, or another browser has used it; start ndcore judge "
                               "again")
        self._secret = ""
        response = _redirect("")
        response.set_cookie(COOKIE, self._cookie, httponly=True, samesite="strict", path="/")
        return response


def _redirect(person: str) -> Response:
    return RedirectResponse(f"/?{urlencode({'person': person})}" if person else "/", 303)


def _page(content: str, status: int = 200) -> Response:
    return Response(content.encode("utf-8", "replace"), status, {"content-security-policy": POLICY}, "text/html")


def _problem(error: Refused) -> Response:
    title = f"{error.status} {HTTPStatus(error.status).phrase}"
    words = show_text(error.message[:1].upper() + error.message[1:])
    body = f'<header><h1>{title}</h1></header><main><div class="card"><p>{words}.</p></div></main>'
    return _page(wrap_page(title, body, STYLES, SCRIPT, True), error.status)


async def _answer_refusal(request: Request, error: Refused) -> Response:
    return _problem(error)


# ---- the page


def judging_page(session: Judging, person: str) -> str:
    """Render the pair that a person is to judge, and the estimates so far."""
    question = session.next(person)
    who = f'<input type="hidden" name="person" value="{html.escape(person)}">'
    undo = f'<form class="undo" action="/undo" method="post">{who}<button data-key="u">Undo <kbd>u</kbd></button></form>'
    if question is None:
        main = f'<p class="answer">All pairs of the pool were shown.</p>{undo}'
    else:
        buttons = "".join(f'<button name="label" value="{label}" data-key="{key}">{words} <kbd>{key}</kbd></button>'
                          for label, key, words in LABELS)
        main = (
            f'<form class="judge" action="/answer" method="post">{who}<input type="hidden" name="number" '
            f'value="{question.number}">{buttons}<label class="field"><span>Note <kbd>n</kbd></span>'
            f'<input type="text" name="note" maxlength="10000" autocomplete="off" data-key="n"></label></form>{undo}'
            + _pair(question)
        )
    findings: Judged = session.findings()
    main += show_section("findings", "What the answers say", f"<p>{show_text(str(findings)).replace(chr(10), '<br>')}</p>"
                    f"{curve_chart(findings)}{measure_table(findings)}")
    main += ('<form class="card" action="/" method="get"><label class="field"><span>Who judges</span><input type="text" '
             f'name="person" maxlength="100" value="{html.escape(person)}"></label><button>Change</button></form>')
    body = f"<header><h1>Are these two the same?</h1></header><main>{main}</main>"
    return wrap_page("Judge pairs · ndcore", body, STYLES, SCRIPT, True)


def _pair(question: Any) -> str:
    """Render the two texts side by side, with their differences marked."""
    names = str(question.id_a), str(question.id_b)

    def marked(limit: int) -> str:
        comparison = compare(question.text_a, question.text_b, names, Shingling(width=3), 1.0, limit)
        notes = "; ".join(f"{show_name(each.name)}: {each.note}" for each in (comparison.a, comparison.b) if each.note)
        note = f'<p class="cut-note">{notes}</p>' if notes else ""
        return (f"{note}{show_side_by_side(comparison.a.shown, comparison.b.shown, comparison.passages, names)}"
                f'<p class="faint legend-line">{LEGEND}</p>{draw_overview(comparison.passages)}')

    return fit(marked, SHOWN, PAGE_BYTES)
