"""Odd text at many depths of a config.json or process.json, and a look whether it is there.

usage: foreign.py plant IN OUT [HOOK-COPY CGROUP]   (HOOK-COPY: where a createRuntime hook puts the config.json it finds)
       foreign.py planted FILE                      (prints what is missing or other than it was)
"""
import json
import sys

# what a reader that goes through doubles, UTF-16 or structs of its own would change
ODD = (r'{"big":18446744073709551615,"odd":9007199254740993,"low":-9223372036854775808,"list":[1,1,2.50,1e2,-0.0,'
       r'{"a":1},{"a":1},[],[[]],{}],"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t\u001f":"\u00e9\ud83d\ude00é✓😀\u2028\u007f",'
       r'"":null,"Case":true,"case":false}')
CONFIG = ["", "process", "process.user", "process.capabilities", "process.ioPriority", "process.scheduler", "root", "mounts.0",
          "hooks.createRuntime.0", "linux", "linux.netDevices", "linux.resources", "linux.resources.memory",
          "linux.resources.pids", "linux.resources.cpu", "linux.resources.devices.0", "linux.namespaces.0", "unknown.deep.deeper"]
# for a real engine, which knows some of these objects' types
HOOKED = ["", "process", "process.user", "root", "linux", "linux.resources", "linux.resources.memory", "unknown.deep"]
PROCESS = ["", "user", "capabilities", "ioPriority", "scheduler"]


class Pairs(list):
    """An object with its keys in their order."""

    def __getitem__(self, key):
        return dict(self)[key] if isinstance(key, str) else list.__getitem__(self, key)


def exact(text):
    def digits(number):
        return ("number", number)
    return json.loads(text, parse_int=digits, parse_float=digits, object_pairs_hook=Pairs)


def step(tree, word):
    return tree[int(word)] if word.isdigit() else tree[word]


def plant(tree, place):
    for word in filter(None, place.split(".")):
        if word == "createRuntime":
            tree.setdefault(word, [{}])
        elif word == "devices":
            tree.setdefault(word, [{"allow": False, "access": "rwm"}])
        elif not word.isdigit():
            tree.setdefault(word, {})
        tree = step(tree, word)
    tree["zzz"] = "@odd@"


def main():
    with open(sys.argv[2], encoding="utf-8") as f:
        text = f.read()
    if sys.argv[1] == "planted":
        tree, want = exact(text), exact(ODD)
        places = dict(tree).get("placed")
        for place in [p for p in (CONFIG, HOOKED, PROCESS) if len(p) == int(places[1])][0]:
            found = tree
            try:
                for word in filter(None, place.split(".")):
                    found = step(found, word)
                found = found["zzz"]
            except (KeyError, IndexError, TypeError):
                found = "missing"
            if found != want:
                print("%s.zzz: %r" % (place, found))
        return
    tree = json.loads(text)
    hook = sys.argv[4:]
    places = PROCESS if "linux" not in tree else HOOKED if hook and hook[0] else CONFIG
    tree["placed"] = len(places)
    for place in places:
        plant(tree, place)
    if "linux" in tree:
        if hook[0]:
            script = r"""cp "$(sed 's/.*"bundle": *"\([^"]*\)".*/\1/' | tr -d '\n')/config.json" """ + hook[0]
            tree["linux"]["resources"].pop("pids", None)
            tree["hooks"] = {"createRuntime": [{"path": "/bin/sh", "args": ["sh", "-c", script], "env": ["PATH=/usr/bin:/bin"]}]}
        else:
            tree["hooks"]["createRuntime"][0]["path"] = "/bin/true"
        tree["linux"]["cgroupsPath"] = hook[1]
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        f.write(json.dumps(tree, indent=3, ensure_ascii=False).replace('"@odd@"', ODD))


main()
