"""``ndcore judge``: let a person judge pairs of a collection, in the browser or in the terminal."""

from __future__ import annotations

import secrets
import sys
from typing import TextIO

from ndcore.checks import imported
from ndcore.cli.command import blame_command
from ndcore.cli.commands import JudgeOptions
from ndcore.cli.inputs import find_inputs, ids_of, open_documents, refuse_nothing_read
from ndcore.files.errors import UsageError
from ndcore.files.json_values import to_json
from ndcore.files.sources import STDIN
from ndcore.human import printable
from ndcore.judge.measures import Measure
from ndcore.judge.session import Question, Session
from ndcore.report.comparison import compare
from ndcore.report.comparison_terminal import print_passages
from ndcore.report.plain_values import plain

KEYS = {"1": "same", "2": "different", "3": "skip"}
SHOWN = 100_000  # characters of a text


def run_judge(options: JudgeOptions) -> int:
    """Run ``ndcore judge`` until people stop judging."""
    if options.terminal and STDIN in options.inputs:
        raise UsageError("with --terminal standard input has the answers; name the documents as files")
    if options.terminal:
        imported("rich", "ndcore judge --terminal")
    else:
        from ndcore.serve.server import check_installed

        check_installed("ndcore judge without --terminal")
    (inputs,) = find_inputs(options, (options.inputs, ()))
    with open_documents(options, inputs) as documents:
        texts = [text for batch in documents.batches() for text in batch]
        refuse_nothing_read(documents, options.inputs[0])
        with blame_command():
            session = Session(texts, list(ids_of(documents)), directory=options.output, seed=options.seed,
                              measures=[Measure.parse(each) for each in options.measures] or None, threads=options.threads,
                              progress=not options.quiet)
        with session:
            _judge(session, options)
    return 0


def _judge(session: Session, options: JudgeOptions) -> None:
    """Take labels and answers, then write the findings."""
    if session.torn:
        print(f"ndcore judge: the last line of the log was not complete, and {session.torn} bytes of it were dropped",
              file=sys.stderr)
    for path in options.labels:
        inside, outside = session.load_labels(path)
        print(f"{path}: {inside:,} labels of pairs in the pool; {outside:,} of others, which count for nothing",
              file=sys.stderr)
    try:
        if options.terminal:
            ask(session, options.person, sys.stdin, sys.stderr)
        else:
            _serve(session, options)
    finally:
        paths = session.save()
        options.outcome.message = "all answers are in the directory; the same command goes on"
        if options.json:
            print(to_json(plain(session.findings())).decode(), flush=True)
        elif not options.quiet:
            print("\n".join([str(session.findings()), *(printable(str(path)) for path in paths)]), flush=True)


def _serve(session: Session, options: JudgeOptions) -> None:
    """Serve the page until a signal ends it."""
    from ndcore.serve.judging import judging_application
    from ndcore.serve.server import bind, host_of, run

    secret = secrets.token_urlsafe(24)
    with bind("127.0.0.1", options.port) as bound:
        def ready(url: str) -> None:
            print(f"open {url}?secret={secret} in a browser (it is good once; Ctrl-C ends the session)", file=sys.stderr,
                  flush=True)

        run(judging_application(session, secret, [host_of(bound)]), bound, ready)


def ask(session: Session, person: str, answers: TextIO, stream: TextIO) -> None:
    """Ask in a terminal until there are no more answers or no more pairs."""
    question = session.next(person)
    while question is not None:
        _show(question, stream)
        print(f"pair {question.number + 1}: 1 same, 2 different, 3 skip, then a note; u undo, q end > ", end="", file=stream,
              flush=True)
        line = answers.readline()
        word, _, note = line.strip().partition(" ")
        if not line or word == "q":
            return
        if word == "u":
            if session.undo(person) is None:
                print("there is no answer to undo", file=stream)
        elif word in KEYS:
            print(session.answer(KEYS[word], note.strip(), person, question.number), file=stream)
        else:
            print(f"{printable(word)!r:.40} is not an answer", file=stream)
        question = session.next(person)
    print("all pairs of the pool were shown", file=stream)


def _show(question: Question, stream: TextIO) -> None:
    """Print the two texts with their differences, and no figure that could sway the answer."""
    names = str(question.id_a), str(question.id_b)
    measure = Measure(width=3)
    print_passages(compare(question.text_a, question.text_b, names, measure.shingling, 1.0, SHOWN), stream)
