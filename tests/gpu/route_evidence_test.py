#!/usr/bin/env python3
"""route_evidence.py over a recording that fits its line, and over the same with one thing changed at a time.

    route_evidence_test.py RECORDS_SQL
"""
import hashlib
import pathlib
import sqlite3
import sys
import unittest

import route_evidence as evidence

RECORDS_SQL = pathlib.Path(sys.argv.pop(1))
OWNER, OTHER, MAIN, SECOND = 100, 200, 100, 101
DEVICE, PINNED, MAPPING, STREAM, EVENT, FUNCTION = 0x700000000, 0x10000, 0x900000000, 0x5500, 0x5600, 0x4000
HANDLE = bytes(range(64))
HOOKS = {1: ("cudaMemcpyAsync", 0), 2: ("cudaMemcpyBatchAsync", 0), 3: ("cudaGraphLaunch", 0),
         4: ("cudaStreamCreate", 0), 5: ("cudaLaunchHostFunc", 0), 6: ("cudaIpcGetEventHandle", 0),
         7: ("cuStreamWriteValue32_v2", 1), 8: ("cudaMemset", 0), 9: ("cuMemcpyHtoDAsync_v2", 1)}
IDS = {name: number for number, (name, _) in HOOKS.items()}


def copy(call, dst, src, size, direction, stream="stream1", batch=(0, 1), access=0, version=0, **more):
    return {"call": call, "dst": dst, "src": src, "bytes": size, "direction": direction, "stream": stream,
            "version": version, "batch": list(batch), "access_order": access, "result": 0, **more}


def order(call, op, stream="default", event=None, value=0, handle=None):
    return {"call": call, "op": op, "stream": stream, "event": event, "value": value, "handle": handle}


def owner_line():
    return {
        "route": "r", "runtime": "linked", "whole": True,
        "calls": {
            "thread0": [
                copy("cudaMemset", "device+0", None, 4096, "none", "default"),
                order("cudaStreamCreate", 14, "stream1"),
                copy("cudaMemcpyAsync", "device+0", "pinned+0", 1000, "H2D"),
                copy("cudaMemcpyAsync", "device+8", "pinned+8", 1000, "H2D"),
                copy("cudaMemcpyBatchAsync", "device+0", "pinned+0", 64, "H2D", batch=(0, 2), access=1),
                copy("cudaMemcpyBatchAsync", "pinned+64", "device+64", 65, "D2H", batch=(1, 2), access=3),
                copy("cudaGraphLaunch", "device+0", "pinned+0", 70, "H2D", batch=(0, 2), graph=True),
                copy("cudaGraphLaunch", "pinned+96", "device+0", 71, "D2H", batch=(1, 2), graph=True),
                order("cuStreamWriteValue32_v2", 10, "stream1", "device+256", 7),
                order("cudaLaunchHostFunc", 9, "stream1", None, "function"),
                order("cudaIpcGetEventHandle", 12, "default", "event1", 0, "handle1"),
            ],
            "thread1": [copy("cudaMemcpyAsync", "pinned+0", "device+0", 12, "D2H", "default")],
        },
        "facts": [
            {"fact": "memory", "op": 6, "at": "device+0", "bytes": 4096, "handle": "handle1"},
            {"fact": "entry", "entry": 7, "at": "device+512"},
            {"fact": "host_pointer_kernel", "name": "sum", "launches": 3},
            {"fact": "lookup", "name": "cuDeviceGetName", "times": 2},
        ],
        "results": [],
        "where": {"process": OWNER, "default": 0, "per-thread": 2, "thread0": MAIN, "thread1": SECOND,
                  "device": [DEVICE, 4096], "pinned": [PINNED, 4096], "stream1": STREAM, "event1": EVENT,
                  "function": FUNCTION, "handle1": HANDLE.hex()},
    }


def other_line():
    return {"route": "_r", "runtime": "linked", "whole": True, "calls": {},
            "facts": [{"fact": "joined", "entry": 7, "at": "mapping+512"}], "results": [],
            "where": {"process": OTHER, "mapping": [MAPPING, 4096]}}


