"""Scores the trust of points with CAMBER, for comparison with ours.

usage: camber_trust.py prepare STORE CACHE FIRST COUNT   stores every data set that is generated locally, and seeded variations
       camber_trust.py score STORE RESULTS               the rows of both views of every facility; kept in the folder RESULTS
                                                         by the versions and this script, since data sets take minutes
"""

import hashlib
import json
import os
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from camber.capabilities import CallContext, Caps, default_registry
from camber.model.roles import Role
from camber.store import ParquetStore

warnings.simplefilter("ignore")

# A slow machine is no difference: an answer of "timeout" would be kept, and told as one.
UNHURRIED = Caps(max_seconds=3600.0)

KINDS = {
    "AHU": "oat supply_air_temp mixed_air_temp return_air_temp supply_air_temp_sp heat_valve cool_valve oa_damper airflow "
    "oa_airflow duct_static duct_static_sp supply_fan_status supply_fan_speed filter_diff_press supply_air_humidity "
    "return_air_humidity heat_coil_leaving_temp cool_coil_leaving_temp occupancy warmup econ_cmd",
    "VAV": "space_temp cool_sp heat_sp damper airflow airflow_sp supply_air_temp co2 outdoor_co2 occupancy zone_heat_loop",
    "CHILLER": "chw_supply_temp chw_return_temp chw_supply_temp_sp chw_flow power compressor_status cw_supply_temp "
    "cw_return_temp cond_entering_water_temp pump_status chw_pump_speed cond_approach_temp subcooling_temp wetbulb_temp "
    "outdoor_rh energy_rate discharge_pressure",
    "BOILER": "hw_supply_temp hw_return_temp boiler_status gas_input_rate hw_flow hw_pump_speed pump_head oat",
}
# Facilities with hourly samples, over which the whole answers are compared.
HOURLY = 6
STATUS = set("supply_fan_status boiler_status compressor_status occupancy warmup econ_cmd pump_status".split())
WATER = ("chw_", "cw_", "cond_entering")
FLOWS = set("airflow oa_airflow hw_flow chw_flow airflow_sp".split())
PRESSURES = set("duct_static filter_diff_press duct_static_sp".split())
POWERS = set("power gas_input_rate energy_rate".split())


