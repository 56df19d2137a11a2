"""Returns a part of a payment: python3 return.py <client_orderid> <orderid> <amount>"""

import hashlib
import sys
import time
from urllib.parse import parse_qsl, urlencode
from urllib.request import urlopen

from sandbox import base_url, control_key, endpoint, login


def control(*parts):
    """
    The checksum of a request: SHA-1 of its parts and the key, with nothing between them.

    >>> control("sandbox", "invoice-112233", "1000001", "400", "USD", "01234567-89AB-CDEF-0123-456789ABCDEF")
    'b5576165114c702026ee1ca7a1f9405a6870ee50'
    """
    return hashlib.sha1("".join(parts).encode()).hexdigest()


def call(operation, fields):
    form = urlencode(fields).encode()
    with urlopen(f"{base_url}/api/v2/{operation}/{endpoint}", form, timeout=30) as reply:
        answer = {name: value.strip() for name, value in parse_qsl(reply.read().decode())}
    if "error-code" in answer and "status" not in answer:
        raise SystemExit(f"refused: {answer['error-code']} {answer['error-message']}")
    return answer


name, order, amount = sys.argv[1:]
asked = {"login": login, "client_orderid": name, "orderid": order}
# The amount is signed in minor units: 4.00 is 400.
minor = str(int(amount.replace(".", "")))
signed = control(login, name, order, minor, "USD", control_key)
reply = call("return", {**asked, "amount": amount, "currency": "USD", "control": signed})

# The serial number of the reply names the return, beside the sale.
asked.update({"by-request-sn": reply["serial-number"], "control": control(login, name, order, control_key)})
while (status := call("status", asked)["status"]) in ("processing", "unknown"):
    time.sleep(0.5)
print(f"return {amount}: {status}")
