"""From the rows of the rules' queries to verdicts, as the auditor's C++ decides (audit/rules/*.cpp, audit/rule.cpp).

The queries are audit/rules/*.sql, unchanged. What is here is what surrounds them: which observations a verdict
rests on, which missing inputs make it inconclusive, which violations prove nothing where records are missing. A test
holds it against `hitproof audit` over the golden archives and every mutation that the auditor itself is tested with.

A world answers `rows(sql)`; `archive` is its row of fleet_archive, `problems` its rows of fleet_problem,
`without_path` the transfers of fleet_path.
"""
import re

WORST = {"not_applicable": 0, "pass": 1, "inconclusive": 2, "fail": 3}
NO_CONTROL = "there is no control arm to compare with (data/reference/recording.sqlite)"
BEFORE_FIRST_REQUEST = "t_ns < (SELECT MIN(t_ns) FROM request)"
OPERATIONS_A_LENGTH = 5  # of a boundary study, where an older export does not count operations


def whole_number(text):
    """As SQLite's CAST: the number that a text begins with, else 0."""
    found = re.match(r"\s*[+-]?\d+", text or "")
    return int(found.group()) if found else 0


class Judged:
    """One rule's answer: `findings` are (violation, effect, count)."""

    def __init__(self, name):
        self.name, self.verdict, self.observations = name, "inconclusive", 0
        self.missing, self.findings = [], []

    def add(self, violation, effect, count=1):
        self.findings.append((violation, effect, count))

    def conclude(self):
        if self.verdict == "not_applicable" and not self.findings:
            return
        if self.observations == 0:
            self.missing.append("nothing was observed")
        self.verdict = "inconclusive" if self.missing else "pass"
        for _, effect, _ in self.findings:
            effect = "pass" if effect == "note" else effect
            if WORST[effect] > WORST[self.verdict]:
                self.verdict = effect


