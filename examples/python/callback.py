"""
A server that receives callbacks: python3 callback.py <port>

It believes nothing before both signatures hold.
"""

import base64
import hashlib
import hmac
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

from sandbox import control_key, signing_secret


def control(*parts):
    """
    The checksum of a callback: SHA-1 of its parts and the key, with nothing between them.

    >>> control("approved", "1000001", "invoice-112233", "01234567-89AB-CDEF-0123-456789ABCDEF")
    'f9a9831a67f5243a848360eeaaf2aeefc0806316'
    """
    return hashlib.sha1("".join(parts).encode()).hexdigest()


def signature(secret, text):
    """
    HMAC-SHA256 as Standard Webhooks describes it.

    >>> signature("whsec_MDEyMzQ1Njc4OWFiY2RlZg==", "msg_1.1900000000.status=approved")
    'DPOGm6qkoJjGwnwlPgwOQenTtwClbjF1JWa+h32EmNc='
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return base64.b64encode(hmac.digest(key, text.encode(), "sha256")).decode()


def complaint(payload, headers):
    """Why a callback is not the gateway's; None where it is."""
    sent_at = headers.get("webhook-timestamp", "0")
    signed = signature(signing_secret, f"{headers.get('webhook-id')}.{sent_at}.{payload}")
    if not any(hmac.compare_digest(one, f"v1,{signed}") for one in headers.get("webhook-signature", "").split(" ")):
        return "its signature does not hold"
    if abs(time.time() - int(sent_at)) > 300:
        return "it is older than five minutes"
    fields = {name: values[-1] for name, values in parse_qs(payload).items()}
    parts = (fields.get("status", ""), fields.get("orderid", ""), fields.get("client_orderid", ""))
    if not hmac.compare_digest(fields.get("control", "").lower(), control(*parts, control_key)):
        return "its control does not match"
    return None


class Callbacks(BaseHTTPRequestHandler):
    def do_GET(self):
        self.receive(self.path.partition("?")[2])

    def do_POST(self):
        self.receive(self.rfile.read(int(self.headers["content-length"])).decode())

    def receive(self, payload):
        why = complaint(payload, self.headers)
        fields = {name: values[-1] for name, values in parse_qs(payload).items()}
        # Look the order up by both ids, and ask status before you ship.
        print(why or f"{fields['type']} {fields['status']} {fields['amount']}", flush=True)
        self.send_response(200 if why is None else 400)
        self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Callbacks)
print(f"listening on {server.server_port}", flush=True)
server.serve_forever()
