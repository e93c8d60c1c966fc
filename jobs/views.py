"""The tables of a lake as views of DuckDB, read by delta-rs: SQL without Spark, for notebooks and analysts."""

from collections.abc import Sequence
from typing import Any

import duckdb

from firstfault.jobs.docs import ALL_TABLES
from firstfault.jobs.light import in_lake
from firstfault.transforms.contract import Table


def views_of(lake: str, tables: Sequence[Table] = ALL_TABLES) -> duckdb.DuckDBPyConnection:
    """A connection with a view per table, which reads only the columns and files that a query asks for.

    A table that was never written is empty, and a column that an older lake does not have is null, so that a query
    means the same on every lake. Times are shown in UTC. What a query is given belongs into its parameters: `$job`,
    not an f-string.

    Args:
        lake: Root of the lake.
        tables: Contracts of the tables.

    Raises:
        LookupError: None of the tables is there.
    """
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    found = False
    for contract in tables:
        table = in_lake(lake, contract)
        held, empty = table.dataset(), table.of([])
        found = found or held is not None
        if held is not None and set(contract.columns) <= set(held.schema.names):
            connection.register(contract.name, held)
            continue
        connection.register(f"{contract.name}_empty", empty)
        parts = [f"from {contract.name}_empty"]
        if held is not None:
            connection.register(f"{contract.name}_held", held)
            parts.insert(0, f"from {contract.name}_held")
        connection.execute(f"create temp view {contract.name} as {' union all by name '.join(parts)}")
    if not found:
        raise LookupError(f"{lake} holds no table of ours: name the folder that firstfault nightly writes to.")
    return connection


def asked(connection: duckdb.DuckDBPyConnection, query: str, **given: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The rows of a query as plain values.

    Args:
        connection: A result of `views_of`.
        query: SQL with `$name` where a value goes.
        **given: The values by name.
    """
    result = connection.execute(query, given)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