class Judge:
    """All rules over one archive. `queries` maps names to texts, `rules` is the list of _hitproof.json."""

    def __init__(self, world, queries, rules):
        self.world, self.queries, self.rules = world, queries, rules
        self.absence = {r["name"]: set(r["rests_on_absence"]) for r in rules}
        self.facts = dict(world.rows("SELECT key, value FROM recording"))
        self.has_control = bool(world.archive["has_control"])
        self.is_control = self.facts.get("arm", "") == "control"
        # A cache server may also transfer for engines that are not recorded.
        self.strangers = self.number(f"SELECT COUNT(*) FROM transfer WHERE {BEFORE_FIRST_REQUEST}")
        if self.strangers:
            world.set_aside("transfer", f"NOT {BEFORE_FIRST_REQUEST}")
        counted = [whole_number(self.facts.get(k)) for k in ("dropped", "gaps", "damaged_slots")]
        self.records_are_missing = (
            self.facts.get("closed") != "1" or max(counted) > 0
            or self.number("SELECT SUM(gaps + damaged + dropped) FROM journal_file") > 0
            or self.number("SELECT MAX(dropped) FROM coverage") > 0)

    def number(self, sql, fallback=0):
        found = self.world.rows(sql)
        return fallback if not found or found[0][0] is None else int(found[0][0])

    def tables_of(self, query):
        """A query's common table expressions: up to the first SELECT that begins a line."""
        return re.split("^SELECT ", self.queries[query], maxsplit=1, flags=re.MULTILINE)[0]

    def integer_fact(self, key, fallback):
        text = self.facts.get(key, "")
        return int(text) if re.fullmatch(r"-?\d+", text) else fallback

    def collect(self, rule, query, each=None):
        """Adds a finding for each kind of violation; `each` sees (violation, effect, row)."""
        groups = {}
        for row in self.world.rows(self.queries[query]):
            violation, effect = row[0], row[1]
            if effect not in ("fail", "note"):
                effect = "inconclusive"
            if effect == "fail" and self.records_are_missing and violation in self.absence[rule.name]:
                effect = "inconclusive"
            if each:
                each(violation, effect, row)
            groups[violation, effect] = groups.get((violation, effect), 0) + 1
        for (violation, effect), count in groups.items():
            rule.add(violation, effect, count)

    def without_subject(self, rule):
        """A control arm transfers nothing, so rules about transfers do not apply."""
        if self.is_control and self.number("SELECT COUNT(*) FROM transfer") == 0:
            rule.verdict = "not_applicable"
            return True
        return False

    def judge(self):
        """The verdict over all rules, and the rules in the auditor's order."""
        judged, verdict = [], "not_applicable"
        for entry in self.rules:
            rule = Judged(entry["name"])
            getattr(self, rule.name)(rule)
            rule.conclude()
            if entry["optional"] and rule.verdict == "not_applicable":
                continue
            if WORST[rule.verdict] > WORST[verdict]:
                verdict = rule.verdict
            judged.append(rule)
        return ("inconclusive" if verdict == "not_applicable" else verdict), judged

    # One method a rule, named like it.

    def pages(self, rule):
        if self.without_subject(rule):
            return
        self.collect(rule, "pages")
        moved = [0, 0]
        for row in self.world.rows(self.queries["pages_moved"]):
            moved[1 if row[1] else 0] += int(row[3])
        if self.number("SELECT COUNT(*) FROM (SELECT rank, entry FROM entry WHERE origin = 0 AND transferred = 1 "
                       "GROUP BY rank, entry) e") == 0:
            rule.missing.append("the model registered no entries: coverage has no list to go by")
        if moved[0] == 0:
            rule.missing.append("no page was saved")
        if moved[1] == 0:
            rule.missing.append("no page was loaded")
        rule.observations = sum(moved)

    def poison(self, rule):
        if self.without_subject(rule):
            return
        self.collect(rule, "poison")
        rule.observations = self.number(
            "SELECT SUM(CASE WHEN q.verified_bytes = p.bytes THEN 1 ELSE 0 END) FROM page_poison q JOIN transfer_page p "
            "ON p.transfer = q.transfer AND p.entry = q.entry AND p.block = q.block AND p.token_end = q.token_end "
            "JOIN transfer t ON t.transfer = p.transfer WHERE t.direction = 1")

    def tails(self, rule):
        if self.without_subject(rule):
            return
        self.collect(rule, "tails")
        read, nonzero = self.world.rows(
            "SELECT COUNT(*), SUM(CASE WHEN r.nonzero > 0 THEN 1 ELSE 0 END) FROM tail_read r JOIN transfer t "
            "ON t.transfer = r.transfer AND t.rank = r.rank JOIN (SELECT process, rank, entry, MAX(base) AS base, "
            "MAX(page_stride) AS page_stride FROM entry WHERE origin = 0 AND kind = 3 GROUP BY process, rank, entry) e "
            "ON e.process = r.process AND e.rank = r.rank AND e.entry = r.entry "
            "WHERE t.direction = 1 AND r.effective = e.base + r.block * e.page_stride")[0]
        rule.observations = int(nonzero or 0)
        if read and not rule.observations:
            rule.missing.append("every tail that was read is zero")

    def waits(self, rule):
        if self.without_subject(rule):
            return
        unpaired = set()

        def each(violation, _, row):
            # Notes about the page rather than about the wait leave the pair standing.
            if violation not in ("page_reused_before_wait_ended", "page_given_out_before_wait_ended"):
                unpaired.add(row[4])

        self.collect(rule, "waits", each)
        saves = self.world.rows("SELECT transfer, rank FROM transfer WHERE direction = 0 GROUP BY transfer, rank")
        rule.observations = sum(transfer not in unpaired for transfer, _ in saves)

    def boundary(self, rule):
        if self.without_subject(rule):
            return
        self.collect(rule, "boundary")
        rule.observations = self.number("SELECT COUNT(DISTINCT request) FROM transfer WHERE direction = 1")

    def generations(self, rule):
        self.collect(rule, "generations")
        generated = "(SELECT DISTINCT op FROM study_token)"
        twins = self.number(
            "SELECT COUNT(*) FROM study_operation c JOIN study_operation r ON r.case_index = c.case_index AND "
            f"r.which = c.which AND c.kind = 'cold' AND r.kind = 'reload' JOIN {generated} a ON a.op = c.op "
            f"JOIN {generated} b ON b.op = r.op")
        compared = 0
        if self.has_control:
            self.collect(rule, "generations_arms")
            compared = self.number(self.tables_of("generations_arms") +
                                   "SELECT COUNT(*) FROM pair p JOIN length a ON a.op = p.op "
                                   "JOIN control_length b ON b.op = p.control_op")
        elif not self.is_control:
            rule.missing.append(NO_CONTROL)
        planned = self.world.archive.get("plan_operations") or 0
        if planned == 0 and self.world.archive["plan_study"] == "boundary":
            planned = OPERATIONS_A_LENGTH * self.world.archive["plan_lengths"]
        done = self.number("SELECT COUNT(*) FROM study_operation")
        if done < planned:
            rule.missing.append(f"the plan asks for {planned} operations, {done} are recorded")
        rule.observations = compared + twins

    def order(self, rule):
        if self.without_subject(rule):
            return
        decided = set()
        self.collect(rule, "order", lambda violation, effect, row: decided.add(row[4]))
        # Paths are walked by the program that exported: no query can.
        if not self.world.archive.get("paths_walked"):
            rule.missing.append("the export did not say which transfers a path of calls proves: export again")
        elif unproved := set(self.world.without_path) - decided:
            rule.add("path_not_proved", "inconclusive", len(unproved))
        reads = self.number("SELECT COUNT(*) FROM (SELECT q.transfer FROM step_request q JOIN transfer t ON "
                            "t.transfer = q.transfer AND t.rank = q.rank WHERE t.direction = 1 "
                            "GROUP BY q.transfer, q.rank) s")
        saves = self.number("SELECT COUNT(*) FROM (SELECT c.transfer FROM copy c JOIN transfer t ON t.transfer = "
                            "c.transfer WHERE t.direction = 0 AND c.result = 0 GROUP BY c.transfer) s")
        if reads == 0:
            rule.missing.append("no step is recorded that reads a load")
        if saves == 0:
            rule.missing.append("no save copied anything")
        rule.observations = reads + saves

    def keys(self, rule):
        if self.without_subject(rule):
            return
        self.collect(rule, "keys")
        contents = self.number(
            "SELECT COUNT(*) FROM (SELECT DISTINCT t.key, d.entry FROM page_digest d JOIN transfer t ON "
            "t.transfer = d.transfer WHERE t.direction = 0 AND d.place = 0 AND d.moment = 0) s")
        if contents == 0:
            rule.missing.append("no saved content was digested, so keys cannot be compared by content")
        rule.observations = self.number(
            "SELECT COUNT(*) FROM (SELECT DISTINCT key, rank FROM transfer WHERE direction = 0) s")

    def control(self, rule):
        self.collect(rule, "control")
        choices = self.number("SELECT COUNT(*) FROM (SELECT DISTINCT rank, name FROM profile WHERE phase = 1) s")
        steps = 0
        if self.has_control:
            self.collect(rule, "control_arms")
            steps = self.number("SELECT COUNT(*) FROM step_request q LEFT JOIN (SELECT DISTINCT request FROM transfer "
                                "WHERE direction = 1) r ON r.request = q.request WHERE r.request IS NULL")
            if steps == 0:
                rule.missing.append("no step is recorded that could be compared with the control's")
        elif not self.is_control:
            rule.missing.append(NO_CONTROL)
        if choices == 0:
            rule.missing.append("no kernel choice was read back")
        rule.observations = steps + choices

    def evidence(self, rule):
        if self.strangers:  # this rule counts records, whoever they are about
            self.world.bring_back("transfer")
        self.collect(rule, "evidence")
        self.own_plan(rule)
        self.control_plan(rule)
        if self.has_control and self.control_facts().get("closed") != "1":
            rule.missing.append("the control arm's recording was never closed")
        for problem in self.world.problems:
            still_open = problem["kind"] in ("not_closed", "leftover")
            rule.add("archive_problem", "inconclusive" if still_open else "fail")
        rule.observations = self.number("SELECT COUNT(DISTINCT process) FROM process")
        if rule.observations == 0:
            rule.missing.append("the probe was in no process")

    def control_facts(self):
        return dict(self.world.rows("SELECT key, value FROM reference.recording"))

    def own_plan(self, rule):
        registered, there = self.facts.get("plan_sha256", ""), self.world.archive["plan_sha256"]
        if not registered:
            if self.number("SELECT COUNT(*) FROM study_operation") > 0:
                rule.add("plan_not_registered", "inconclusive")
            return
        if not there:
            rule.add("plan_missing", "inconclusive")
        elif there != registered:
            rule.add("plan_changed", "fail")
        when = self.integer_fact("plan_registered_ns", 0)
        if when > self.number("SELECT MIN(begin_ns) FROM study_operation", when):
            rule.add("plan_registered_late", "fail")

    def control_plan(self, rule):
        row = self.world.archive
        if not self.has_control or not self.facts.get("plan_sha256"):
            return
        if row["plan_error"]:
            rule.missing.append("the plan cannot be read: " + row["plan_error"])
            return
        if row["control_plan_error"]:
            rule.missing.append("the control arm's plan cannot be read: " + row["control_plan_error"])
            return
        if row["control_plan_sha256"] != self.control_facts().get("plan_sha256", ""):
            rule.add("plan_changed", "fail")
        if row["plan_controls_sha256"] != row["control_plan_controls_sha256"]:
            rule.add("control_under_another_plan", "fail")

    def crosscheck(self, rule):
        asked = self.number(
            "SELECT COUNT(DISTINCT process) FROM meta WHERE name = 'env:HITPROOF_CUPTI' AND value = '1'")
        sessions = self.number(
            "SELECT COUNT(DISTINCT process) FROM coverage WHERE name = 'cupti:session' AND installed = 1")
        if asked + sessions == 0:
            rule.verdict = "not_applicable"
            return
        self.collect(rule, "crosscheck")
        rule.observations = self.number(
            "SELECT SUM(n) FROM (SELECT MAX(c.calls) AS n FROM coverage c LEFT JOIN (SELECT process, t_ns AS "
            "began, LEAD(t_ns) OVER (PARTITION BY process ORDER BY t_ns) AS next_began FROM meta WHERE name = "
            "'probe.version') l ON l.process = c.process AND c.t_ns >= l.began AND (l.next_began IS NULL OR "
            "c.t_ns < l.next_began) WHERE c.name IN ('cupti:h2d', 'cupti:d2h', 'cupti:d2d') "
            "GROUP BY c.process, l.began, c.name) s")
