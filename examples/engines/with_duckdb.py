"""Drop the near-duplicates of a DuckDB table or view, or of files that DuckDB reads."""

import duckdb

import ndcore as nd
from ndcore.phases.shuffles import check_ids


def deduplicate(connection, source, id="id", text="text", **options):
    """Return the rows without near-duplicates, as a relation; of several the one with the smallest id stays.

    The view `verdicts` tells of each document its id, representative (label), class and resemblance.
    `options` are those of nd.near_duplicates.
    """
    pages = connection.sql(f"SELECT {id} AS id, {text} AS text FROM {source} ORDER BY 1").to_arrow_table()
    check_ids(pages["id"])
    result = nd.near_duplicates(pages["text"], ids=pages["id"].to_pylist(), **options)
    connection.register("verdicts", result.to_arrow())
    return connection.sql(f"SELECT * FROM {source} WHERE {id} IN (SELECT id FROM verdicts WHERE class = 'kept')")


if __name__ == "__main__":
    connection = duckdb.connect()
    deduplicate(connection, "'examples/notices.jsonl'").show()
    connection.sql("SELECT class, count(*) FROM verdicts GROUP BY class ORDER BY class").show()