def insert(database, table, **values):
    columns = [c[1] for c in database.execute(f"PRAGMA table_info({table})")]
    kinds = {c[1]: c[2] for c in database.execute(f"PRAGMA table_info({table})")}
    empty = {"INTEGER": 0, "TEXT": "", "BLOB": bytes(32)}
    row = [values.get(c, empty[kinds[c]]) for c in columns]
    database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)


def recorded(lines):
    """A recording that says what the lines say."""
    database = sqlite3.connect(":memory:")
    database.executescript(RECORDS_SQL.read_text(encoding="utf-8"))
    digest = hashlib.sha256(HANDLE).digest()
    for line in lines:
        names = evidence.Names(line)
        process = names.process
        insert(database, "process", process=process)
        for number, (name, level) in HOOKS.items():
            insert(database, "hook", process=process, id=number, name=name, level=level, installed=1)
        for thread, made in line["calls"].items():
            call_number = 0
            for seq, call in enumerate(made, 1):
                common = {"process": process, "thread": line["where"][thread], "seq": seq,
                          "call": IDS[call["call"]], "stream": names.number(call["stream"])}
                if "op" in call:
                    insert(database, "order_op", **common, op=call["op"], event=names.number(call["event"]),
                           value=names.number(call["value"]), handle=names.handle(call["handle"]))
                    continue
                call_number += call["batch"][0] == 0
                insert(database, "copy", **common, call_seq=call_number, dst=names.number(call["dst"]),
                       src=names.number(call["src"]), bytes=call["bytes"], version=call["version"],
                       direction=evidence.DIRECTIONS.index(call["direction"]),
                       batch_index=call["batch"][0], batch_count=call["batch"][1],
                       access_order=call["access_order"], result=call["result"])
    insert(database, "memory", process=OWNER, op=6, address=DEVICE, bytes=4096, handle=digest)
    insert(database, "memory", process=OTHER, op=7, address=MAPPING, bytes=4096, handle=digest, seq=1)
    insert(database, "entry", process=OWNER, entry=7, base=DEVICE + 512)
    insert(database, "coverage", process=OWNER, seq=90, name="path:kernel_with_host_pointer", calls=3, installed=1)
    insert(database, "coverage", process=OWNER, seq=91, name="lookup:cuDeviceGetName", calls=2)
    insert(database, "meta", process=OWNER, seq=92, name="kernel.host_pointer", value="_Z3sum")
    for line in lines:
        for place, (way, moved) in enumerate(evidence.bytes_moved(line).items()):
            insert(database, "coverage", process=line["where"]["process"], seq=100 + place,
                   name="cupti:" + way, bytes=moved, installed=1)
    return database


