"""Named checks, which are counted."""

import traceback


class Checks:
    def __init__(self):
        self.passed = self.failed = 0
        self.skipped = []

    def run(self, name, function, *arguments):
        """Runs a check and prints its name with the result. Returns the result of the function, or None."""
        try:
            result = function(*arguments)
        except Skipped as reason:
            self.skipped.append(f"{name}: {reason}")
            print(f"{name}: skipped, {reason}", flush=True)
            return None
        except Exception:
            traceback.print_exc()
            self.failed += 1
            print(f"{name}: FAILED", flush=True)
            return None
        self.passed += 1
        print(f"{name}: passed", flush=True)
        return result

    def summary(self):
        tail = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{tail}"


class Skipped(Exception):
    """A check that cannot run on this machine."""
