"""An app verifies a card, pays with it, and sends money from it."""

import json
import time
from datetime import date
from urllib.request import Request, urlopen

from sandbox import base_url, merchant_server_url


def post(url, body):
    sent = Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urlopen(sent, timeout=30) as reply:
        return json.load(reply)


# Your own server signs its consumers in. That of the sandbox accepts any name.
token = post(f"{merchant_server_url}/auth/request-access-token", {"consumer": "jane"})["session"]["accessToken"]
consumer = {"device": {"serialNumber": "phone-1"}, "email": "jane@example.com"}
card = {
    "number": "4111111111111111",
    "expiry": {"month": 12, "year": date.today().year + 4},
    "securityCode": "123",
    "holder": {"printedName": "JANE DOE"},
}
# Amounts are in hundredths: 1042 is 10.42.
money = {"amountCentis": 1042, "currency": "USD"}


def run(kind, initiate, body):
    # The merchant's server makes an invoice and signs it. It never sees a card.
    openly = {"consumer": {"device": consumer["device"]}, "transaction": body["transaction"]}
    begun = post(f"{merchant_server_url}/{initiate}", {**openly, "session": {"accessToken": token}})

    # The gateway gets the card, and asks the merchant's server whether the invoice is genuine.
    url = f"{base_url}/dapi/v1/{kind}/{begun['endpointId']}/{begun['invoiceId']}"
    performed = post(url, {**body, "consumer": consumer, "session": {"accessToken": token, **begun["session"]}})

    asked = {"session": {"accessToken": token, "token": performed["session"]["token"]}}
    opened = None
    while (seen := post(f"{url}/status", asked))["state"] not in ("APPROVED", "DECLINED"):
        # There the issuer authenticates the cardholder.
        if seen.get("redirectUrl") not in (None, opened):
            opened = seen["redirectUrl"]
            print(f"open in a web view: {opened}", flush=True)
        time.sleep(0.5)
    print(f"{kind}: {seen['state']}", flush=True)


source = {"sourceOfFunds": {"card": card}, "transaction": money}
destination = {"destinationOfFunds": {"card": {"number": "5555555555554444"}}}
run("verification", "verification/initiate-verification", {"sourceCard": card, "transaction": {"currency": "USD"}})
run("sale", "transfer/initiate-sale", source)
run("transfer", "transfer/initiate-transfer", {**source, **destination})