CHANGES = {
    "a copy is missing": "DELETE FROM copy WHERE seq = 4 AND thread = 100",
    "a copy too many": "UPDATE copy SET process = 100, thread = 102 WHERE seq = 3",
    "two copies the other way round":
        "UPDATE copy SET dst = dst + CASE seq WHEN 3 THEN 8 ELSE -8 END, "
        "src = src + CASE seq WHEN 3 THEN 8 ELSE -8 END WHERE thread = 100 AND seq IN (3, 4)",
    "an order operation before a copy instead of behind it":
        "UPDATE order_op SET seq = 0 WHERE op = 10",
    "on another thread": "UPDATE copy SET thread = 101, seq = 50 WHERE seq = 4 AND thread = 100",
    "destination": "UPDATE copy SET dst = dst + 1 WHERE seq = 3",
    "source": "UPDATE copy SET src = src + 1 WHERE seq = 3",
    "bytes": "UPDATE copy SET bytes = bytes + 1 WHERE seq = 3",
    "direction": "UPDATE copy SET direction = 4 WHERE seq = 3",
    "stream": "UPDATE copy SET stream = 0 WHERE seq = 3",
    "call": "UPDATE copy SET call = 9 WHERE seq = 3",
    "version": "UPDATE copy SET version = 13000 WHERE seq = 3",
    "result": "UPDATE copy SET result = 1 WHERE seq = 3",
    "access order": "UPDATE copy SET access_order = 1 WHERE seq = 6",
    "place in a batch": "UPDATE copy SET batch_index = 1 - batch_index WHERE call = 2",
    "size of a batch": "UPDATE copy SET batch_count = 3 WHERE call = 2",
    "entries of one batch under two calls": "UPDATE copy SET call_seq = 77 WHERE seq = 6",
    "a node of a launch": "UPDATE copy SET bytes = 72 WHERE seq = 8",
    "places in a launch": "UPDATE copy SET batch_index = 0 WHERE call = 3",
    "a fill": "UPDATE copy SET bytes = 1 WHERE call = 8",
    "written value": "UPDATE order_op SET value = 8 WHERE op = 10",
    "written address": "UPDATE order_op SET event = event + 4 WHERE op = 10",
    "stream of an order operation": "UPDATE order_op SET stream = 0 WHERE op = 10",
    "function": "UPDATE order_op SET value = 1 WHERE op = 9",
    "event": "UPDATE order_op SET event = 1 WHERE op = 12",
    "handle of an event": "UPDATE order_op SET handle = zeroblob(32) WHERE op = 12",
    "an order operation is missing": "DELETE FROM order_op WHERE op = 9",
    "an order operation of another kind": "UPDATE order_op SET op = 6 WHERE op = 9",
    "bytes of an export": "UPDATE memory SET bytes = 1024 WHERE op = 6",
    "handle of an export": "UPDATE memory SET handle = zeroblob(32) WHERE op = 6",
    "handle of a mapping": "UPDATE memory SET handle = zeroblob(32) WHERE op = 7",
    "address of a mapping": "UPDATE memory SET address = address + 256 WHERE op = 7",
    "base of an entry": "UPDATE entry SET base = base + 256",
    "launches": "UPDATE coverage SET calls = 2 WHERE name LIKE 'path:%'",
    "name of the kernel": "UPDATE meta SET value = 'other'",
    "look-ups": "UPDATE coverage SET calls = 1 WHERE name LIKE 'lookup:%'",
    "a look-up that has a hook": "UPDATE coverage SET installed = 1 WHERE name LIKE 'lookup:%'",
    "a loss": "UPDATE coverage SET dropped = 1 WHERE name LIKE 'lookup:%'",
    "a process without records": "DELETE FROM process WHERE process = 200",
}


class Differences(unittest.TestCase):
    def found(self, change=None, line=None, **changed):
        lines = [{**(line or owner_line()), **changed}, other_line()]
        database = recorded([owner_line(), other_line()])
        if change:
            self.assertGreater(database.execute(change).rowcount, 0, change)
        return list(evidence.differences(lines, database))

    def test_a_recording_that_fits(self):
        self.assertEqual(self.found(), [])

    def test_each_change_is_seen(self):
        for what, change in CHANGES.items():
            with self.subTest(what):
                self.assertNotEqual(self.found(change), [], what)

    def test_nodes_of_a_launch_have_no_order(self):
        self.assertEqual(self.found("UPDATE copy SET seq = 15 - seq, batch_index = 1 - batch_index "
                                    "WHERE call = 3"), [])

    def test_a_static_runtime_calls_what_it_likes_but_moves_the_same(self):
        inner = "UPDATE copy SET call = 9, version = 13000 WHERE seq IN (3, 4)"
        more = ("INSERT INTO order_op (process, thread, seq, t_ns, stream, event, end_ns, value, handle, result, "
                "call, op, device) VALUES (100, 100, 60, 0, 0, 0, 0, 0, zeroblob(32), 0, 7, 8, 0)")
        for change in (inner, more, "UPDATE copy SET stream = 1 WHERE thread = 101"):
            self.assertNotEqual(self.found(change), [])
            self.assertEqual(self.found(change, runtime="static"), [])
        for change in ("UPDATE copy SET bytes = 1 WHERE seq = 3", "DELETE FROM order_op WHERE op = 9",
                       "UPDATE order_op SET value = 8 WHERE op = 10"):
            self.assertNotEqual(self.found(change, runtime="static"), [], change)

    def test_a_line_that_is_not_whole_speaks_of_its_memory_alone(self):
        elsewhere = "UPDATE copy SET dst = 1, src = 2 WHERE seq = 3"
        line = owner_line()
        del line["calls"]["thread0"][2]
        self.assertNotEqual(self.found(elsewhere, line), [])
        self.assertEqual(self.found(elsewhere, line, whole=False), [])
        self.assertNotEqual(self.found(None, line, whole=False), [])


