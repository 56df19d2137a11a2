"""A sale without 3-D Secure: the request, and what became of it."""

import hashlib
import time
import uuid
from datetime import date
from urllib.parse import parse_qsl, urlencode
from urllib.request import urlopen

from sandbox import base_url, control_key, endpoint, login


def control(*parts):
    """
    The checksum of a request: SHA-1 of its parts and the key, with nothing between them.

    >>> control("101", "invoice-112233", "1042", "jane@example.com", "01234567-89AB-CDEF-0123-456789ABCDEF")
    '05dba5fd2a129285f58b99ebbdbde1c23ac08083'
    """
    return hashlib.sha1("".join(parts).encode()).hexdigest()


def call(operation, fields):
    form = urlencode(fields).encode()
    with urlopen(f"{base_url}/api/v2/{operation}/{endpoint}", form, timeout=30) as reply:
        return {name: value.strip() for name, value in parse_qsl(reply.read().decode())}


name = f"python-{uuid.uuid4()}"
sale = {
    "client_orderid": name,
    "order_desc": "Shoes",
    "amount": "10.42",
    "currency": "USD",
    "email": "jane@example.com",
    "ipaddress": "203.0.113.7",
    "credit_card_number": "4111111111111111",
    "card_printed_name": "JANE DOE",
    "expire_month": 12,
    "expire_year": date.today().year + 4,
    "cvv2": "123",
}
# The amount is signed in minor units: 10.42 is 1042.
reply = call("sale", {**sale, "control": control(endpoint, name, "1042", sale["email"], control_key)})
if reply["type"] != "async-response":
    raise SystemExit(f"refused: {reply['error-code']} {reply['error-message']}")

order = reply["gateway-order-id"]
asked = {"login": login, "client_orderid": name, "orderid": order, "control": control(login, name, order, control_key)}
while (status := call("status", asked)["status"]) in ("processing", "unknown"):
    time.sleep(0.5)
print(f"{status}: order {order}")
