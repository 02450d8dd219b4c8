"""What a route printed about itself, held against a recording of it.

The line that a route prints (routes/ledger.h, routes/ledger.py) names addresses and handles; what the
names stand for is its "where". Every function here yields sentences, one a difference.
"""
import collections
import hashlib
import json

DIRECTIONS = ["D2H", "H2D", "D2D", "H2H", "none"]
OPS = ["event create", "event destroy", "event record", "event query", "event synchronise",
       "stream waits event", "stream synchronise", "stream query", "device synchronise",
       "host function", "write value", "wait value", "event export", "event open", "stream create",
       "stream destroy", "kernel launch"]
RUNTIME, DRIVER = 0, 1  # hook.level
LEGACY_STREAM = 1       # another handle of the default stream

Copy = collections.namedtuple(
    "Copy", "call level dst src bytes direction stream version batch_index batch_count access_order result")
Order = collections.namedtuple("Order", "call level op stream event value handle result")


def read_lines(text):
    """The lines of a route's output that are ledgers: one a process."""
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"route"')]


def comparable(line):
    """A line without what differs from run to run."""
    return {key: value for key, value in line.items() if key != "where"}


def signed(value):
    """SQLite keeps unsigned 64-bit values as signed ones."""
    return value - 2**64 if value >= 2**63 else value


class Names:
    """What the names of a line stand for."""

    def __init__(self, line):
        self.where = line["where"]
        self.process = self.where["process"]

    def number(self, name):
        if name is None:
            return 0
        if isinstance(name, int):
            return signed(name)
        base, _, offset = name.partition("+")
        value = self.where[base]
        return signed((value[0] if isinstance(value, list) else value) + int(offset or 0))

    def handle(self, name):
        if name is None:
            return bytes(32)
        return hashlib.sha256(bytes.fromhex(self.where[name])).digest()

    def ranges(self):
        """Named memory, as (begin, end)."""
        return [(signed(v[0]), signed(v[0]) + v[1]) for v in self.where.values() if isinstance(v, list)]


def expected_calls(line):
    """Thread number -> its copies and order operations, in order; copies of one launch sorted."""
    names = Names(line)
    calls = {}
    for thread, made in line["calls"].items():
        rows = []
        for call in made:
            if "op" in call:
                rows.append((Order(call["call"], None, call["op"], names.number(call["stream"]),
                                   names.number(call["event"]), names.number(call["value"]),
                                   names.handle(call["handle"]), 0), False))
            else:
                rows.append((Copy(call["call"], None, names.number(call["dst"]), names.number(call["src"]),
                                  call["bytes"], DIRECTIONS.index(call["direction"]),
                                  names.number(call["stream"]), call["version"], *call["batch"],
                                  call["access_order"], call["result"]), call.get("graph", False)))
        calls[names.where[thread]] = sort_launches(rows)
    return calls


def recorded_calls(database, process):
    """The same from a recording, with a list of what is wrong with it in itself."""
    hooks = {i: (name, level) for i, name, level in
             database.execute("SELECT id, name, level FROM hook WHERE process = ?", (process,))}
    found, problems = [], []
    batches = collections.defaultdict(list)
    for row in database.execute(
            "SELECT thread, seq, call_seq, call, dst, src, bytes, direction, stream, version, batch_index, "
            "batch_count, access_order, result FROM copy WHERE process = ? ORDER BY thread, seq", (process,)):
        name, level = hooks.get(row[3], (f"hook {row[3]}", None))
        copy = Copy(name, level, *row[4:])
        found.append((row[0], row[1], copy, "GraphLaunch" in name))
        batches[row[0], row[2]].append(copy)
    for copies in batches.values():
        if [c.batch_index for c in copies] != list(range(copies[0].batch_count)):
            problems.append(f"a call of {copies[0].batch_count} copies has rows "
                            f"{[c.batch_index for c in copies]} under one number")
    for row in database.execute(
            "SELECT thread, seq, call, op, stream, event, value, handle, result FROM order_op "
            "WHERE process = ?", (process,)):
        name, level = hooks.get(row[2], (f"hook {row[2]}", None))
        found.append((row[0], row[1], Order(name, level, *row[3:]), False))
    calls = collections.defaultdict(list)
    for thread, _, row, graph in sorted(found, key=lambda f: f[:2]):
        calls[thread].append((row, graph))
    return {thread: sort_launches(rows) for thread, rows in calls.items()}, problems


def sort_launches(rows):
    """In which order the nodes of a graph run shows nowhere: copies of one launch by their content."""
    result, i = [], 0
    while i < len(rows):
        row, graph = rows[i]
        if not graph:
            result.append(row)
            i += 1
            continue
        group = sorted((r for r, _ in rows[i:i + row.batch_count]), key=lambda r: (r.dst, r.src, r.bytes))
        result += [r._replace(batch_index=k) for k, r in enumerate(group)]
        i += row.batch_count
    return result


