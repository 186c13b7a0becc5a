import sys, tempfile, time, random
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent)); sys.path.insert(0, str(Path(__file__).parents[2]))
from harness import *
from cases import *
only = sys.argv[1] if len(sys.argv) > 1 else ""
sample = int(sys.argv[2]) if len(sys.argv) > 2 else 1
faults = [f for f in FAULTS if len(sys.argv) < 4 or f.name in sys.argv[3].split(",")]
with tempfile.TemporaryDirectory(prefix="f") as t:
    t = Path(t)
    (t/"server").mkdir()
    started = time.time()
    with server(t/"server") as s:
        assert not isinstance(s, str), s
        inputs = Inputs(s, t/"place")
        print("inputs", round(time.time()-started, 1), flush=True)
        bench = Bench(s, t/"place")
        total = 0
        for case in cases(inputs):
            if only and case.name not in only.split(","): continue
            started = time.time()
            try: wanted = uninterrupted(bench, case)
            except AssertionError as e:
                print(case.name, "UNINTERRUPTED", str(e)[:1500], flush=True); continue
            one = time.time()
            bench.reset(); bench.run(case)
            one = time.time() - one
            seen = Counter = {}
            trials = 0
            for fault in faults:
                n = wanted.rooms if fault.always == 2 else len(wanted.operations)
                for at in range(1, n + 1):
                    if sample > 1 and random.random() > 1/sample: continue
                    trials += 1
                    for p in problems_of(bench, case, wanted, fault, at):
                        p = p.replace(str(t), "T")
                        seen.setdefault((fault.name, p), []).append(at)
            total += trials
            print(f"== {case.name}: {len(wanted.operations)} operations, {wanted.rooms} need room, {trials} trials, {len(seen)} problems, one run {one:.2f} s, {time.time()-started:.0f} s", flush=True)
            for (f, p), ats in list(seen.items())[:12]:
                op = wanted.operations[ats[0]-1].replace(str(t), "T") if f != "full disk" else ""
                print(f"   {f} at {ats[:6]}{'...' if len(ats)>6 else ''} [{op}]: {p[:420]}", flush=True)
        print("total", total)
