"""What a Python route did, printed as the line that ledger.h describes.

A library makes copies of its own, so the line is not whole: it speaks of the copies that touch the memory
that it names. Hook and version are whatever the library calls.
"""
import hashlib
import json
import os
import sys
import threading

SKIPPED = 77


def skip(why):
    print(f"skipped: {why}", file=sys.stderr)
    sys.exit(SKIPPED)


class Ledger:
    def __init__(self, route):
        self.route, self.calls, self.results = route, [], []
        self.where = {"process": os.getpid(), "thread0": threading.get_native_id(), "default": 0}

    def name(self, name, address, size=None):
        self.where[name] = address if size is None else [address, size]

    def copied(self, dst, src, size, direction, stream="default", graph=None):
        """graph: (place, copies) of a launch."""
        call = {"call": None, "dst": dst, "src": src, "bytes": size, "direction": direction,
                "stream": stream, "version": None, "batch": list(graph or (0, 1)), "access_order": 0,
                "result": 0}
        if graph:
            call["graph"] = True
        self.calls.append(call)

    def result(self, name, data):
        self.results.append([name, hashlib.sha256(data).hexdigest()])

    def print(self):
        with open("/proc/self/maps", encoding="utf-8") as maps:
            linked = "libcudart.so" in maps.read()
        print(json.dumps({"route": self.route, "runtime": "linked" if linked else "static", "whole": False,
                          "calls": {"thread0": self.calls}, "facts": [], "results": self.results,
                          "where": self.where}), flush=True)
