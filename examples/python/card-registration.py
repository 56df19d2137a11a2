"""Stores the card of a payment, which then pays: python3 card-registration.py <client_orderid> <orderid>"""

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

    >>> control("sandbox", "invoice-112233", "1000001", "01234567-89AB-CDEF-0123-456789ABCDEF")
    '8fed04aade726deab02fd1ba425812c872c8a897'
    """
    return hashlib.sha1("".join(parts).encode()).hexdigest()


def call(operation, fields):
    form = urlencode(fields).encode()
    with urlopen(f"{base_url}/api/v2/{operation}/{endpoint}", form, timeout=30) as reply:
        answer = {name: value.strip() for name, value in parse_qsl(reply.read().decode())}
    if "error-code" in answer and "status" not in answer:
        raise SystemExit(f"refused: {answer['error-code']} {answer['error-message']}")
    return answer


name, order = sys.argv[1:]
signed = control(login, name, order, control_key)
kept = call("create-card-ref", {"login": login, "client_orderid": name, "orderid": order, "control": signed})
if "card-ref-id" not in kept:
    raise SystemExit(f"not registered: {kept['status']}, {kept['error-code']}")
card = kept["card-ref-id"]
info = call("get-card-info", {"login": login, "cardrefid": card, "control": control(login, card, control_key)})
print(f"registered: {info['bin']}…{info['last-four-digits']}")

# The customer comes again, and pays without typing the card.
again = f"python-{uuid.uuid4()}"
payment = {
    "login": login,
    "client_orderid": again,
    "cardrefid": card,
    "order_desc": "Laces",
    "amount": "3.50",
    "currency": "USD",
    "ipaddress": "203.0.113.7",
    "recurrent_scenario": "IRREGULAR",
    "recurrent_initiator": "CARDHOLDER",
}
# The amount is signed in minor units: 3.50 is 350.
signed = control(login, again, card, "350", "USD", control_key)
order = call("make-rebill-sale", {**payment, "control": signed})["gateway-order-id"]
asked = {"login": login, "client_orderid": again, "orderid": order, "control": control(login, again, order, control_key)}
while (status := call("status", asked)["status"]) in ("processing", "unknown"):
    time.sleep(0.5)
print(f"paid again: {status}")
