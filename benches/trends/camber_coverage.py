"""Times CAMBER's coverage of some equipment: camber_coverage.py STORE FACILITY ROUNDS EQUIP..."""

import json
import statistics
import sys
import time

from camber.capabilities import CallContext, default_registry


def main():
    store, facility, rounds, *equips = sys.argv[1:]
    context = CallContext(store=store, allowed_facilities=frozenset({facility}))
    registry = default_registry()
    seconds = []
    for _ in range(int(rounds)):
        begun = time.perf_counter()
        answer = registry.call("coverage", {"facility_id": facility, "equips": equips}, context)
        seconds.append(time.perf_counter() - begun)
    json.dump({"coverage": answer.data["coverage"], "seconds": statistics.median(seconds)}, sys.stdout)


main()
