"""Answers capability calls with CAMBER, for comparison with ours.

usage: camber_capabilities.py prepare STORE CACHE     stores gappy series and every data set that is generated locally
       camber_capabilities.py answer STORE REQUESTS   answers [[name, arguments, allowed], ...], one result or error each
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from camber.capabilities import CallContext, CapabilityError, default_registry
from camber.model.roles import Role
from camber.store import ParquetStore

ROLES = [Role.OAT, Role.SUPPLY_AIR_TEMP, Role.COOL_VALVE, Role.HEAT_VALVE, Role.CO2]
STEPS = ["1min", "5min", "15min", "60min", "7min", "15min"]
COUNTS = [900, 700, 900, 300, 300, 50]
LOST = [0.0, 0.02, 0.1, 0.5, 0.3, 0.9]
EQUIPMENT = [("AHU-1", "AHU"), ("AHU 2", "AHU"), ("VAV-1", "VAV"), ("W", "WEATHER"), ("CHWPump 3", ""), ('Büro/4 "x"', "FCU")]


def prepare(path, cache):
    camber = Path(sys.executable).with_name("camber" + (".exe" if os.name == "nt" else ""))
    environment = dict(os.environ, CAMBER_DATA_DIR=cache)
    listed = subprocess.run([camber, "datasets", "list"], env=environment, capture_output=True, text=True, check=True)
    ids = sorted({line.split()[0] for line in listed.stdout.splitlines() if line.startswith("synthetic-")})
    ingest = [camber, "datasets", "ingest", *ids, "--store", path, "--quiet"]
    subprocess.run(ingest, env=environment, capture_output=True, text=True, check=True)
    store = ParquetStore(path)
    random = np.random.default_rng(7)
    for number, (equip, equip_class) in enumerate(EQUIPMENT):
        index = pd.date_range("2024-02-25", periods=COUNTS[number], freq=STEPS[number])
        index = index[random.random(COUNTS[number]) >= LOST[number]]
        if number == 2:  # a long gap, and duplicates
            index = index[(index < "2024-02-27") | (index > "2024-03-02 03:10")]
            index = index.append(index[:40])
        if number == 4:  # stamps beside the grid
            index = index + pd.to_timedelta(random.integers(0, 3, len(index)) * 500_000_001, unit="ns")
        frame = pd.DataFrame({role: random.normal(60, 5, len(index)) for role in ROLES[: 3 + number % 3]}, index=index)
        frame.iloc[::7, 0] = np.nan
        if number == 1:
            frame.iloc[::11, 1] = np.inf
        store.write_role_frame(frame, facility_id="hq", equip=equip, equip_class=equip_class, name="Head office",
                               timezone="America/Chicago")
    return {"facilities": list(store.facilities()), "datasets": ids}


def answer(path, requests):
    registry = default_registry()
    answers = []
    for name, arguments, allowed in json.loads(Path(requests).read_text(encoding="utf-8")):
        try:
            result = registry.call(name, arguments, CallContext(store=path, allowed_facilities=frozenset(allowed)))
            answers.append({"data": result.data, "facts": list(result.facts)})
        except CapabilityError as error:
            answers.append({"error": error.code})
    return {"answers": answers}


COMMANDS = {"prepare": prepare, "answer": answer}
print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
