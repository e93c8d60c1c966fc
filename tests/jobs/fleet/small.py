"""A small fleet of shares: three nodes' worth of everything, quick to rehearse."""

from datetime import date
from typing import Any

from firstfault.jobs.fleet import Profile
from firstfault.jobs.fleet.asks import MixProfile
from firstfault.jobs.fleet.profile import AttemptsProfile, ClocksProfile, SamplingProfile, TopologyProfile

WEIGHTS = {"gpu_off_bus": 3.0, "nic_link_down": 2.0, "user_exception": 4.0, "kernel_panic": 1.0}


def small(**changes: Any) -> Profile:
    mix = MixProfile(weights=WEIGHTS, attempts=12, healthy=0.25)
    coarse = SamplingProfile(metrics_s=600, nvidia_smi_s=600, dumps_s=7200, switch_csv_s=21600, switch_dumps_s=43200)
    base = Profile(
        name="small",
        seed=3,
        day=date(2026, 11, 9),
        days=2,
        topology=TopologyProfile(racks=4, gpus=2, hcas=2),
        attempts=AttemptsProfile(sizes={2: 1.0}, minutes=(12.0, 20.0)),
        mix=mix,
        clocks=ClocksProfile(seconds_off=2, stepped=1),
        sampling=coarse,
        noise={"session": 20, "kernel_chatter": 20, "sticky_xid": 3, "backfill": 5, "retransmits": 10},
    )
    return base.model_copy(update=changes)
