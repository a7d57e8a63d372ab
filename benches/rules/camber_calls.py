"""Prepares a data set, or times a capability of CAMBER in this process, without its start.

usage: camber_calls.py prepare STORE CACHE DATASET   stores a data set that is generated locally
       camber_calls.py call TASK                     makes the calls of a task (JSON, as task.rs writes it)
"""

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

from camber.capabilities import CallContext, default_registry

warnings.simplefilter("ignore")


def prepare(store, cache, dataset):
    camber = Path(sys.executable).with_name("camber" + (".exe" if os.name == "nt" else ""))
    subprocess.run([camber, "datasets", "ingest", dataset, "--store", store, "--quiet"],
                   env=dict(os.environ, CAMBER_DATA_DIR=cache), capture_output=True, text=True, check=True)
    return {"seconds": [], "peak": None, "data": {}}


def peak():
    """The most memory that this process had so far in MiB; Linux alone tells in kibibytes."""
    if not sys.platform.startswith("linux"):
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def call(text):
    task = json.loads(text)
    allowed = frozenset(task["facilities"])
    context = CallContext(store=task["store"], allowed_facilities=allowed, config=task["config"])
    registry = default_registry()
    seconds = []
    for _ in range(task["rounds"]):
        begun = time.perf_counter()
        answer = registry.call(task["capability"], task["arguments"], context)
        seconds.append(time.perf_counter() - begun)
    return {"seconds": seconds, "peak": peak(), "data": answer.data}


COMMANDS = {"prepare": prepare, "call": call}
print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
