"""Asks what became of an order: python3 status.py <client_orderid>"""

import hashlib
import sys
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


# Without the orderid, which you do not know when the reply to the sale was lost.
name = sys.argv[1]
form = {"login": login, "client_orderid": name, "control": control(login, name, control_key)}
with urlopen(f"{base_url}/api/v2/status/{endpoint}", urlencode(form).encode(), timeout=30) as reply:
    answer = {name: value.strip() for name, value in parse_qsl(reply.read().decode())}

if answer["type"] == "status-response":
    print(f"{answer['status']}: {answer['order-stage']}")
else:
    print(f"refused: {answer['error-code']} {answer['error-message']}")
