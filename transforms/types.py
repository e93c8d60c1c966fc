"""Short names for the Spark types that contracts use, all times UTC TIMESTAMP."""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

TEXT, INT, LONG, DOUBLE = StringType(), IntegerType(), LongType(), DoubleType()
BOOL, TIME, DAY = BooleanType(), TimestampType(), DateType()
TEXTS, TEXT_MAP = ArrayType(StringType()), MapType(StringType(), StringType())


def struct_of(**fields: DataType) -> StructType:
    """A struct type of nullable fields."""
    return StructType([StructField(name, dtype) for name, dtype in fields.items()])
