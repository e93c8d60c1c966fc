"""Kubernetes objects in one line each: the canonical text that patterns are matched against."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from firstfault.transforms.formats.jsonwalk import Json

Object: TypeAlias = Mapping[str, Json]


_ROUTINE = {"Initialized", "Ready", "ContainersReady", "PodScheduled", "PodReadyToStartContainers"}
_JOB_LABELS = (
    "batch.kubernetes.io/job-name",
    "job-name",
    "training.kubeflow.org/job-name",
    "volcano.sh/job-name",
    "kubeflow.org/job-name",
)
_POD_OWNERS = {"Job", "PyTorchJob", "MPIJob", "TFJob", "JAXJob", "RayJob", "RayCluster"}


def dig(value: Json, path: str) -> Json:
    """Value at a dotted path of nested objects, or None."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def first(item: Object, *paths: str) -> Json:
    """First filled value of several paths."""
    return next((value for path in paths if (value := dig(item, path)) not in (None, "")), None)


def parts(item: Object, path: str) -> list[Object]:
    """The objects of a list."""
    value = dig(item, path)
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []


def kind_of(item: Object, document_kind: str | None) -> str:
    """Kind of an item; typed lists leave it out."""
    if item.get("kind"):
        return str(item["kind"])
    if document_kind and document_kind.endswith("List") and document_kind != "List":
        return document_kind.removesuffix("List")
    if "involvedObject" in item or "regarding" in item:
        return "Event"
    if dig(item, "spec.containers") is not None or dig(item, "status.containerStatuses") is not None:
        return "Pod"
    return "Node" if dig(item, "status.nodeInfo") is not None else "Job" if "status" in item else ""


def job_of(pod: Object) -> str | None:
    """Name of the job that owns a pod, by label or owner."""
    labels = dig(pod, "metadata.labels")
    if isinstance(labels, Mapping):
        for label in _JOB_LABELS:
            if labels.get(label):
                return str(labels[label])
    owners = parts(pod, "metadata.ownerReferences")
    return next((str(o.get("name")) for o in owners if o.get("kind") in _POD_OWNERS), None)


def canonical(kind: str, item: Object) -> str:
    """`kube <kind> ...` on one line."""
    writer = _WRITERS.get(kind, _other)
    words = ["kube", kind, *(word for word in writer(item) if word)]
    return " ".join(" ".join(words).split())


def _name(item: Object) -> str:
    namespace, name = first(item, "metadata.namespace"), first(item, "metadata.name")
    return f"{namespace}/{name}" if namespace else str(name)


def _pair(name: str, value: object) -> str:
    return "" if value in (None, "") else f"{name}={value}"


def _event(item: Object) -> Iterator[str]:
    if str(item.get("apiVersion", "")).startswith("audit."):
        yield from _audit(item)
        return
    about = first(item, "involvedObject", "regarding") or {}
    yield str(item.get("type") or "Normal")
    yield str(item.get("reason") or "-")
    yield f"{first(about, 'kind') or '-'}/{first(about, 'name') or '-'}"
    yield f"{_pair('ns', first(about, 'namespace') or first(item, 'metadata.namespace'))}:"
    yield str(first(item, "message", "note") or "")


def _audit(item: Object) -> Iterator[str]:
    reference = item.get("objectRef") or {}
    subresource = first(reference, "subresource")
    resource = f"{first(reference, 'resource')}{f'/{subresource}' if subresource else ''}"
    yield f"audit {item.get('verb')} {resource} {first(reference, 'namespace')}/{first(reference, 'name')}"
    yield _pair("user", first(item, "user.username"))
    yield _pair("stage", item.get("stage"))


def _pod(item: Object) -> Iterator[str]:
    yield _name(item)
    yield _pair("job", job_of(item))
    yield _pair("node", first(item, "spec.nodeName"))
    yield _pair("phase", first(item, "status.phase"))
    yield _pair("reason", first(item, "status.reason"))
    yield from _containers(item)
    for condition in parts(item, "status.conditions"):
        if condition.get("status") == "True" and condition.get("type") not in _ROUTINE:
            yield f"condition={condition.get('type')}:{condition.get('reason') or '-'}"
    messages = [dig(item, "status.message"), *(c.get("message") for c in _true_conditions(item))]
    yield _pair("message", next((message for message in messages if message), None))


def _true_conditions(item: Object) -> list[Object]:
    found = parts(item, "status.conditions")
    return [c for c in found if c.get("status") == "True" and c.get("type") not in _ROUTINE]


def _containers(item: Object) -> Iterator[str]:
    """How containers ended: the first failed one now, and the last end before a restart."""
    statuses = parts(item, "status.containerStatuses") + parts(item, "status.initContainerStatuses")
    ends = [end for s in statuses if isinstance(end := dig(s, "state.terminated"), Mapping)]
    past = [end for s in statuses if isinstance(end := dig(s, "lastState.terminated"), Mapping)]
    for prefix, found in (("", ends), ("last", past)):
        end = next((e for e in found if e.get("exitCode")), found[0] if found else None)
        if end is not None:
            yield _pair(f"{prefix}Exit" if prefix else "exit", end.get("exitCode"))
            yield _pair(f"{prefix}ContainerReason" if prefix else "containerReason", end.get("reason"))
            yield _pair(f"{prefix}Signal" if prefix else "signal", end.get("signal") or None)
    yield _pair("waiting", next((r for s in statuses if (r := dig(s, "state.waiting.reason"))), None))
    yield _pair("restarts", sum(n for s in statuses if isinstance(n := s.get("restartCount"), int)) or None)


def _job(item: Object) -> Iterator[str]:
    yield _name(item)
    for condition in parts(item, "status.conditions"):
        if condition.get("status") == "True":
            yield f"{condition.get('type')}={condition.get('reason') or 'True'}"
    for count in ("active", "succeeded", "failed"):
        yield _pair(count, dig(item, f"status.{count}"))
    phase = first(item, "status.state.phase", "status.phase")
    yield _pair("phase", phase)
    messages = [c.get("message") for c in parts(item, "status.conditions") if c.get("status") == "True"]
    yield _pair("message", next((message for message in reversed(messages) if message), None))


def _node(item: Object) -> Iterator[str]:
    yield str(first(item, "metadata.name"))
    for condition in parts(item, "status.conditions"):
        healthy = "True" if condition.get("type") == "Ready" else "False"
        if condition.get("type") == "Ready" or condition.get("status") != healthy:
            yield f"{condition.get('type')}={condition.get('status')}:{condition.get('reason') or '-'}"
        if condition.get("type") == "Ready" and condition.get("status") == "Unknown":
            yield _pair("heartbeat", condition.get("lastHeartbeatTime"))
    yield _pair("taints", ",".join(f"{t.get('key')}:{t.get('effect')}" for t in parts(item, "spec.taints")))
    yield _pair("unschedulable", "true" if dig(item, "spec.unschedulable") is True else None)


def _other(item: Object) -> Iterator[str]:
    yield from _job(item)


_WRITERS: dict[str, Callable[[Object], Iterator[str]]] = {
    "Event": _event,
    "Pod": _pod,
    "Job": _job,
    "Node": _node,
}
