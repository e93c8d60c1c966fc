"""Table contracts: what one row is, which columns it has, what identifies it and how long it is kept."""

from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructField, StructType


class ContractError(ValueError):
    """A frame does not have the columns that a table promises."""


def column(name: str, dtype: DataType, comment: str, *, required: bool = False) -> StructField:
    """One column of a contract; `comment` becomes the Delta column comment.

    A required column stays nullable to Spark, which cannot see that a filter or a join leaves no null; `conform`
    stops a write that would break the promise.
    """
    return StructField(name, dtype, metadata={"comment": comment, "required": required})


@dataclass(frozen=True)
class Table:
    """The promise of one Delta table at `<lake>/<name>`.

    Attributes:
        name: Folder below the lake and name in SQL.
        row: What one row is, in words.
        fields: Columns in order, each with a comment.
        keys: Columns that identify a row.
        partitions: Partition columns.
        keep_days: Days after which rows may be removed; None keeps them.
        version: Raised when a column is added or changes its meaning.
    """

    name: str
    row: str
    fields: tuple[StructField, ...]
    keys: tuple[str, ...]
    partitions: tuple[str, ...] = ()
    keep_days: int | None = None
    version: int = 1
    properties: dict[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> StructType:
        """The columns as a Spark schema."""
        return StructType(list(self.fields))

    @property
    def columns(self) -> list[str]:
        """The column names in order."""
        return [f.name for f in self.fields]

    def conform(self, df: DataFrame) -> DataFrame:
        """The frame with exactly the promised columns, types and order.

        Args:
            df: A frame with at least the promised columns; columns whose name starts with `_` are
                helpers of a builder and are dropped.

        Raises:
            ContractError: Lists every missing and every unexpected column at once.
        """
        have, want = set(df.columns), set(self.columns)
        missing = sorted(want - have)
        extra = sorted(c for c in have - want if not c.startswith("_"))
        if missing or extra:
            raise ContractError(f"table {self.name}: missing columns {missing}, unexpected columns {extra}")
        return df.selectExpr(*(self._cast(f) for f in self.fields)).to(self.schema)

    def _cast(self, promised: StructField) -> str:
        """The column as SQL: one call for all columns of a frame, where Column objects take several each."""
        name, dtype = f"`{promised.name}`", promised.dataType.simpleString()
        value = f"cast({name} as {dtype})"
        if promised.metadata["required"]:
            value = f"coalesce({value}, cast(raise_error('{self.name}.{promised.name} is null') as {dtype}))"
        return f"{value} as {name}"


class View(Table):
    """The promise of a frame that is made where it is needed and never written."""
