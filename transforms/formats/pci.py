"""PCI addresses as the project spells them: lower case, no function, a domain of four digits or, if need be, eight."""

import re

import pyarrow as pa

_ADDRESS = re.compile(r"^(?:PCI:)?(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?$", re.IGNORECASE)


def normalise_pci_text(address: str | None, *, function: bool = False) -> str | None:
    """`00000000:3B:00.0` as `0000:3b:00`; None when it is no PCI address.

    Args:
        address: As printed by a driver or tool.
        function: Keep the function (ports of one NIC differ by it).
    """
    match = _ADDRESS.match(address.strip()) if address else None
    if match is None:
        return None
    domain, bus, device, number = match.groups()
    number_of_domain = int(domain or "0", 16)
    width = 8 if number_of_domain > 0xFFFF else 4
    short = f"{number_of_domain:0{width}x}:{int(bus, 16):02x}:{int(device, 16):02x}"
    return f"{short}.{number}" if function and number else short


def normalise_pci(addresses: pa.StringArray, *, function: bool = False) -> pa.StringArray:
    """The same for a column; each distinct address is parsed once."""
    encoded = addresses.dictionary_encode()
    known = [normalise_pci_text(a, function=function) for a in encoded.dictionary.to_pylist()]
    return pa.array(known, pa.string()).take(encoded.indices)
