"""One archive of a fleet: audited, and compared with what the local auditor said where that is carried along."""
import time

from judge import Judge
from world import ENGINES


def audit_archive(partitions, queries, engine, archive):
    """A plain dictionary, whatever happens: an archive that cannot be read does not end the others."""
    began, spent = time.monotonic(), time.process_time()
    answer = {"archive": archive}
    try:
        world = ENGINES[engine](partitions, archive)
        try:
            verdict, rules = Judge(world, queries, partitions.manifest["rules"]).judge()
            answer.update(path=world.archive["path"], rows=world.archive["rows"], verdict=verdict,
                          rules=[vars(rule) for rule in rules])
            answer["local"] = world.archive["verdict"] if world.archive["audited"] else None
            if answer["local"] is not None:
                answer["differences"] = differences(world, verdict, rules)
        finally:
            world.close()
    except Exception as error:  # whatever an engine or a file system raises
        answer["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
    answer["seconds"] = round(time.monotonic() - began, 4)
    answer["processor_seconds"] = round(time.process_time() - spent, 4)
    return answer


def differences(world, verdict, rules):
    """What the local auditor said otherwise, in words; empty where it said the same of everything."""
    found = []

    def compare(what, here, there):
        if here != there:
            found.append(f"{what}: here {here}, local audit {there}")

    compare("verdict", verdict, world.archive["verdict"])
    compare("rules", [r.name for r in rules], list(world.carried))
    for rule in rules:
        carried = world.carried.get(rule.name)
        if carried is None:
            continue
        compare(f"{rule.name} verdict", rule.verdict, carried["verdict"])
        compare(f"{rule.name} observations", rule.observations, carried["observations"])
        compare(f"{rule.name} missing", "\n".join(rule.missing), carried["missing"])
        compare(f"{rule.name} findings", sorted(map(tuple, rule.findings)),
                sorted((f["violation"], f["effect"], f["count"]) for f in world.carried_findings
                       if f["rule"] == rule.name))
    return found
