"""Runs the rules of CAMBER, for comparison with ours.

usage: camber_rules.py STORE RESULTS REQUESTS   answers {"rules": [...], "runs": [{facility, config, floor}, ...]}: findings of every
                                                severity and the skips of each run. A configuration is a file or null. Kept in
                                                the folder RESULTS by the versions, this script, the configuration and the data.
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


def digest_of(parts):
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def data_of(store, facility):
    """What is stored of a facility, whatever its files are called."""
    total = hashlib.sha256()
    for part in sorted(Path(store).glob(f"facility_id={facility}/**/*.parquet"), key=lambda path: path.stat().st_size):
        total.update(hashlib.sha256(part.read_bytes()).digest())
    return total.hexdigest()


def kept(store, results, rules, run):
    config = run["config"] and json.loads(Path(run["config"]).read_text(encoding="utf-8"))
    if config:
        config["source"]["store"] = ""
    asked = json.dumps([config, rules, run["floor"], run["arguments"]], sort_keys=True)
    file = Path(results) / f"rules-{run['facility']}-{digest_of([*VERSIONS, asked, data_of(store, run['facility'])])}.json"
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    answer = answered(store, rules, run)
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_suffix(".part")
    written.write_text(json.dumps(answer), encoding="utf-8")
    written.replace(file)
    return answer


def answered(store, rules, run):
    context = CallContext(store=store, allowed_facilities=frozenset([run["facility"]]), config=run["config"],
                          min_trust=run["floor"], caps=UNHURRIED)
    arguments = {"facility_id": run["facility"], "min_severity": "ok", **run["arguments"]}
    if run["config"] is None:
        arguments["rules"] = rules
    try:
        data = default_registry().call("rule_run", arguments, context).data
    except CapabilityError as error:
        return {"error": error.code, "findings": [], "skipped": []}
    return {"error": None, "findings": data["findings"], "skipped": data["skipped"]}


store, results, requests = sys.argv[1:]
asked = json.loads(Path(requests).read_text(encoding="utf-8"))
print(json.dumps({"answers": [kept(store, results, asked["rules"], run) for run in asked["runs"]]}))
