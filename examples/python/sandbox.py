"""The sandbox that runs on this machine, as the samples need it."""

import json
import os
import sys

path = os.path.join(os.environ.get("TOLLGATE_DIR", ".tollgate"), "sandbox.json")
if not os.path.exists(path):
    print(f"No sandbox runs here: there is no {path}. Start one, or name its directory in TOLLGATE_DIR.", file=sys.stderr)
    sys.exit(2)
with open(path, encoding="utf-8") as file:
    sandbox = json.load(file)

base_url = sandbox["base_url"]
login = sandbox["merchant"]["login"]
control_key = sandbox["merchant"]["control_key"]
signing_secret = sandbox["merchant"]["signing_secret"]
endpoint = str(sandbox["endpoints"]["plain"])
merchant_server_url = sandbox["merchant_server_url"]
