"""Charges a stored card each month: python3 recurrent.py <cardrefid>"""

import hashlib
import sys
import time
import uuid
from urllib.parse import parse_qsl, urlencode
from urllib.request import urlopen

from sandbox import base_url, control_key, endpoint, login


def control(*parts):
    """
    The checksum of a request: SHA-1 of its parts and the key, with nothing between them.

    >>> control("sandbox", "invoice-112233", "5404621383498261", "1042", "USD", "01234567-89AB-CDEF-0123-456789ABCDEF")
    '62cfa856f37d99fcb13c1f5b78e29bbb19bec6a0'
    """
    return hashlib.sha1("".join(parts).encode()).hexdigest()


def call(operation, fields):
    form = urlencode(fields).encode()
    with urlopen(f"{base_url}/api/v2/{operation}/{endpoint}", form, timeout=30) as reply:
        answer = {name: value.strip() for name, value in parse_qsl(reply.read().decode())}
    if "error-code" in answer and "status" not in answer:
        raise SystemExit(f"refused: {answer['error-code']} {answer['error-message']}")
    return answer


name = f"python-{uuid.uuid4()}"
payment = {
    "login": login,
    "client_orderid": name,
    "cardrefid": sys.argv[1],
    "order_desc": "Shoes, monthly",
    "amount": "10.42",
    "currency": "USD",
    "ipaddress": "203.0.113.7",
    "recurrent_scenario": "REGULAR",
    "recurrent_initiator": "MERCHANT",
}
# The amount is signed in minor units: 10.42 is 1042.
signed = control(login, name, sys.argv[1], "1042", "USD", control_key)
order = call("make-rebill-sale", {**payment, "control": signed})["gateway-order-id"]

asked = {"login": login, "client_orderid": name, "orderid": order, "control": control(login, name, order, control_key)}
while (status := call("status", asked)["status"]) in ("processing", "unknown"):
    time.sleep(0.5)
print(f"{status}: order {order}")
