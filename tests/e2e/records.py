"""Result records, for what sh cannot read.

    records.py captured FILE            what was captured of stdout and of stderr, as printable text
    records.py validate SCHEMA FILE...  prints what does not keep to the schema; status 1 if anything
"""
import base64
import json
import sys


def captured(stream):
    data = stream["data"]
    if stream["encoding"] == "base64":
        return repr(base64.b64decode(data, validate=True))[2:-1]
    return repr(data)[1:-1]


def validate(schema_file, files):
    import jsonschema

    with open(schema_file, encoding="utf-8") as f:
        schema = json.load(f)
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    good = bool(files)
    for name in files:
        with open(name, encoding="utf-8") as f:
            record = json.load(f)
        for error in validator(schema).iter_errors(record):
            print(f"{name}: {error.json_path}: {error.message}")
            good = False
    return 0 if good else 1


if sys.argv[1] == "captured":
    with open(sys.argv[2], encoding="utf-8") as f:
        record = json.load(f)
    print(captured(record["stdout"]), captured(record["stderr"]))
elif sys.argv[1] == "validate":
    sys.exit(validate(sys.argv[2], sys.argv[3:]))
else:
    sys.exit(__doc__)