def level(random, role, count, on, hours):
    """A plausible day of a role, in one of several tempers."""
    temper = random.integers(0, 4)
    noise = random.normal(0, random.choice([0.01, 0.3, 1]), count)
    if random.random() < 0.3:
        noise = np.round(noise, 1)
    day = np.sin(2 * np.pi * (hours - 9) / 24)
    if role in ("oat", "wetbulb_temp"):
        return random.uniform(20, 80) + 10 * day + 5 * np.sin(hours / 100) + noise
    if "humid" in role or role == "outdoor_rh":
        return 50 + 20 * day + 3 * noise
    if "co2" in role:
        return 400 + 300 * on * random.random() + 10 * noise + random.choice([0, -40])
    if "temp" in role and role.startswith(WATER):
        return 55 + 3 * day + noise if temper == 0 else np.where(on, 44 + noise / 2 + 2 * day, 70 - 8 * np.exp(-hours % 24))
    if "temp" in role and role.startswith("hw_"):
        return np.where(on, 160 + 2 * noise + 10 * day, 90 + 0.1 * noise)
    if "temp" in role or role in ("cool_sp", "heat_sp"):
        if temper == 0:
            return np.where(on, 55 + noise, 70 + 0.2 * noise)
        return np.full(count, 55.0) if temper == 1 and role.endswith("sp") else random.uniform(50, 75) + 3 * day + noise
    if role in FLOWS:
        size = random.choice([1, 50, 1000, 5000])
        return np.where(on, size * (0.7 + 0.2 * day) + 0.01 * size * noise, 0 if temper else 0.01 * size * abs(noise))
    if role in PRESSURES:
        return np.where(on, 1.5 + 0.1 * day + 0.02 * noise, [0, 0.02, 1.2, 0.6][temper])
    if role in STATUS:
        if temper == 0:
            return np.ones(count)
        return on * random.choice([0.5, 1], count) if temper == 1 and random.random() < 0.4 else on.astype(float)
    if role in POWERS:
        return np.where(on, 100 + 20 * day + noise, 3 * (temper % 2) + abs(noise) * (temper // 2) * 0.2)
    values = np.where(on, np.clip(50 + 40 * day + 5 * noise, 0, 100), [0, 0, 30, 5][temper])
    return values / 100 if random.random() < 0.25 else values


def perturbed(random, values, minutes):
    count = len(values)
    harm = random.integers(0, 12)
    start = random.integers(0, count)
    if harm == 0:  # held
        values[start : start + int(random.uniform(1, 60) * 60 / minutes)] = values[start]
    elif harm == 1:
        values[random.random(count) < random.uniform(0, 0.6)] = np.nan
    elif harm == 2:  # codes for "no sample"
        values[random.random(count) < random.uniform(0, 0.08)] = random.choice([-999, 0, 9999, 1e6])
    elif harm == 3:
        values[: int(count * random.uniform(0, 0.3))] = np.nan
    elif harm == 4:
        values[start : start + random.integers(1, 200)] = np.nan
    elif harm == 5:
        values[:] = values[0]
    elif harm == 6:  # the end of the range
        values = np.minimum(values, float("%.1e" % np.nanpercentile(values, 85)))
    elif harm == 7:
        values[random.random(count) < 0.01] += random.choice([30, -30, 200])
    elif harm == 8:
        values[:] = np.nan
        values[start] = 60.0
    return values


def together(random, index, columns, minutes):
    """What befalls several points of an equipment at once."""
    count, roles = len(index), list(columns)
    harm = random.integers(0, 8)
    start = random.integers(0, count)
    if harm == 0:
        length = int(random.uniform(6, 40) * 60 / minutes)
        for role in roles:
            columns[role][start : start + length] = columns[role][start]
    elif harm in (1, 2) and len(roles) > 2:
        source, copy, short = random.choice(roles, 3, replace=False)
        length = int(count * random.uniform(0.05, 0.9))
        columns[copy][start : start + length] = columns[source][start : start + length]
        columns[short][start : start + length // 2] = columns[source][start : start + length // 2]
    elif harm == 3:
        kept = random.random(count) < 0.9
        return index[kept], {role: values[kept] for role, values in columns.items()}
    elif harm == 4 and count > 200:  # rows of another year
        stamps, few = index.values.copy(), random.integers(1, 4)
        year = np.timedelta64(400, "D")
        if random.random() < 0.5:
            stamps[:few] -= year
        else:
            stamps[-few:] += year
        return pd.DatetimeIndex(stamps), columns
    elif harm == 5 and {"mixed_air_temp", "oat", "return_air_temp"} <= set(roles):
        if {"airflow", "oa_airflow"} <= set(roles):
            columns["oa_airflow"] = 0.3 * columns["airflow"]
        columns["oat"] = columns["oat"] - 20
        mixed = 0.3 * columns["oat"] + 0.7 * columns["return_air_temp"] + random.choice([0, 4, -3, 8])
        columns["mixed_air_temp"] = mixed + random.normal(0, 2, count) * random.integers(0, 2)
    elif harm == 6:  # every stamp twice
        return index.append(index[: count // 2]), {
            role: np.append(values, values[: count // 2] + 1) for role, values in columns.items()
        }
    return index, columns


def equipment(random, kind, hourly=False):
    minutes = 60 if hourly else int(random.choice([1, 5, 7, 15, 15, 60, 60]))
    days = random.choice([1, 3, 8, 16, 28])
    count = min(int(days * 1440 / minutes), 4000)
    if random.random() < 0.08:
        count = int(random.integers(1, 30))
    index = pd.date_range("2024-03-01", periods=count, freq="%dmin" % minutes)
    clock = index.hour + index.minute / 60
    style = random.integers(0, 3)
    on = np.asarray((clock >= 7) & (clock < 18)) if style else random.random(count) < 0.9
    if style == 2:
        on = on & np.asarray(index.weekday < 5)
    pool = KINDS[kind].split()
    roles = sorted(random.choice(pool, random.integers(1, len(pool) + 1), replace=False).tolist())
    hours = np.arange(count) * minutes / 60
    columns = {}
    for role in roles:
        values = np.array(level(random, role, count, on, hours), float)
        columns[role] = perturbed(random, values, minutes)
    if not hourly:
        index, columns = together(random, index, columns, minutes)
    return pd.DataFrame({Role(role): values for role, values in columns.items()}, index=index)


def whole(frame):
    """A frame whose run frame is itself: samples from the first hour to the last, no percent column that reads as a share."""
    shares = [role for role in frame if (frame[role].dropna() <= 1.5).all() and role.value not in STATUS]
    frame = frame.drop(columns=shares)
    frame[Role.ENERGY_RATE] = np.linspace(100, 200, len(frame))
    return frame


def prepare(path, cache, first, count):
    camber = Path(sys.executable).with_name("camber" + (".exe" if os.name == "nt" else ""))
    environment = dict(os.environ, CAMBER_DATA_DIR=cache)
    listed = subprocess.run([camber, "datasets", "list"], env=environment, capture_output=True, text=True, check=True)
    ids = sorted({line.split()[0] for line in listed.stdout.splitlines() if line.startswith("synthetic-")})
    ingest = [camber, "datasets", "ingest", *ids, "--store", path, "--quiet"]
    subprocess.run(ingest, env=environment, capture_output=True, text=True, check=True)
    store = ParquetStore(path)
    for seed in range(int(first), int(first) + int(count)):
        random = np.random.default_rng(seed)
        for number in range(random.integers(1, 5)):
            kind = random.choice(list(KINDS))
            frame = equipment(random, kind)
            if not frame.notna().to_numpy().any():
                continue
            store.write_role_frame(frame, facility_id=f"v-{seed:03}", equip=f"{kind}-{number}", equip_class=kind,
                                   name=f"Variation {seed}", timezone="America/Chicago")
    for seed in range(HOURLY):
        random = np.random.default_rng(1000 + seed)
        for number, kind in enumerate(KINDS):
            store.write_role_frame(whole(equipment(random, kind, hourly=True)), facility_id=f"h-{seed:03}",
                                   equip=f"{kind}-{number}", equip_class=kind, name=f"Hourly {seed}",
                                   timezone="America/Chicago")
    return {"facilities": list(store.facilities())}


def score(path, results):
    sources = [version("camber-toolkit"), version("numpy"), version("pandas"), Path(__file__).read_text(encoding="utf-8")]
    digest = hashlib.sha256("\n".join(sources).encode()).hexdigest()[:16]
    facilities = list(ParquetStore(path).facilities())
    answers = [kept(Path(results) / f"trust-{digest}-{facility}.json", path, facility) for facility in facilities]
    return {"answers": [answer for of_facility in answers for answer in of_facility]}


def kept(file, path, facility):
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    context = CallContext(store=path, allowed_facilities=frozenset([facility]), caps=UNHURRIED)
    answers = []
    for view in ("rules", "report"):
        result = default_registry().call("sensor_trust", {"facility_id": facility, "view": view}, context)
        answers.append({"facility": facility, "view": view, "points": result.data["points"],
                        "counts": result.data["counts"], "n_points": result.data["n_points"],
                        "facts": [[fact["kind"], fact["value"]] for fact in result.facts]})
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_suffix(".part")
    written.write_text(json.dumps(answers), encoding="utf-8")
    written.replace(file)
    return answers


COMMANDS = {"prepare": prepare, "score": score}
print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
