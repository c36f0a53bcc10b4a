"""The command line of ``ndcore``: every option, its type and its help."""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

from ndcore._version import __version__
from ndcore.cli.cluster_arguments import add_cluster, add_clusters, add_query
from ndcore.cli.dedup import compare, dedup, info
from ndcore.cli.design import design
from ndcore.cli.hamming_arguments import add_hamming
from ndcore.cli.options import (
    DUPLICATES,
    INPUT,
    INPUTS,
    OUTPUT,
    RUNNING,
    SHINGLES,
    add_dry_run,
    add_fields,
    add_json,
    add_overwrite,
    add_record,
    add_report,
    add_running,
    add_shingling,
    add_tokens,
)
from ndcore.cli.sketch_arguments import add_sketch
from ndcore.cli.strict_parser import Parser
from ndcore.cli.values import (
    integer,
    keep,
    positive,
    probability,
    resemblance_and_probability,
    seconds,
    threshold,
    thresholds,
)


def parser() -> Parser:
    """The arguments of every command; ``run`` of the result is the function that does the work."""
    top = Parser(prog="ndcore", description="Find, explain and remove near-duplicate documents.")
    top.add_argument("-V", "--version", action=_Version, nargs=0, help="print the version and exit")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands", help="what to do")
    _add_dedup(commands)
    add_sketch(commands)
    _add_compare(commands)
    _add_design(commands)
    _add_info(commands)
    _add_bench(commands)
    add_cluster(commands)
    add_clusters(commands)
    add_query(commands)
    add_hamming(commands)
    _add_completion(commands)
    return top


