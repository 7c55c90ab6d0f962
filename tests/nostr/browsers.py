"""Browsers that people have, driven by clients/node/browser.mjs."""

import os
import shutil

from places import NODE
from processes import Process

# Debian's packages, which install.sh installs.
PROGRAMS = {"chrome": "chromium", "firefox": "firefox-esr"}


class Browser:
    def __init__(self, name, folder):
        self.name = name
        program = shutil.which(PROGRAMS[name])
        assert program, f"{PROGRAMS[name]} is not installed"
        words = ["node", os.path.join(NODE, "browser.mjs"), name, program]
        self.process = Process(words, os.path.join(folder, f"{name}.log"))

    def ask(self, do, **fields):
        answer = self.process.ask({"do": do, **fields})
        assert answer["ok"], f"{do}: {answer['message']}"
        return answer["result"]

    def fresh(self):
        return self.ask("fresh")

    def open(self, url):
        return self.ask("open", url=url)

    def press(self, text):
        return self.ask("press", text=text)

    def keyboard(self, text):
        return self.ask("keyboard", text=text)

    def choose(self, value):
        return self.ask("choose", value=value)

    def unfold(self):
        return self.ask("unfold")

    def look(self, width, scheme, file):
        return self.ask("look", width=width, scheme=scheme, file=file)

    def faults(self):
        return self.ask("faults")

    def popup(self, url, features):
        return self.ask("popup", url=url, features=features)

    def swap(self, url, other):
        return self.ask("swap", url=url, other=other)

    def uncover(self):
        return self.ask("uncover")

    def hasty(self, url, keys):
        return self.ask("hasty", url=url, keys=keys)

    def check(self):
        return self.ask("check")

    def try_to_allow(self):
        return self.ask("try")

    def attack(self, url, fields):
        return self.ask("attack", url=url, fields=fields)

    def frame(self, url):
        return self.ask("frame", url=url)

    def wait(self, text):
        return self.ask("wait", text=text)

    def source(self, url):
        self.open(url)
        return self.ask("source")

    def stop(self):
        self.process.stop()


def sign_in(browser, world):
    shown = browser.open(world.signer.sign_in())
    assert "Sign in" in shown["text"], shown
    return browser.press("Sign this browser in")
