"""The rehearsed fleet: incidents on true time, written through node clocks in the formats of a cluster."""

from firstfault.jobs.fleet.generate import FleetReport, generate
from firstfault.jobs.fleet.profile import Profile, ProfileError, load_profile

__all__ = ["FleetReport", "Profile", "ProfileError", "generate", "load_profile"]
