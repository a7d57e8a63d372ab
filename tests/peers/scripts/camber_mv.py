"""Tells savings with CAMBER, for comparison with ours.

usage: camber_mv.py prepare STORE         stores the meters that the projects are of
       camber_mv.py run STORE REQUESTS    the answers to [{"facility", "config", "arguments"}, ...], a configuration being a file
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from camber.capabilities import CallContext, CapabilityError, default_registry
from camber.model.roles import Role
from camber.store import ParquetStore

warnings.simplefilter("ignore")


def weather(day):
    return 55 + 25 * np.sin(2 * np.pi * (day - 105) / 365)


def remembered(random, count, rho, scale):
    """Noise of which each day remembers the one before."""
    noise = random.normal(0, scale, count)
    for day in range(1, count):
        noise[day] += rho * noise[day - 1]
    return noise


def prepare(path):
    store = ParquetStore(path)

    def put(facility, index, columns, zone=None, equip="M1", equip_class="METER"):
        frame = pd.DataFrame(columns, index=index)
        store.write_role_frame(frame, facility_id=facility, equip=equip, equip_class=equip_class, name=facility, timezone=zone)

    # Two years without noise, the second a tenth lower.
    index = pd.date_range("2023-01-01", periods=731 * 24, freq="1h")
    day = np.arange(len(index)) // 24
    oat = weather(day)
    power = (40 + 1.5 * np.maximum(0, oat - 60) + np.sin(1.7 * day)) * np.where(day >= 365, 0.9, 1)
    put("plain", index, {Role.OAT: oat, Role.POWER: power})
    # The second year is warmer.
    put("warmer", index, {Role.OAT: oat + np.where(day >= 365, 4.0, 0.0), Role.POWER: power})
    # Nothing is ever used; and the weather never varies.
    put("idle", index, {Role.OAT: oat, Role.POWER: 0 * power})
    put("still", index, {Role.OAT: 0 * oat + 60, Role.POWER: power})
    put("blind", index, {Role.POWER: power})

    # Three years of heating and cooling with noise that remembers.
    random = np.random.default_rng(3)
    index = pd.date_range("2021-01-01", periods=1096 * 24, freq="1h")
    day = np.arange(len(index)) // 24
    oat = weather(day) + random.normal(0, 3, 1096)[day]
    load = 40 + 1.5 * np.maximum(0, oat - 60) + 0.6 * np.maximum(0, 50 - oat) + remembered(random, 1096, 0.5, 3)[day]
    put("chained", index, {Role.OAT: oat, Role.POWER: load * np.where(day >= 730, 0.9, 1)})
    heating = 10 + 1.1 * np.maximum(0, 58 - oat) + remembered(random, 1096, 0.2, 4)[day]
    put("heating", index, {Role.OAT: oat, Role.ENERGY_RATE: heating * np.where(day >= 730, 0.85, 1)})
    noise = 30 + random.normal(0, 8, 1096)[day]
    put("noise", index, {Role.OAT: oat, Role.POWER: noise})

    # Weekdays and another driver that lacks days and grows later.
    random = np.random.default_rng(4)
    use = random.uniform(20, 200, 1096)
    grown = use + np.where(np.arange(1096) >= 800, 60, 0)
    weekday = index.dayofweek.values < 5
    driven = 40 + 1.5 * np.maximum(0, oat - 60) + 8 * weekday + random.normal(0, 2, 1096)[day]
    seen = use[day].copy()
    seen[100 * 24 : 103 * 24] = np.nan
    seen[900 * 24 : 902 * 24] = np.nan
    saved = np.where(day >= 730, 0.9, 1)
    put("driven", index, {Role.OAT: oat, Role.POWER: (driven + 0.1 * use[day]) * saved, Role.AIRFLOW: seen})
    put("grown", index, {Role.OAT: oat, Role.POWER: (driven + 0.1 * grown[day]) * saved, Role.AIRFLOW: grown[day]})

    # A quarter of an hour, where clocks change; gaps, placeholders, energy that flows back.
    random = np.random.default_rng(5)
    index = pd.date_range("2022-06-01", periods=760 * 96, freq="15min")
    day = np.arange(len(index)) // 96
    hour = index.hour.values + index.minute.values / 60
    oat = weather(day + 150) + 8 * np.sin(2 * np.pi * (hour - 9) / 24) + random.normal(0, 2, 760)[day]
    power = 60 + 2.0 * np.maximum(0, oat - 62) + 20 * ((hour > 7) & (hour < 18)) + random.normal(0, 4, len(index))
    power[40 * 96 : 40 * 96 + 20] = np.nan
    power[70 * 96 : 75 * 96] = np.nan
    power[90 * 96 + 5 : 90 * 96 + 8] = np.nan
    power[200 * 96 : 201 * 96] = -50
    oat[120 * 96 : 121 * 96] = 999.0
    oat[130 * 96 : 130 * 96 + 30] = -60.0
    oat[300 * 96 : 302 * 96] = np.nan
    power[500 * 96 :] *= 0.93
    put("zoned", index, {Role.OAT: oat, Role.POWER: power}, zone="America/Chicago")
    put("zoned", index, {Role.POWER: 0.4 * power + 3}, zone="America/Chicago", equip="M2")
    put("zoned", index, {Role.OAT: oat + 0.5}, zone="America/Chicago", equip="WX", equip_class="WEATHER")


def answered(store, run):
    context = CallContext(store=store, allowed_facilities=frozenset([run["facility"]]), config=run["config"], min_trust=0.5)
    try:
        data = default_registry().call("mv_summary", {"facility_id": run["facility"], **run["arguments"]}, context).data
    except CapabilityError as error:
        return {"error": error.code}
    return {"error": None, "data": data}


if sys.argv[1] == "prepare":
    prepare(sys.argv[2])
    print("{}")
else:
    asked = json.loads(Path(sys.argv[3]).read_text(encoding="utf-8"))
    print(json.dumps({"answers": [answered(sys.argv[2], run) for run in asked]}))
