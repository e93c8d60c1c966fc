"""File systems: by which name an event tells of one, and which mount, bucket or URL stands for it in an attempt."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

URL = r"^(?:s3[an]?|gs|hdfs|webhdfs|abfss?|wasbs?|oss|cosn?|swift)://[^/\s]+"
_S3_HOST = r"^https?://([^/]+?)\.s3[.-][^/]+"
_S3_PATH = r"^https?://[^/]+/([a-z0-9][a-z0-9.-]{2,62})(?:[/?]|$)"
_BELOW = r"^(/(?:mnt|media|net|nfs|gpfs|lustre)/[^/\s]+)/"
"""Folders that hold mounts and are hardly ever one: the mount is the next level, if something lies below it."""
_TOP = r"^(/[^/\s]+)"
_TARGET = r"^(.+)-(?:OST|MDT)[0-9a-f]{4}$"
MOUNTED = ("storage.usage", "storage.mounted")
"""Events that name a mount and what is mounted there."""
BOOTSTRAP = "comm.bootstrap"
NAMING = (*MOUNTED, "storage.url", BOOTSTRAP)
"""Events that blame nobody and tell names of what others blame; wanted whatever the rules ask for."""


def filesystem_name() -> Column:
    """The file system that an event's attributes name: mount, URL or bucket, the mount of a path, or a server."""
    attrs = F.col("attrs")
    path = attrs["path"]
    names = (
        attrs["mount"],
        _found(F.coalesce(attrs["url"], path), URL, 0),
        F.when(attrs["scheme"] == "s3", _bucket(attrs["endpoint"])),
        _found(path, _BELOW, 1),
        _found(path, _TOP, 1),
        attrs["server"],
        attrs["fs"],
    )
    # The connectors' spellings of one scheme name the same bucket.
    return F.nullif(F.regexp_replace(F.coalesce(*names), r"^s3[an]://", "s3://"), F.lit(""))


def _found(text: Column, regex: str, group: int) -> Column:
    return F.nullif(F.regexp_extract(text, regex, group), F.lit(""))


def _bucket(endpoint: Column) -> Column:
    """The bucket of a request: the host's first part where the store is asked by bucket, else the first folder."""
    name = F.coalesce(_found(endpoint, _S3_HOST, 1), _found(endpoint, _S3_PATH, 1))
    return F.concat(F.lit("s3://"), name)


def names_known(placed: DataFrame) -> DataFrame:
    """One row per attempt: the mounts, URLs and addresses by which its events name things.

    `_mounts` are known mounts, `_served` what is mounted there, `_failed` mounts that its own storage errors name,
    `_urls` the stores that its own lines name, `_addresses` the nodes by the address that they announced.

    Args:
        placed: Scoped events with places.
    """
    name, own, attrs = F.col("_filesystem"), F.col("relation") == "own", F.col("attrs")
    tells = F.col("event_type").isin(*MOUNTED) & attrs["mount"].startswith("/")
    failed = own & F.col("event_type").startswith("storage.") & (F.col("role") == "initiating")
    announced = (F.col("event_type") == BOOTSTRAP) & F.col("node").isNotNull()
    asked = F.col("event_type").startswith("storage.") | (F.col("event_type") == BOOTSTRAP) | name.contains("://")
    served = F.struct(attrs["fs"].alias("fs"), attrs["mount"].alias("mount"), attrs["type"].alias("type"))
    return (
        placed.where(asked)
        .groupBy("uid")
        .agg(
            F.collect_set(F.when(tells, attrs["mount"])).alias("_mounts"),
            F.collect_set(F.when(tells & attrs["fs"].isNotNull(), served)).alias("_served"),
            F.collect_set(F.when(failed & name.startswith("/"), name)).alias("_failed"),
            F.collect_set(F.when(own & name.contains("://"), name)).alias("_urls"),
            F.collect_set(F.when(announced, F.struct(attrs["addr"].alias("addr"), "node"))).alias("_addresses"),
        )
    )


def filesystem_origin(entity: Column, attrs: Column) -> Column:
    """The mount, bucket or URL of a blamed file system; the server or target where nothing names one; null for none.

    Args:
        entity: What the anchor is grouped by; empty where its event names nothing.
        attrs: Attributes of its first event.
    """
    failed = F.when(F.size("_failed") == 1, F.col("_failed")[0])
    scheme = F.concat(attrs["scheme"], F.lit("://"))
    alike = F.filter("_urls", lambda url: url.startswith(scheme))
    url = F.when(F.size(alike) == 1, alike[0])
    named = (
        F.when(entity.startswith("/"), F.coalesce(_mount_of(F.coalesce(attrs["path"], entity)), entity))
        .when(entity.contains("://"), entity)
        .when(attrs["scheme"].isNotNull(), url)
        .otherwise(F.coalesce(_mount_served(entity, attrs["client"]), _mount_of(failed), failed))
    )
    return F.coalesce(named, F.nullif(entity, F.lit("")))


def _mount_of(path: Column) -> Column:
    """The longest known mount above a path."""
    above = F.filter(
        "_mounts", lambda mount: (mount != "/") & ((path == mount) | path.startswith(F.concat(mount, F.lit("/"))))
    )
    return F.array_max(F.transform(above, lambda m: F.struct(F.length(m).alias("n"), m.alias("mount"))))["mount"]


def _mount_served(server: Column, client: Column) -> Column:
    """The one mount of what a server exports, of a Lustre target's file system, or of that kind of client."""
    no = F.lit(False)
    of_server = F.concat(F.nullif(server, F.lit("")), F.lit(":"))
    of_target = F.concat(F.lit(":/"), F.nullif(F.regexp_extract(server, _TARGET, 1), F.lit("")))

    def only(test: Callable[[Column], Column]) -> Column:
        mine = F.filter("_served", lambda s: F.coalesce(test(s), no))
        mounts = F.array_distinct(F.transform(mine, lambda s: s["mount"]))
        return F.when(F.size(mounts) == 1, mounts[0])

    return F.coalesce(
        only(lambda s: s["fs"].startswith(of_server)),
        only(lambda s: s["fs"].endswith(of_target)),
        only(lambda s: (s["type"] == client) | s["fs"].startswith(F.concat(client, F.lit("_")))),
    )