class _Version(argparse.Action):
    """Print the version of ndcore, which is imported only then, and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"ndcore {__version__}")
        parser.exit()


_Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def _add_dedup(commands: _Commands) -> None:
    p = commands.add_parser(
        "dedup",
        help="keep one document of every cluster of near-duplicates",
        description="Keep one document of every cluster of near-duplicates. " + INPUTS,
        epilog="OUTDIR gets kept/ (or annotated/), clusters.jsonl and summary.json. Every dropped document resembles "
        "the one that stands for it at or above the threshold, computed from the texts. (With saved sketches it is an "
        "estimate; with --clustering components the two may be linked by others only.)\n\n"
        "With -o - the kept records go to standard output as JSON lines, and the report to standard error: records of JSON "
        "as they are, a row of a table as an object of its columns, a text, a page or a document of an archive as "
        '{"id": ..., "text": ...}.',
    )
    p.set_defaults(run=dedup)
    p.add_argument("inputs", nargs="+", metavar="IN", help="what to deduplicate")
    output = p.add_argument_group(OUTPUT)
    output.add_argument(
        "-o", "--output", required=True, metavar="OUTDIR",
        help="directory to write; it must not exist. -: print the records that are kept",
    )
    add_overwrite(output, "OUTDIR and the page of --report if ndcore wrote them, and any file of the names of --table and "
                  "--pairs")
    output.add_argument(
        "--annotate", action="store_true", help="write all records with their verdict to annotated/ instead of kept/"
    )
    output.add_argument(
        "--table", metavar="FILE",
        help="write all documents, kept ones too, with their cluster and its size to a .parquet, .csv or .jsonl file",
    )
    output.add_argument("--pairs", metavar="FILE", help="write the pairs that were accepted to such a file")
    add_report(output, "charts, the largest clusters, texts side by side")
    add_json(output, "print summary.json instead of the report")
    found = p.add_argument_group(DUPLICATES)
    found.add_argument(
        "--threshold",
        dest="thresholds",
        type=thresholds,
        default=(0.8,),
        metavar="T[,T]",
        help="resemblance (Jaccard similarity) from which documents are duplicates (default 0.8). Several, as 0.7,0.8,0.9: "
        "the inputs are read once, and OUTDIR gets a folder for each",
    )
    found.add_argument(
        "--against", action="append", default=[], metavar="IN",
        help="drop what is in this file, directory, file of signatures or collection of signatures (ndcore cluster --method "
        "features) already, which stays as it is; give it once for each",
    )
    found.add_argument(
        "--keep",
        type=keep,
        default=("first", ""),
        metavar="RULE",
        help="which document of a cluster stays: first, longest, FIELD:desc or FIELD:asc (default first); in archives "
        "the fields are url, host and date",
    )
    found.add_argument("--by", metavar="FIELD", help="never compare documents that differ in this field")
    found.add_argument(
        "--one-per",
        metavar="FIELD",
        help="of documents with the same value in this field keep at most the first by --keep, whatever their texts: "
        "--one-per url --keep date:desc keeps the newest capture of every page",
    )
    found.add_argument(
        "--clustering",
        dest="cluster",
        choices=("star", "components", "greedy"),
        default="star",
        help="how pairs become clusters (default star)",
    )
    found.add_argument(
        "--max-holders",
        type=integer(2),
        default=1000,
        metavar="N",
        help="length from which a run of equal features is compared by representatives (default 1000)",
    )
    add_shingling(p.add_argument_group(SHINGLES))
    add_fields(p.add_argument_group(INPUT))
    add_dry_run(add_running(p, "spill to disk past this, for instance 2G"))


def _add_compare(commands: _Commands) -> None:
    p = commands.add_parser(
        "compare",
        help="two documents side by side",
        description="How much two documents resemble each other, exactly and as sketches see it, and the passages that "
        "they share or do not, side by side. A document is a file, FILE:LINE or FILE#ID for a record (line or row, in "
        "archives the number of the record; id, in archives the URL), or - for standard input.",
    )
    p.set_defaults(run=compare)
    p.add_argument("a", metavar="A", help="a document")
    p.add_argument("b", metavar="B", help="another")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("--all", action="store_true", help="show every passage in full")
    add_report(output, "the whole texts side by side")
    add_overwrite(output, "the page of --report")
    add_json(output, "print everything as one JSON object")
    p.add_argument_group(DUPLICATES).add_argument(
        "--threshold",
        type=threshold,
        default=0.8,
        metavar="T",
        help="resemblance from which they are near-duplicates (default 0.8)",
    )
    shingles = p.add_argument_group(SHINGLES)
    add_tokens(shingles)
    shingles.add_argument("--labelled", action="store_true", help="tell repeated shingles apart by their occurrence number")
    add_record(p.add_argument_group(INPUT))


def _add_design(commands: _Commands) -> None:
    p = commands.add_parser(
        "design",
        help="choose a filter, or see what one does",
        description="The cheapest filter (groups × group size, need) for a threshold, within bounds of error and of "
        "storage; or, with --groups and --group-size or --preset, what a given one does.",
        epilog="A signature is cut into groups (elsewhere: bands) of minima (rows); a pair is a candidate where it shares "
        "at least `need` of its groups. Costs rest on a model of unrelated documents, misses do not.",
    )
    p.set_defaults(run=design)
    wanted = p.add_argument_group("pairs")
    wanted.add_argument(
        "--threshold", type=threshold, metavar="T", help="resemblance from which pairs are wanted (default 0.8)"
    )
    wanted.add_argument("--collection", type=positive, metavar="N", help="documents in the collection (default 1000000)")
    search = p.add_argument_group("bounds of the search")
    search.add_argument(
        "--miss", type=probability, metavar="P", help="let at most P of the pairs at the threshold be missed (default 1e-3)"
    )
    search.add_argument(
        "--false-candidates",
        type=resemblance_and_probability,
        metavar="R:P",
        help="let at most P of the pairs at the lower resemblance R pass, for instance 0.5:0.01",
    )
    search.add_argument("--bytes", type=positive, metavar="N", help="storage for the features of a document, at most")
    search.add_argument(
        "--num-perm", type=positive, metavar="N", help="length of a signature (default 84, or up to 200 where needed)"
    )
    given = p.add_argument_group("a given filter")
    given.add_argument("--groups", type=positive, metavar="K", help="features of a document (elsewhere: bands)")
    given.add_argument("--group-size", type=positive, metavar="S", help="minima in a feature (elsewhere: rows)")
    given.add_argument("--need", type=positive, metavar="R", help="features that a candidate pair shares (default 1)")
    given.add_argument("--preset", choices=("altavista",), help="6 groups of 14, need 2, for 200,000,000 pages at 0.975")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("--plot", metavar="FILE", help="write the curve to a .png, .svg or .pdf file; it must not exist")
    add_overwrite(output, "any file of the name of --plot")
    add_json(output, "print one JSON object")


def _add_info(commands: _Commands) -> None:
    p = commands.add_parser(
        "info",
        help="this installation, or a file of sketches",
        description="What is installed, or what a file of sketches holds.",
    )
    p.set_defaults(run=info)
    p.add_argument("file", nargs="?", metavar="FILE", help="sketches, instead of the installation")
    add_json(p.add_argument_group(OUTPUT), "print one JSON object")


def _bench(args: argparse.Namespace) -> int:
    from ndcore.cli.bench import bench  # makes sketchers, which no other command needs

    return bench(args)


def _add_bench(commands: _Commands) -> None:
    p = commands.add_parser(
        "bench",
        help="how fast this machine sketches",
        description="Check sketches of generated text against ndcore.reference, then time them: MB of text per second "
        "by kind of sketch, variant of the kernels and threads.",
    )
    p.set_defaults(run=_bench)
    running = p.add_argument_group(RUNNING)
    running.add_argument(
        "--seconds", type=seconds, default=10.0, metavar="S", help="about how long to measure (default 10)"
    )
    running.add_argument("--threads", type=positive, metavar="N", help="of the last columns (default: all cores)")
    add_json(p.add_argument_group(OUTPUT), "print the figures as one JSON object")


def _completion(args: argparse.Namespace) -> int:
    from ndcore.cli.completion import completion  # asks for all arguments, which this module makes

    return completion(args)


def _add_completion(commands: _Commands) -> None:
    p = commands.add_parser(
        "completion",
        help="let the shell complete commands and options",
        description="Print a script by which a shell completes the commands, options and choices of ndcore.",
        epilog='bash: eval "$(ndcore completion bash)" in ~/.bashrc. zsh: ndcore completion zsh > _ndcore, in a directory '
        "of $fpath. fish: ndcore completion fish > ~/.config/fish/completions/ndcore.fish.",
    )
    p.set_defaults(run=_completion)
    p.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
