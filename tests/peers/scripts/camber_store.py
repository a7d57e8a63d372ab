"""Reads and writes a trends store with CAMBER, for comparison with ours.

usage: camber_store.py read STORE [RESAMPLE...]   every frame of every equipment, raw and at each width
       camber_store.py write STORE                stores the cases below, then prints as `read` does
       camber_store.py foreign STORE              one facility per way in which another program may write a part
       camber_store.py hold STORE SECONDS         holds the store's lock; prints a line when it has it
       camber_store.py append STORE ROUNDS        appends a day of a facility so many times, each under the lock

Frames are printed as {"FACILITY/EQUIP@WIDTH": {"class": C, "stamps": [ns...], "columns": {role: [bits...]}}}, WIDTH empty for
the stored frame; bits are the 16 hex digits of the double, so that equal means equal to the last bit.
"""

import json
import pathlib
import struct
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from camber.model.roles import Role
from camber.store import ParquetStore


def text(role):
    return str(getattr(role, "value", role))


def bits(value):
    return struct.pack(">d", float(value)).hex()


def frames(path, widths):
    store = ParquetStore(path)
    found = {}
    for facility in store.facilities():
        classes = store.equipment(facility_id=facility).get(facility, {})
        for equip in sorted({point.equip for point in store.points(facility_id=facility)}):
            for width in [""] + list(widths):
                frame = store.read_role_frame(facility_id=facility, equip=equip, resample=width or None)
                found[f"{facility}/{equip}@{width}"] = {
                    "class": str(classes.get(equip, "")),
                    "stamps": [int(stamp) for stamp in frame.index.astype("int64")],
                    "columns": {text(role): [bits(value) for value in frame[role]] for role in frame.columns},
                }
    return found


def wave(index, seed):
    return np.round(60 + 15 * np.sin(np.arange(len(index)) / (7.0 + seed)) + seed, 3)


def write(path):
    store = ParquetStore(path)

    def put(index, columns, facility, equip, equip_class, **facts):
        frame = pd.DataFrame(columns, index=index)
        store.write_role_frame(frame, facility_id=facility, equip=equip, equip_class=equip_class, **facts)

    # 1 minute, over the end of a month, registered with a zone.
    index = pd.date_range("2024-01-31 20:00", periods=600, freq="1min")
    put(index, {Role.OAT: wave(index, 1), Role.SUPPLY_AIR_TEMP: wave(index, 2)}, "hq", "AHU-1", "AHU",
        name="HQ", timezone="America/Chicago")
    # 5 minutes through both clock changes of a year: the hour from 1:00 stands twice, that from 2:00 is missing.
    zone = "America/Chicago"
    for begin in ("2024-03-10 00:00", "2024-11-03 00:00"):
        index = pd.date_range(begin, periods=96, freq="5min", tz=zone).tz_localize(None)
        put(index, {Role.OAT: wave(index, 3), Role.RETURN_AIR_TEMP: wave(index, 4)}, "hq", "AHU-1", "AHU")
    # 60 minutes with empty months between, infinities, missing values.
    for begin in ("2024-02-10", "2024-06-10"):
        index = pd.date_range(begin, periods=48, freq="1h")
        values = wave(index, 5)
        values[3] = np.inf
        values[4] = -np.inf
        values[5:9] = np.nan
        put(index, {Role.SPACE_TEMP: values, Role.WARMUP: (np.arange(48) % 7 == 0).astype(float)}, "hq", "VAV-1", "VAV")
    # The same stamps again, with other values.
    index = pd.date_range("2024-02-10", periods=48, freq="1h")
    put(index, {Role.SPACE_TEMP: wave(index, 6)}, "hq", "VAV-1", "VAV")
    # A second facility that nobody registered.
    index = pd.date_range("2024-02-10 00:07", periods=30, freq="15min")
    put(index, {Role.POWER: wave(index, 7)}, "annex", "METER-1", "")


def foreign(path):
    """The same samples in every form that the format allows; facilities are named by it."""
    stamps = pd.date_range("2024-03-01", periods=40, freq="15min")
    plain = pd.DataFrame({
        "ts": stamps.astype("datetime64[ns]"), "equip": "AHU-1", "equip_class": "AHU", "role": "oat",
        "value": [50.0 + at / 4 for at in range(40)],
    })
    text = [pa.field(name, pa.string()) for name in ("equip", "equip_class", "role")]

    def schema(ts=pa.timestamp("ns"), text=text, value=pa.float64()):
        return pa.schema([pa.field("ts", ts), *text, pa.field("value", value)])

    def named(kind):
        return [pa.field(name, kind) for name in ("equip", "equip_class", "role")]

    def put(facility, frame=plain, schema=schema(), partition="year=2024/month=3", **options):
        folder = pathlib.Path(path) / f"facility_id={facility}" / partition
        folder.mkdir(parents=True)
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        options.setdefault("compression", "snappy")
        pq.write_table(table, folder / "data.parquet", **options)

    put("plain")
    put("microseconds", schema=schema(ts=pa.timestamp("us")))
    put("milliseconds", schema=schema(ts=pa.timestamp("ms")))
    put("int96", use_deprecated_int96_timestamps=True)
    put("large-strings", schema=schema(text=named(pa.large_string())))
    put("dictionaries", schema=schema(text=named(pa.dictionary(pa.int32(), pa.string()))))
    put("no-dictionary", use_dictionary=False)
    put("page-v2", data_page_version="2.0")
    put("uncompressed", compression="none")
    put("no-statistics", write_statistics=False)
    put("small-groups", row_group_size=7)
    put("float32", schema=schema(value=pa.float32()))
    put("integers", frame=plain.assign(value=list(range(40))), schema=schema(value=pa.int64()))
    put("year-only", partition="year=2024")
    put("no-partition", partition=".")
    put("extra-column", frame=plain.assign(quality="good"),
        schema=schema().append(pa.field("quality", pa.string())))
    put("no-class", frame=plain.assign(equip_class=None))
    put("unsorted", frame=plain.iloc[::-1])
    put("zoned", frame=plain.assign(ts=plain["ts"].dt.tz_localize("UTC")), schema=schema(ts=pa.timestamp("ns", "UTC")))
    put("zstd", compression="zstd")
    put("no-role", frame=plain.drop(columns="role"), schema=schema(text=text[:2]))


def append(path, rounds):
    store = ParquetStore(path)
    for day in range(rounds):
        index = pd.date_range(pd.Timestamp("2024-05-01") + pd.Timedelta(days=day), periods=24, freq="1h")
        frame = pd.DataFrame({Role.POWER: wave(index, day)}, index=index)
        store.write_role_frame(frame, facility_id="annex", equip="METER-2", equip_class="")
        print(day, flush=True)


def main():
    command, path, *rest = sys.argv[1:]
    if command == "write":
        write(path)
        json.dump(frames(path, rest), sys.stdout)
    elif command == "read":
        json.dump(frames(path, rest), sys.stdout)
    elif command == "foreign":
        foreign(path)
        print("{}")
    elif command == "append":
        append(path, int(rest[0]))
    elif command == "hold":
        with ParquetStore(path).lock():
            print("held", flush=True)
            time.sleep(float(rest[0]))


main()
