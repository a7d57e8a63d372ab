"""Logs in to the mock with pyhaystack's Niagara 4 session (form SCRAM) and reads one BQL table.

usage: pyhaystack_bql.py BASE_URL USER PASSWORD BQL_ORD
Prints {"ok": true, "columns": [...], "rows": [[...], ...]} or {"ok": false, "error": ...}.
"""

import json
import sys

from pyhaystack.client.niagara import Niagara4HaystackSession


def main():
    base, user, password, ord_text = sys.argv[1:5]
    session = Niagara4HaystackSession(uri=base, username=user, password=password, pint=False)
    try:
        login = session.authenticate()
        login.wait()
        login.result
        table = session.get_bql(ord_text)
        table.wait()
        frame = table.result
    except Exception as problem:  # the caller decides whether a failed login is the client's known fault
        json.dump({"ok": False, "error": f"{type(problem).__name__}: {problem}"}, sys.stdout)
        return
    json.dump(
        {
            "ok": True,
            "columns": [str(column) for column in frame.columns],
            "rows": [["" if cell is None else str(cell) for cell in row] for row in frame.itertuples(index=False)],
        },
        sys.stdout,
    )


main()
