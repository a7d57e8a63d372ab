"""Tells savings of bills, with ledgers and against frozen baselines, with CAMBER, for comparison with ours.

usage: camber_mv_bills.py prepare STORE FOLDER    stores the meters, and writes bills and weather into the folder
       camber_mv_bills.py freeze FILES            runs `camber mv` for [{"config", "store", "steps": [[argument, ...], ...]}, ...]
       camber_mv_bills.py run STORE REQUESTS      the answers to [{"facility", "config"}, ...], a configuration being a file
"""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from camber.capabilities import CallContext, CapabilityError, default_registry
from camber.model.roles import Role
from camber.store import ParquetStore

warnings.simplefilter("ignore")


def season(day):
    return 55 + 25 * np.sin(2 * np.pi * (day - 105) / 365)


def prepare(path, folder):
    store = ParquetStore(path)
    folder = Path(folder)
    random = np.random.default_rng(11)
    index = pd.date_range("2023-01-01", periods=731 * 24, freq="1h")
    day = np.arange(len(index)) // 24

    def put(facility, oat, power, saved=0.9):
        power = np.maximum(0, power * np.where(day >= 365, saved, 1))
        event = np.where((day >= 460) & (day < 500), 6, 0) + np.where((day >= 200) & (day < 230), 5, 0)
        frame = pd.DataFrame({Role.OAT: oat, Role.POWER: power + event * (facility != "calm")}, index=index)
        store.write_role_frame(frame, facility_id=facility, equip="M1", equip_class="METER", name=facility)

    oat = season(day) + random.normal(0, 5, 731)[day] + 8 * np.sin(2 * np.pi * np.arange(len(index)) / 24)
    noise = random.normal(0, 2, 731)
    for number in range(1, 731):
        noise[number] += 0.5 * noise[number - 1]
    put("events", oat, 40 + 1.5 * np.maximum(0, oat - 60) + noise[day])
    put("calm", season(day), 40 + 1.5 * np.maximum(0, season(day) - 60) + np.sin(1.7 * day))

    # Weather with gaps, and with a placeholder; bills of 20 to 40 days, and of calendar months.
    hours = pd.date_range("2022-12-15", periods=780 * 24, freq="1h")
    day = np.arange(len(hours)) // 24 - 17
    oat = season(day) + 10 * np.sin(2 * np.pi * (np.arange(len(hours)) % 24 - 9) / 24)
    oat = np.round(oat + np.repeat(random.normal(0, 4, 780), 24), 3)
    seen = pd.Series(oat, index=hours)
    seen[random.random(len(hours)) < 0.02] = np.nan
    seen.iloc[3000] = 999.0
    weather = pd.DataFrame({"time": hours, "oat": seen.values}).dropna()
    weather.to_csv(folder / "oat.csv", index=False)
    weather[(weather.time < "2023-05-01") | (weather.time > "2023-05-20")].to_csv(folder / "gap.csv", index=False)

    loads = {
        "both": 20 + 3 * np.maximum(0, 62 - oat) + 5 * np.maximum(0, oat - 71),
        "heating": 5 + 2 * np.maximum(0, 58 - oat),
        "cooling": 8 + 3 * np.maximum(0, oat - 66),
        "flat": 30 + 0 * oat,
    }
    for name, load in loads.items():
        daily = pd.Series(load, index=hours).resample("D").mean()
        rows, start = [], pd.Timestamp(2023, 1, 1)
        while start < pd.Timestamp(2024, 12, 20):
            end = start + pd.Timedelta(days=int(random.integers(20, 41)) - 1)
            saved = 0.9 if start.year == 2024 else 1
            energy = round(daily[start:end].sum() * saved * (1 + 0.02 * random.normal()), 2)
            rows.append((start.date(), end.date(), energy, round(0.1 * energy + 3, 2), "A"))
            start = end + pd.Timedelta(days=1)
        bills = pd.DataFrame(rows, columns=["start", "end", "energy", "cost", "read"])
        bills.to_csv(folder / f"{name}.csv", index=False)
        months = pd.date_range("2023-01-01", periods=24, freq="MS")
        sums = [round(daily[m : m + pd.offsets.MonthEnd(1)].sum() * (0.9 if m.year == 2024 else 1), 2) for m in months]
        ends = [(m + pd.offsets.MonthEnd(1)).date() for m in months]
        pd.DataFrame({"start": months.date, "end": ends, "energy": sums}).to_csv(folder / f"{name}-months.csv", index=False)
    estimated = bills = pd.read_csv(folder / "both.csv")
    estimated.loc[[3, 4, 15, len(bills) - 1], "read"] = ["E", "estimated", "y", "1"]
    estimated.loc[7, "cost"] = np.nan
    estimated.loc[9, "energy"] = -5
    estimated.to_csv(folder / "estimated.csv", index=False)
    bills.drop(index=5).assign(unit="therm").to_csv(folder / "missing.csv", index=False)

    # A school: its days of use, its holidays, and its breaks; and fans whose air counts too.
    random = np.random.default_rng(12)
    day = np.arange(len(index)) // 24
    date = index.normalize()
    shut = ["2023-01-02", "2023-05-29", "2023-07-04", "2023-09-04", "2023-11-23", "2023-12-25", "2024-01-01", "2024-05-27", "2024-07-04"]
    used = (index.dayofweek < 5) & ~date.isin(pd.to_datetime(shut))
    away = ((date >= "2023-06-12") & (date <= "2023-08-20")) | ((date >= "2024-06-10") & (date <= "2024-08-18"))
    air = random.uniform(20, 200, 731)[day]
    noise = random.normal(0, 2, 731)[day]
    load = 40 + 1.5 * np.maximum(0, season(day) - 60) + 0.1 * air + 15 * used - 10 * (used & away) + noise
    frame = pd.DataFrame({Role.OAT: season(day), Role.POWER: load * np.where(day >= 365, 0.9, 1), Role.AIRFLOW: air}, index=index)
    store.write_role_frame(frame, facility_id="school", equip="M1", equip_class="METER", name="school")
    breaks = pd.DataFrame({"start": ["2023-06-12", "2024-06-10"], "end": ["2023-08-20", "2024-08-18"]})
    breaks.to_csv(folder / "breaks.csv", index=False)
    pd.DataFrame({"date": shut}).to_csv(folder / "shut.csv", index=False)


def freeze(wanted):
    camber = Path(sys.executable).with_name("camber")
    for one in wanted:
        if not one["keep"]:
            Path(one["store"]).unlink(missing_ok=True)
        for arguments in one["steps"]:
            usual = ["--store", one["store"], "--reason", "a test", "--by", "a tester", "--run-id", "2025-01-02T03:04:05Z", "--apply"]
            command = [str(camber), "mv", arguments[0], one["config"], *usual, *arguments[1:]]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{command}: {done.stdout} {done.stderr}")


def answered(store, run):
    context = CallContext(store=store, allowed_facilities=frozenset([run["facility"]]), config=run["config"], min_trust=0.5)
    try:
        data = default_registry().call("mv_summary", {"facility_id": run["facility"]}, context).data
    except CapabilityError as error:
        return {"error": error.code}
    return {"error": None, "data": data}


if sys.argv[1] == "prepare":
    prepare(sys.argv[2], sys.argv[3])
    print("{}")
elif sys.argv[1] == "freeze":
    freeze(json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
    print("{}")
else:
    asked = json.loads(Path(sys.argv[3]).read_text(encoding="utf-8"))
    print(json.dumps({"answers": [answered(sys.argv[2], run) for run in asked]}))