class CrossCheck(unittest.TestCase):
    def found(self, change=None, **rule):
        lines = [owner_line(), other_line()]
        database = recorded(lines)
        if change:
            self.assertGreater(database.execute(change).rowcount, 0, change)
        report = {"crosscheck": {"verdict": "pass", "cupti_h2d": 2134, "ledger_h2d": 2134, "cupti_d2h": 148,
                                 "ledger_d2h": 148, "cupti_d2d": 0, "ledger_d2d": 0, **rule}}
        return list(evidence.cross_check_differences(lines, report, database))

    def test_equal_bytes_pass(self):
        self.assertEqual(self.found(), [])

    def test_other_bytes_are_seen(self):
        self.assertNotEqual(self.found("UPDATE coverage SET bytes = 1 WHERE name = 'cupti:d2h'"), [])
        self.assertNotEqual(self.found("DELETE FROM coverage WHERE name = 'cupti:d2d'"), [])
        for figure in ("cupti_h2d", "ledger_h2d", "cupti_d2d"):
            self.assertNotEqual(self.found(**{figure: 5}), [], figure)
        for verdict in ("fail", "inconclusive"):
            self.assertNotEqual(self.found(verdict=verdict), [], verdict)

    def test_a_session_that_did_not_answer(self):
        database = recorded([owner_line()])
        self.assertIn("did not answer", evidence.sessions_refused([owner_line()], database))
        insert(database, "coverage", process=OWNER, seq=120, name="cupti:session", installed=1)
        self.assertIsNone(evidence.sessions_refused([owner_line()], database))


class BlindPaths(unittest.TestCase):
    KERNEL = "path:kernel_with_host_pointer"

    @staticmethod
    def found(lines, named, code=3, verdict="inconclusive", change=None):
        findings = [{"violation": "blind_path_used", "first": {"expected": path}} for path in named]
        report = {"verdict": verdict, "evidence": {"verdict": verdict, "findings": findings}}
        database = recorded([owner_line(), other_line()])
        if change:
            database.execute(change)
        return list(evidence.blind_differences(lines, report, code, database))

    def test_the_kernel_must_be_named_and_make_the_verdict_inconclusive(self):
        lines = [owner_line()]
        self.assertEqual(self.found(lines, [self.KERNEL]), [])
        self.assertNotEqual(self.found(lines, []), [])
        self.assertNotEqual(self.found(lines, [self.KERNEL], code=0), [])
        self.assertNotEqual(self.found(lines, [self.KERNEL], verdict="pass"), [])

    def test_another_path_is_seen_though_the_audit_shows_one(self):
        another = "UPDATE coverage SET name = 'path:graph_unreadable', installed = 1 WHERE name LIKE 'lookup:%'"
        self.assertNotEqual(self.found([owner_line()], [self.KERNEL], change=another), [])

    def test_no_path_is_named_where_none_was_used(self):
        none = "DELETE FROM coverage WHERE name LIKE 'path:%'"
        self.assertEqual(self.found([other_line()], [], change=none), [])
        self.assertNotEqual(self.found([other_line()], []), [])
        self.assertNotEqual(self.found([other_line()], [self.KERNEL], change=none), [])


if __name__ == "__main__":
    unittest.main()
