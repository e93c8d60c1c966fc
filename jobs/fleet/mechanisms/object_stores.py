"""Stores behind a client library: S3, HDFS."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, raises
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

ENDPOINT, BUCKET = "https://s3.cl", "train-ckpt"
HDFS = "hdfs://nn1.cl:8020"
S3_ERRORS = (
    (
        "botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the PutObject operation "
        "(reached max retries: 4): Please reduce your request rate."
    ),
    (
        "botocore.exceptions.ClientError: An error occurred (503) when calling the UploadPart operation "
        "(reached max retries: 4): Service Unavailable"
    ),
    'botocore.exceptions.ReadTimeoutError: Read timeout on endpoint URL: "{url}"',
    'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "{url}"',
    (
        "botocore.exceptions.ConnectionClosedError: Connection was closed before we received a valid response from "
        'endpoint URL: "{url}".'
    ),
)


@mechanism("s3_errors")
def s3_errors(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The object store refuses or does not answer: ranks that save fail after their retries."""
    scene = Scene(rng, topology, attempt)
    step = attempt.step_at(onset)
    path = f"s3://{BUCKET}/{attempt.name}/iter_{step:07d}"
    scene.app(after(onset, -1.0), "app.ckpt_begin", "context", attempt.ranks[0], step=step, path=path)
    error = rng.choice(S3_ERRORS)
    deaths: Deaths = {}
    for rank in rng.sample(attempt.ranks, max(1, len(attempt.ranks) // 2)):
        url = f"{ENDPOINT}/{BUCKET}/{attempt.name}/iter_{step:07d}/rank{rank.rank}.pt"
        t = scene.later(onset, 0.0, 4.0)
        if rng.random() < 0.5:
            retry = f"Retry needed, retrying request after sleep of: {rng.uniform(0.5, 8.0):.2f}"
            scene.app(t, "note.line", "origin", rank, level="WARNING", text=retry)
        deaths |= raises(scene, after(t, 12.0), rank, error.format(url=url), role="origin", frame="save")
    end = tear_down(scene, deaths)
    return scene.close(
        "s3_errors", "storage", "filesystem", [f"s3://{BUCKET}"], t0=onset, end=end, affected=attempt.nodes
    )


@mechanism("hdfs_no_block")
def hdfs_no_block(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """HDFS finds no data node for a block: none runs, none has space, or none can be reached."""
    scene = Scene(rng, topology, attempt)
    step = attempt.step_at(onset)
    folder = f"/ckpt/{attempt.name}/iter_{step:07d}"
    scene.app(after(onset, -1.0), "app.ckpt_begin", "context", attempt.ranks[0], step=step, path=f"{HDFS}{folder}")
    running, excluded = rng.choice(((0, 0), (3, 0), (3, 3)))
    out = f"{excluded} node(s) are" if excluded else "no node(s) are"
    deaths: Deaths = {}
    for rank in rng.sample(attempt.ranks, max(1, len(attempt.ranks) // 3)):
        t = scene.later(onset, 0.0, 2.0)
        remote = (
            f"org.apache.hadoop.ipc.RemoteException(java.io.IOException): File {folder}/rank{rank.rank}.pt could only "
            f"be written to 0 of the 1 minReplication nodes. There are {running} datanode(s) running and {out} "
            "excluded in this operation."
        )
        for number in range(excluded):
            node = f"DatanodeInfoWithStorage[10.7.9.{14 + number}:9866,DS-{rng.getrandbits(32):08x},DISK]"
            scene.app(
                after(t, 0.01 * number),
                "java.line",
                "origin",
                rank,
                text=f"hdfs.DataStreamer: Excluding datanode {node}",
            )
        frame = "\tat org.apache.hadoop.ipc.Client.call(Client.java:1513)"
        said = f"hdfs.DataStreamer: DataStreamer Exception\n{remote}\n{frame}"
        scene.app(after(t, 0.05), "java.line", "origin", rank, text=said)
        error = f"OSError: HDFS write failed for {HDFS}{folder}/rank{rank.rank}.pt: {remote}"
        deaths |= raises(scene, after(t, 2.2), rank, error, role="cascade", frame="save")
    end = tear_down(scene, deaths)
    return scene.close("hdfs_no_block", "storage", "filesystem", [HDFS], t0=onset, end=end, affected=attempt.nodes)