def words(row):
    if isinstance(row, Copy):
        return (f"{row.call or 'some call'}: {row.bytes} bytes {DIRECTIONS[row.direction]} {row.src:#x} -> {row.dst:#x} on "
                f"stream {row.stream:#x}, version {row.version or 0}, {row.batch_index + 1} of {row.batch_count}, "
                f"access order {row.access_order}, result {row.result}")
    return (f"{row.call}: {OPS[row.op]}, stream {row.stream:#x}, event {row.event:#x}, value {row.value}, "
            f"handle {row.handle.hex()[:12]}, result {row.result}")


def matcher(static):
    """Equality of an expected row with a recorded one. A static runtime reaches the driver by calls and
    versions of its own choice, and may name the default stream by its other handle."""

    def same(expected, recorded):
        if type(expected) is not type(recorded):
            return False
        inner = static and recorded.level == DRIVER and (expected.call or "cuda").startswith("cuda")
        changes = {"level": None}
        if inner or expected.call is None:
            changes["call"] = expected.call
        if isinstance(expected, Copy) and (inner or expected.version is None):
            changes["version"] = expected.version
        if static and recorded.stream == LEGACY_STREAM:
            changes["stream"] = 0
        return expected == recorded._replace(**changes)

    return same


def align(expected, recorded, same):
    """What stands in one list and not in the other, as (missing, extra) pairs with one of them None."""
    i = j = 0
    while i < len(expected) and j < len(recorded):
        if same(expected[i], recorded[j]):
            i, j = i + 1, j + 1
            continue
        later = next((k for k in range(j + 1, len(recorded)) if same(expected[i], recorded[k])), None)
        sooner = next((k for k in range(i + 1, len(expected)) if same(expected[k], recorded[j])), None)
        if later is not None and (sooner is None or later - j <= sooner - i):
            yield None, recorded[j]
            j += 1
        else:
            yield expected[i], None
            i += 1
    for row in expected[i:]:
        yield row, None
    for row in recorded[j:]:
        yield None, row


def touches(copy, ranges):
    return any(begin <= address < end for begin, end in ranges for address in (copy.dst, copy.src))


def call_differences(line, database):
    """Copies and order operations, thread by thread and in order. A line that is not whole speaks of the
    copies that touch its named memory; orders that it does not name are left out then, and under a static
    runtime, which orders by driver calls of its own."""
    names = Names(line)
    expected = expected_calls(line)
    recorded, problems = recorded_calls(database, names.process)
    yield from problems
    static = line["runtime"] == "static"
    for thread in sorted(expected.keys() | recorded.keys()):
        made, found = expected.get(thread, []), recorded.get(thread, [])
        if not line["whole"]:
            found = [r for r in found if isinstance(r, Order) or touches(r, names.ranges())]
        for missing, extra in align(made, found, matcher(static)):
            if missing is not None:
                yield f"thread {thread}: not recorded here: {words(missing)}"
            elif isinstance(extra, Copy) or (line["whole"] and not static):
                yield f"thread {thread}: recorded, not made here: {words(extra)}"


def fact_differences(line, database):
    names = Names(line)
    for fact in line["facts"]:
        yield from FACTS[fact["fact"]](fact, names, database)


def memory_fact(fact, names, database):
    rows = database.execute(
        "SELECT bytes, handle FROM memory WHERE process = ? AND op = ? AND address = ? AND result = 0",
        (names.process, fact["op"], names.number(fact["at"]))).fetchall()
    wanted = names.handle(fact["handle"])
    if not any(fact["bytes"] in (0, n) and (fact["handle"] is None or handle == wanted)
               for n, handle in rows):
        yield f"no change {fact['op']} of the address map at {fact['at']} with {fact['bytes']} bytes and " \
              f"handle {fact['handle']}: {[(n, h.hex()[:12]) for n, h in rows]}"


def entry_fact(fact, names, database):
    bases = [v for v, in database.execute("SELECT base FROM entry WHERE process = ? AND entry = ?",
                                          (names.process, fact["entry"]))]
    if bases != [names.number(fact["at"])]:
        yield f"entry {fact['entry']} is registered at {bases}, not at {fact['at']}"


def joined_fact(fact, names, database):
    """The owner's export covers its entry; the handle says where this process has it."""
    found = {v for v, in database.execute(
        "SELECT o.address + e.base - x.address FROM entry e "
        "JOIN memory x ON x.process = e.process AND x.op = 6 AND x.result = 0 "
        "AND e.base >= x.address AND e.base < x.address + x.bytes "
        "JOIN memory o ON o.op = 7 AND o.result = 0 AND o.handle = x.handle AND o.process <> x.process "
        "WHERE o.process = ? AND e.entry = ?", (names.process, fact["entry"]))}
    if found != {names.number(fact["at"])}:
        yield f"by its handle entry {fact['entry']} of the other process lies at {sorted(found)}, " \
              f"not at {fact['at']} ({names.number(fact['at'])})"


def count_of(database, process, name):
    """Counters grow; the newest row of each counts."""
    return database.execute("SELECT COALESCE(MAX(calls), 0), MAX(installed) FROM coverage "
                            "WHERE process = ? AND name = ?", (process, name)).fetchone()


