"""Asks CAMBER for findings in full, for comparison with ours.

usage: camber_details.py STORE RESULTS REQUESTS   answers {"runs": [{facility, config, asked: [[finding_id, arguments], ...]}, ...]}
                                                  without a trust floor. Kept in the folder RESULTS by the versions, this script,
                                                  the configuration, the data and what is asked.
"""

import hashlib
import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

from camber.capabilities import CallContext, CapabilityError, Caps, default_registry

warnings.simplefilter("ignore")

# A slow machine is no difference: an answer of "timeout" would be kept, and told as one.
UNHURRIED = Caps(max_seconds=3600.0)

VERSIONS = [version("camber-toolkit"), version("numpy"), version("pandas"), Path(__file__).read_text(encoding="utf-8")]
KEYS = ("metrics", "parameters", "chart", "violations", "conditions")


def data_of(store, facility):
    """What is stored of a facility, whatever its files are called."""
    total = hashlib.sha256()
    for part in sorted(Path(store).glob(f"facility_id={facility}/**/*.parquet"), key=lambda path: path.stat().st_size):
        total.update(hashlib.sha256(part.read_bytes()).digest())
    return total.hexdigest()


def kept(store, results, run):
    config = json.loads(Path(run["config"]).read_text(encoding="utf-8"))
    config["source"]["store"] = ""
    asked = json.dumps([config, run["asked"]], sort_keys=True)
    parts = [*VERSIONS, asked, data_of(store, run["facility"])]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    file = Path(results) / f"details-{run['facility']}-{digest}.json"
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    answers = answered(store, run)
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_suffix(".part")
    written.write_text(json.dumps(answers), encoding="utf-8")
    written.replace(file)
    return answers


def answered(store, run):
    context = CallContext(store=store, allowed_facilities=frozenset([run["facility"]]), config=run["config"], min_trust=0.0,
                          caps=UNHURRIED)
    registry = default_registry()
    answers = []
    for finding, arguments in run["asked"]:
        call = {"facility_id": run["facility"], "finding_id": finding, **arguments}
        try:
            data = registry.call("finding_detail", call, context).data
            answers.append({key: data.get(key) for key in KEYS})
        except CapabilityError as error:
            answers.append({"error": error.code})
    return answers


store, results, requests = sys.argv[1:]
runs = json.loads(Path(requests).read_text(encoding="utf-8"))["runs"]
print(json.dumps({"answers": [kept(store, results, run) for run in runs]}))
