"""Runs the drift of CAMBER, for comparison with ours.

usage: camber_drift.py prepare STORE CACHE COUNT        stores every data set that is generated locally, and seeded variations
       camber_drift.py answer STORE RESULTS REQUESTS    answers {"runs": [{facility, config, floor, arguments}, ...]}; kept in
                                                        the folder RESULTS by the versions, this script, the request and the data
       camber_drift.py freeze CONFIG                    freezes the baselines of a configuration
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
from camber.capabilities import CallContext, CapabilityError, Caps, default_registry
from camber.model.roles import Role
from camber.store import ParquetStore

warnings.simplefilter("ignore")

# A slow machine is no difference: an answer of "timeout" would be kept, and told as one.
UNHURRIED = Caps(max_seconds=3600.0)

VERSIONS = [version("camber-toolkit"), version("numpy"), version("pandas"), Path(__file__).read_text(encoding="utf-8")]
CAMBER = Path(sys.executable).with_name("camber" + (".exe" if os.name == "nt" else ""))
DAYS = 28


def wave(random, count, period, size, noise):
    hours = np.arange(count) * random["step"] / 60
    return size * np.sin(2 * np.pi * (hours / period + random["rng"].random())) + random["rng"].normal(0, noise, count)


def air_handler(r, n, late):
    rng = r["rng"]
    airflow = 5000 + wave(r, n, 24, 3000, 30) if rng.random() < 0.8 else np.full(n, 4000.0) + rng.normal(0, 5, n)
    oat, ret = 55 + wave(r, n, 24, 18, 1), 72 + wave(r, n, 50, 1, 0.2)
    damper = np.clip(25 + wave(r, n, 7, 20, 3), 0, 100)
    mixed = ret + np.clip(damper + rng.choice([0, 12]) * late, 0, 100) / 100 * (oat - ret) + rng.normal(0, 0.3, n)
    deltat = 8 + wave(r, n, 24, 6, 0.3)
    static = 1 + 0.00002 * airflow + rng.normal(0, 0.02, n) + rng.choice([-0.4, -0.2, 0, 0.2]) * late
    heat = np.clip(5 * wave(r, n, 36, 6, 1), 0, 100)
    return {
        "airflow": airflow,
        "power": 1 + 0.001 * airflow + rng.normal(0, 0.15, n) + rng.choice([0, 0.6, 1.5]) * late,
        "filter_diff_press": 0.2 + 0.0001 * airflow + rng.normal(0, 0.02, n) + rng.choice([0, 0.2, 0.4]) * late,
        "duct_static": static,
        "duct_static_sp": 1.2 + rng.choice([0, -0.2, 0.2]) * late + 0 * airflow,
        "supply_fan_status": (rng.random(n) < 0.9).astype(float),
        "supply_fan_speed": np.clip(60 + wave(r, n, 24, 30, 2), 0, 100),
        "oat": oat,
        "return_air_temp": ret,
        "mixed_air_temp": mixed,
        "oa_damper": damper,
        "econ_cmd": (rng.random(n) < 0.2).astype(float),
        "supply_air_temp": mixed - deltat + rng.choice([0, 1.2]) * late,
        "cool_valve": np.clip(np.where(deltat > 4, 4 * deltat, 0) + rng.normal(0, 1, n) + rng.choice([0, 10, 18]) * late, 0, 100),
        "heat_valve": heat,
        "chw_supply_temp": 44 + wave(r, n, 30, 0.5, 0.1) + rng.choice([0, 3]) * late,
        "hw_supply_temp": 140 + wave(r, n, 30, 3, 0.5) - rng.choice([0, 4]) * late,
        "cool_coil_leaving_temp": mixed - 0.6 * deltat,
        "heat_coil_leaving_temp": mixed + 1 + rng.choice([0, 2]) * late,
        "occupancy": (np.sin(np.arange(n) / 5) > 0).astype(float),
    }


def terminal(r, n, late):
    rng = r["rng"]
    command = 400 + wave(r, n, 24, 250, 10)
    airflow, rise = command + rng.normal(0, 10, n), np.clip(15 + wave(r, n, 24, 14, 1), 0, 60)
    return {
        "airflow_sp": command,
        "airflow": airflow,
        "damper": np.clip(20 + 0.08 * command + rng.normal(0, 1, n) + rng.choice([0, 10, 20]) * late, 0, 100),
        "duct_static": 1.2 + rng.normal(0, 0.02, n) - rng.choice([0, 0.3]) * late,
        "supply_fan_status": (rng.random(n) < 0.95).astype(float),
        "heat_valve": np.clip(3 + 0.004 * airflow * rise + rng.normal(0, 1, n) + rng.choice([0, 10, 20]) * late, 0, 110),
        "mixed_air_temp": 55 + rng.normal(0, 0.3, n),
        "supply_air_temp": 55 + rise,
        "hw_supply_temp": 150 + rng.normal(0, 0.5, n) - rng.choice([0, 4]) * late,
    }


def chiller(r, n, late):
    rng = r["rng"]
    size = rng.choice([3, 40, 800])
    flow = np.clip(size * (1 + wave(r, n, 24, 0.5, 0.02)), 0, None)
    supply, deltat = 44 + wave(r, n, 60, rng.choice([0.3, 3]), 0.1), 9 + wave(r, n, 33, 1, 0.1)
    load = flow * deltat / 24 / size
    water = 78 + wave(r, n, 168, 4, 0.3)
    wet = water - 7 + rng.normal(0, 0.3, n)
    return {
        "chw_flow": flow,
        "chw_supply_temp": supply,
        "chw_return_temp": supply + deltat,
        "cw_supply_temp": water,
        "cw_return_temp": water + 25 * load + rng.normal(0, 0.2, n) + rng.choice([0, 2.5, -2.5]) * late,
        "cw_flow": 1.3 * flow,
        "cond_approach_temp": 2 + 5 * load + rng.normal(0, 0.1, n) + rng.choice([0, 1.3, 2.5]) * late,
        "evap_approach_temp": 1 + 4 * load + rng.normal(0, 0.1, n) + rng.choice([0, 1.3, 2.5]) * late,
        "discharge_pressure": 100 + 40 * load + 1.5 * (water - 78) + rng.normal(0, 0.4, n) + rng.choice([0, 3, 6]) * late,
        "suction_pressure": 36 + 5 * load + 0.8 * (supply - 44) + rng.normal(0, 0.3, n) + rng.choice([0, 3, -5]) * late,
        "subcooling_temp": 10 + 3 * load + rng.normal(0, 0.2, n) + rng.choice([0, -1.5, 3]) * late,
        "superheat_temp": 8 + 2 * load + rng.normal(0, 0.2, n) + rng.choice([0, -3, 5]) * late,
        "wetbulb_temp": wet - rng.choice([0, 2, 4]) * late,
        "oat": wet + 12 + rng.normal(0, 1, n),
        "outdoor_rh": np.clip(55 + wave(r, n, 24, 20, 2), 5, 100),
    }


def pump(r, n, late, prefix="chw"):
    rng = r["rng"]
    constant = rng.random() < 0.25
    speed = np.full(n, 80.0) + rng.normal(0, 0.2, n) if constant else np.clip(60 + wave(r, n, 24, 35, 1), 32, 100)
    size = rng.choice([0.5, 4])
    flow = size * speed + rng.normal(0, 0.02 * size * 60, n) - rng.choice([0, 0.05, 0.1]) * size * 60 * late
    supply = (44 if prefix == "chw" else 150) + rng.normal(0, 0.2, n)
    deltat = 10 + 0.02 * speed + rng.normal(0, 0.2, n) + rng.choice([0, 1.5, -2.5]) * late
    pressure = 6 + 0.001 * speed**2 + rng.normal(0, 0.2, n) + rng.choice([0, 3, -3]) * late
    return {
        f"{prefix}_pump_speed": speed,
        f"{prefix}_flow": flow,
        "pump_status": (rng.random(n) < 0.95).astype(float),
        "pump_head": 0.004 * speed**2 + rng.normal(0, 0.3, n) - rng.choice([0, 3, 6]) * late,
        f"{prefix}_supply_temp": supply,
        f"{prefix}_return_temp": supply + deltat * (1 if prefix == "chw" else -1),
        f"{prefix}_diff_press": pressure,
        f"{prefix}_diff_press_sp": 12 + rng.choice([0, 3, -2]) * late + 0 * speed,
        "power": 0.5 + 3e-5 * speed**3 / 4 + rng.normal(0, 0.05, n) + rng.choice([0, 0.6, 1.5]) * late,
    }


def hot_water_pump(r, n, late):
    return pump(r, n, late, "hw")


def boiler(r, n, late):
    rng = r["rng"]
    oat = 35 + wave(r, n, 24, 15, 1)
    heat, flow = np.clip(4 * (65 - oat), 1, None), 100 + wave(r, n, 20, 20, 1)
    returned = 120 + wave(r, n, 168, rng.choice([0.3, 5]), 0.1)
    metering = 1 - rng.choice([0, 0.12]) * late
    ratio = (1.2 + 0.004 * (returned - 120)) * (1 + rng.normal(0, 0.01, n)) * (1 + rng.choice([0, 0.08, 0.2]) * late)
    return {
        "oat": oat,
        "hw_flow": flow,
        "hw_pump_speed": np.clip(flow / 1.3, 0, 100),
        "hw_return_temp": returned,
        "hw_supply_temp": returned + metering * heat * 3412.14 / (500 * flow),
        "gas_input_rate": heat * ratio,
        "boiler_status": (rng.random(n) < 0.95).astype(float),
    }


def tower(r, n, late):
    rng = r["rng"]
    wet, spread = 60 + wave(r, n, 168, rng.choice([0.3, 6]), 0.3), np.clip(9 + wave(r, n, 24, 5, 0.2), 0.2, None)
    supply = wet + 8 + rng.normal(0, 0.3, n) + rng.choice([0, 2, 4]) * late
    fan = np.clip(20 + 4 * spread + (wet - 60) + rng.normal(0, 1, n) + rng.choice([0, 7, 14]) * late, 0, 100)
    return {
        "wetbulb_temp": wet,
        "oat": wet + 12,
        "outdoor_rh": np.clip(50 + wave(r, n, 24, 20, 2), 5, 100),
        "cw_supply_temp": supply,
        "cw_return_temp": supply + spread,
        "cw_flow": 900 + wave(r, n, 24, 200, 10),
        "tower_fan_speed": fan / 100 if rng.random() < 0.3 else fan,
        "cond_entering_water_temp": supply + rng.normal(0, 0.2, n) - rng.choice([0, 1.5]) * late,
        "cw_bypass_valve": np.where(rng.random(n) < 0.2, 20.0, 0.0),
        "chw_flow": 700 + wave(r, n, 24, 200, 10),
        "chw_supply_temp": 44 + rng.normal(0, 0.1, n),
        "chw_return_temp": 54 + rng.normal(0, 0.1, n),
    }


def dx(r, n, late):
    rng = r["rng"]
    oat, returned = 80 + wave(r, n, 24, 10, 0.5), 74 + wave(r, n, 50, 2, 0.2)
    return {
        "oat": oat,
        "return_air_temp": returned,
        "return_air_humidity": np.clip(50 + wave(r, n, 60, 10, 1), 5, 100),
        "return_air_dewpoint_temp": 55 + wave(r, n, 60, 3, 0.3),
        "supply_air_temp": returned - 18 + 0.02 * (oat - 80) + rng.normal(0, 0.2, n) + rng.choice([0, 2.5, -2.5, 4]) * late,
        "subcooling_temp": 10 + 0.05 * (oat - 80) + rng.normal(0, 0.4, n) - rng.choice([0, 4, -4, 7]) * late,
        "superheat_temp": 12 + rng.normal(0, 0.3, n) + rng.choice([0, 3]) * late,
        "discharge_superheat_temp": 40 + 0.4 * (oat - 80) + rng.normal(0, 1, n) + rng.choice([0, 7, -12]) * late,
        "compressor_status": (rng.random(n) < 0.8).astype(float),
        "reversing_valve_cmd": (rng.random(n) < 0.1).astype(float),
        "supply_fan_status": (rng.random(n) < 0.95).astype(float),
        "chw_flow": 100 + wave(r, n, 24, 40, 2),
        "chw_supply_temp": 45 + rng.normal(0, 0.2, n),
        "chw_return_temp": 55 + rng.normal(0, 0.2, n),
        "cw_supply_temp": 80 + wave(r, n, 100, 4, 0.3),
    }


KINDS = {"AHU": air_handler, "VAV": terminal, "CHILLER": chiller, "PUMP": pump, "HWPUMP": hot_water_pump, "BOILER": boiler,
         "COOLING_TOWER": tower, "DX": dx}


def perturbed(rng, values):
    count, harm = len(values), rng.integers(0, 14)
    start = rng.integers(0, count)
    if harm == 0:
        values[rng.random(count) < rng.uniform(0, 0.6)] = np.nan
    elif harm == 1:
        values[start:] = np.nan
    elif harm == 2:
        values[:start] = np.nan
    elif harm == 3:
        values[rng.random(count) < 0.03] = rng.choice([-999, 0, 9999, 1e6])
    elif harm == 4:
        values[start : start + rng.integers(1, 200)] = np.nan
    elif harm == 5:
        values[:] = values[0]
    elif harm == 6:
        values = np.round(values, 1)
    return values


# What is not zero while a machine rests.
KEEPS = ("_temp", "_sp", "_rh", "_humidity", "oat", "occupancy", "econ_cmd", "reversing_valve_cmd", "superheat", "subcooling")


def rested(rng, frame):
    """Zeros through a part of every day, often the greater part: a heating loop in mild weather."""
    begins, share = rng.integers(0, 24), rng.choice([0.3, 0.5, 0.7])
    rests = (frame.index.hour - begins) % 24 < 24 * share
    for role in frame.columns:
        if not any(part in role.value for part in KEEPS):
            frame.loc[rests & frame[role].notna(), role] = 0.0
    return frame


def equipment(rng, kind, keep):
    step = int(rng.choice([10, 15, 60, 60, 60]))
    count = min(int(DAYS * 1440 / step), 3000)
    if rng.random() < 0.05:
        count = int(rng.integers(5, 60))
    index = pd.date_range("2024-03-01", periods=count, freq=f"{step}min")
    late = np.asarray(index >= pd.Timestamp("2024-03-15")).astype(float)
    columns = KINDS[kind]({"rng": rng, "step": step}, count, late)
    kept = [role for role in columns if rng.random() < keep]
    frame = {Role(role): perturbed(rng, np.array(columns[role], float)) for role in kept}
    frame = pd.DataFrame(frame, index=index)
    return rested(rng, frame) if rng.random() < 0.25 else frame


def prepare(path, cache, count):
    environment = dict(os.environ, CAMBER_DATA_DIR=cache)
    listed = subprocess.run([CAMBER, "datasets", "list"], env=environment, capture_output=True, text=True, check=True)
    ids = sorted({line.split()[0] for line in listed.stdout.splitlines() if line.startswith("synthetic-")})
    ingest = [CAMBER, "datasets", "ingest", *ids, "--store", path, "--quiet"]
    subprocess.run(ingest, env=environment, capture_output=True, text=True, check=True)
    store = ParquetStore(path)
    for seed in range(int(count)):
        rng = np.random.default_rng(5000 + seed)
        for number in range(rng.integers(1, 5)):
            kind = rng.choice(list(KINDS))
            frame = equipment(rng, kind, rng.choice([0.7, 0.9, 1.0]))
            if frame.empty or not frame.notna().to_numpy().any():
                continue
            store.write_role_frame(frame, facility_id=f"d-{seed:03}", equip=f"{kind}-{number}", equip_class=kind,
                                   name=f"Drift {seed}", timezone="America/Chicago")
    return {"facilities": list(store.facilities())}


def digest_of(parts):
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def data_of(store, facility):
    """What is stored of a facility, whatever its files are called."""
    total = hashlib.sha256()
    for part in sorted(Path(store).glob(f"facility_id={facility}/**/*.parquet"), key=lambda path: path.stat().st_size):
        total.update(hashlib.sha256(part.read_bytes()).digest())
    return total.hexdigest()


def kept(store, results, run):
    config = run["config"] and json.loads(Path(run["config"]).read_text(encoding="utf-8"))
    frozen = ""
    if config:
        config["source"]["store"] = ""
        file = config.get("drift", {}).get("store")
        if file and (Path(run["config"]).parent / file).exists():
            frozen = (Path(run["config"]).parent / file).read_text(encoding="utf-8")
            config["drift"]["store"] = ""
    asked = json.dumps([config, run["floor"], run["arguments"]], sort_keys=True)
    name = digest_of([*VERSIONS, asked, frozen, data_of(store, run["facility"])])
    file = Path(results) / f"drift-{run['facility']}-{name}.json"
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    context = CallContext(store=store, allowed_facilities=frozenset([run["facility"]]), config=run["config"],
                          min_trust=run["floor"], caps=UNHURRIED)
    try:
        data = default_registry().call("drift", {"facility_id": run["facility"], **run["arguments"]}, context).data
        answer = {"error": None, "data": data}
    except CapabilityError as error:
        answer = {"error": error.code, "data": {}}
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_suffix(".part")
    written.write_text(json.dumps(answer), encoding="utf-8")
    written.replace(file)
    return answer


def answer(store, results, requests):
    asked = json.loads(Path(requests).read_text(encoding="utf-8"))
    return {"answers": [kept(store, results, run) for run in asked["runs"]]}


def freeze(*configs):
    for config in configs:
        subprocess.run([CAMBER, "drift", "freeze", config], capture_output=True, text=True, check=True)
    return {}


COMMANDS = {"prepare": prepare, "answer": answer, "freeze": freeze}
print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