def kernel_fact(fact, names, database):
    launches, _ = count_of(database, names.process, "path:kernel_with_host_pointer")
    if launches != fact["launches"]:
        yield f"{launches} launches with host memory counted, {fact['launches']} made"
    named = [v for v, in database.execute(
        "SELECT value FROM meta WHERE process = ? AND name = 'kernel.host_pointer'", (names.process,))]
    if len(named) != 1 or fact["name"] not in named[0]:
        yield f"kernels that were given host memory: {named}, not {fact['name']} alone"


def lookup_fact(fact, names, database):
    times, installed = count_of(database, names.process, "lookup:" + fact["name"])
    if times < fact["times"] or installed != 0:
        yield f"look-ups of {fact['name']}: {times} in the coverage records, {fact['times']} made"


FACTS = {"memory": memory_fact, "entry": entry_fact, "joined": joined_fact,
         "host_pointer_kernel": kernel_fact, "lookup": lookup_fact}


def dropped(database):
    lost, = database.execute("SELECT COALESCE(SUM(dropped), 0) FROM coverage").fetchone()
    if lost:
        yield f"{lost} observations were dropped"
    for fact, value in database.execute("SELECT key, value FROM recording WHERE key IN ('dropped', 'gaps', "
                                        "'damaged_slots', 'damaged_journals') AND value NOT IN ('0', '')"):
        yield f"the recording says {fact} {value}"


def strangers(lines, database):
    """Copies of processes that printed no line."""
    known = {line["where"]["process"] for line in lines}
    for process, copies in database.execute("SELECT process, COUNT(*) FROM copy GROUP BY process ORDER BY process"):
        if process not in known:
            yield f"process {process} made {copies} copies and printed no line"


def differences(lines, database):
    for line in lines:
        known, = database.execute("SELECT COUNT(*) FROM process WHERE process = ?",
                                  (line["where"]["process"],)).fetchone()
        if not known:
            yield f"process {line['where']['process']} is not in the recording"
            continue
        yield from call_differences(line, database)
        yield from fact_differences(line, database)
    yield from strangers(lines, database)
    yield from dropped(database)


def bytes_moved(line):
    """Direction -> bytes of the copies that were made."""
    moved = dict.fromkeys(("h2d", "d2h", "d2d"), 0)
    for made in line["calls"].values():
        for call in made:
            key = call.get("direction", "").lower()
            if key in moved and call["result"] == 0:
                moved[key] += call["bytes"]
    return moved


def copies_made(line):
    """Fills are no copies."""
    return sum(call.get("direction", "none") != "none" for made in line["calls"].values() for call in made)


def sessions_refused(lines, database):
    """Why nothing was counted by the second instrument, where that is so."""
    for line in lines:
        process = line["where"]["process"]
        answered, = database.execute("SELECT MAX(installed) FROM coverage WHERE process = ? AND name = "
                                     "'cupti:session'", (process,)).fetchone()
        if not answered:
            return f"process {process}: CUPTI did not answer, so nothing was counted beside the ledger"
    return None


def cross_check_differences(lines, report, database):
    """A second instrument's bytes, per process from the coverage records and in sum from the rule."""
    total = collections.Counter()
    for line in lines:
        process = line["where"]["process"]
        for way, want in bytes_moved(line).items():
            total[way] += want
            counted, = database.execute("SELECT MAX(bytes) FROM coverage WHERE process = ? AND name = ?",
                                        (process, "cupti:" + way)).fetchone()
            if counted is None or (counted != want if line["whole"] else counted < want):
                yield f"process {process}: CUPTI counted {counted} bytes {way}, the route moved {want}"
    rule = report.get("crosscheck")
    if rule is None:
        yield "the audit has no rule crosscheck for this recording"
        return
    if all(line["whole"] for line in lines):
        for way, want in total.items():
            for side in ("cupti_", "ledger_"):
                if rule.get(side + way) != want:
                    yield f"rule crosscheck: {side}{way} is {rule.get(side + way)}, the route moved {want}"
    if rule["verdict"] == "fail" or (rule["verdict"] != "pass" and sum(total.values()) > 0):
        yield f"rule crosscheck: {rule['verdict']}: " + \
              "; ".join(f["words"] for f in rule.get("findings", []))


def blind_differences(lines, report, code, database):
    """A kernel that was given host memory, and nothing else, makes the evidence inconclusive."""
    wanted = {"path:kernel_with_host_pointer"} if any(
        fact["fact"] == "host_pointer_kernel" for line in lines for fact in line["facts"]) else set()
    counted = {name for name, in database.execute(
        "SELECT DISTINCT name FROM coverage WHERE name LIKE 'path:%' AND installed = 1 AND calls > 0")}
    named = {finding["first"].get("expected") for finding in report["evidence"]["findings"]
             if finding["violation"] == "blind_path_used"}
    if counted != wanted:
        yield f"blind paths in the coverage records: {sorted(counted)}, not {sorted(wanted)}"
    if named != wanted:
        yield f"blind paths that the audit names: {sorted(named)}, not {sorted(wanted)}"
    if wanted and (code != 3 or report["verdict"] != "inconclusive" or
                   report["evidence"]["verdict"] != "inconclusive"):
        yield f"a blind path was used, and the audit ends with {code}, {report['verdict']}"
