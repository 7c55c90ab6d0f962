"""Runs each vector of a directory and counts."""

import json
from pathlib import Path


def run(directory, problem, left_out=None):
    """Prints the faults; returns 0 if there is none and at least one vector passed.

    `problem` describes the fault of a vector, or returns None. `left_out` is (predicate, name): vectors
    for which the predicate holds are counted under the name and not run.
    """
    passed = failed = skipped = 0
    for path in sorted(Path(directory).glob("*.json")):
        try:
            vector = json.loads(path.read_text())
            if left_out is not None and left_out[0](vector):
                skipped += 1
                continue
            found = problem(vector)
        except Exception as error:  # a malformed vector, or a defect here
            found = f"{type(error).__name__}: {error}"
        if found is None:
            passed += 1
        else:
            failed += 1
            print(f"{path.name}: {found}")
    if passed + failed == 0:
        print(f"{directory}: no vectors found")
    end = f", {skipped} {left_out[1]} left out" if left_out is not None else ""
    print(f"{passed} passed, {failed} failed{end}")
    return 1 if failed or not passed else 0
