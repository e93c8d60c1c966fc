import pyarrow as pa
import pytest

from firstfault.transforms.formats.hosts import instance_host, short_host
from firstfault.transforms.formats.pci import normalise_pci, normalise_pci_text
from firstfault.transforms.formats.times import epoch_micros, parse_time


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0000:3b:00", "0000:3b:00"),
        ("00000000:3B:00.0", "0000:3b:00"),
        ("0008:01:00", "0008:01:00"),
        ("PCI:0000:C5:00.0", "0000:c5:00"),
        ("3b:00.0", "0000:3b:00"),
        ("00010000:3B:00.0", "00010000:3b:00"),
        ("nonsense", None),
        ("", None),
        (None, None),
    ],
)
def test_pci(given, expected):
    assert normalise_pci_text(given) == expected
    assert normalise_pci(pa.array([given, given], pa.string())).to_pylist() == [expected] * 2


def test_pci_of_a_network_card_keeps_its_function():
    assert normalise_pci_text("0000:29:00.1", function=True) == "0000:29:00.1"


@pytest.mark.parametrize(
    ("given", "expected"),
    [("GPU-1.site.org", "gpu-1"), ("10.7.3.21", "10.7.3.21"), ("fe80::1", "fe80::1"), ("", None), (None, None)],
)
def test_short_host(given, expected):
    assert short_host(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"), [("GPU-1.site:9100", "gpu-1"), ("10.7.3.21:9400", "10.7.3.21"), ("n1", "n1"), ("", None)]
)
def test_instance_host(given, expected):
    assert instance_host(given) == expected


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-11-29T13:30:00Z", "Asia/Tokyo", (1795959000000000, "zoned")),
        ("2026/11/29 13:30:00.123", "UTC", (1795959000123000, "assumed_zone")),
        ("2026-11-29 08:30:00,5", "America/New_York", (1795959000500000, "assumed_zone")),
        ("1969-12-31T00:00:00Z", "UTC", None),
        ("0001-01-01T00:00:00+14:00", "UTC", None),
        ("soon", "UTC", None),
        (None, "UTC", None),
    ],
)
def test_parse_time(text, zone, expected):
    assert parse_time(text, zone) == expected


@pytest.mark.parametrize("value", [0, None, "x", "nan", "inf", -1, 1e30, "9" * 5000])
def test_useless_epochs(value):
    assert epoch_micros(value) is None
    assert epoch_micros(value, scale=1) is None
