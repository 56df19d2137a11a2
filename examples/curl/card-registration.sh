#!/bin/sh
# Stores the card of a payment, which then pays: sh card-registration.sh <client_orderid> <orderid>
# BASE_URL, LOGIN, CONTROL_KEY and ENDPOINT are the merchant's: sandbox.json has them.
set -eu

# The checksum of a request: SHA-1 of its parts and the key, with nothing between them.
control() { printf %s "$1$CONTROL_KEY" | openssl dgst -sha1 -r | cut -d ' ' -f 1; }
# A field of a reply, which is a form.
field() { tr '&' '\n' | sed -n "s/^$1=//p"; }

REPLY=$(curl -sS "$BASE_URL/api/v2/create-card-ref/$ENDPOINT" \
  -d login="$LOGIN" -d client_orderid="$1" -d orderid="$2" -d control="$(control "$LOGIN$1$2")")
CARD=$(echo "$REPLY" | field card-ref-id)
if [ -z "$CARD" ]; then echo "not registered: $REPLY" && exit 1; fi
echo "registered as $CARD"

# The customer comes again, and pays without typing the card.
NAME=curl-$(date +%s)-$$
# The amount is signed in minor units: 3.50 is 350.
REPLY=$(curl -sS "$BASE_URL/api/v2/make-rebill-sale/$ENDPOINT" \
  -d login="$LOGIN" \
  -d client_orderid="$NAME" \
  -d cardrefid="$CARD" \
  -d order_desc=Laces \
  -d amount=3.50 \
  -d currency=USD \
  -d ipaddress=203.0.113.7 \
  -d recurrent_scenario=IRREGULAR \
  -d recurrent_initiator=CARDHOLDER \
  -d control="$(control "$LOGIN$NAME${CARD}350USD")")
ORDER=$(echo "$REPLY" | field gateway-order-id)
if [ -z "$ORDER" ]; then echo "refused: $REPLY" && exit 1; fi

STATUS=processing
while [ "$STATUS" = processing ] || [ "$STATUS" = unknown ]; do
  sleep 1
  STATUS=$(curl -sS "$BASE_URL/api/v2/status/$ENDPOINT" \
    -d login="$LOGIN" -d client_orderid="$NAME" -d orderid="$ORDER" \
    -d control="$(control "$LOGIN$NAME$ORDER")" | field status)
done
echo "paid again: $STATUS"
