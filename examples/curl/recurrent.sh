#!/bin/sh
# Charges a stored card each month: sh recurrent.sh <cardrefid>
# BASE_URL, LOGIN, CONTROL_KEY and ENDPOINT are the merchant's: sandbox.json has them.
set -eu

# The checksum of a request: SHA-1 of its parts and the key, with nothing between them.
control() { printf %s "$1$CONTROL_KEY" | openssl dgst -sha1 -r | cut -d ' ' -f 1; }
# A field of a reply, which is a form.
field() { tr '&' '\n' | sed -n "s/^$1=//p"; }

NAME=curl-$(date +%s)-$$
# The amount is signed in minor units: 10.42 is 1042.
REPLY=$(curl -sS "$BASE_URL/api/v2/make-rebill-sale/$ENDPOINT" \
  -d login="$LOGIN" \
  -d client_orderid="$NAME" \
  -d cardrefid="$1" \
  --data-urlencode order_desc='Shoes, monthly' \
  -d amount=10.42 \
  -d currency=USD \
  -d ipaddress=203.0.113.7 \
  -d recurrent_scenario=REGULAR \
  -d recurrent_initiator=MERCHANT \
  -d control="$(control "$LOGIN$NAME${1}1042USD")")
ORDER=$(echo "$REPLY" | field gateway-order-id)
if [ -z "$ORDER" ]; then echo "refused: $REPLY" && exit 1; fi

STATUS=processing
while [ "$STATUS" = processing ] || [ "$STATUS" = unknown ]; do
  sleep 1
  STATUS=$(curl -sS "$BASE_URL/api/v2/status/$ENDPOINT" \
    -d login="$LOGIN" -d client_orderid="$NAME" -d orderid="$ORDER" \
    -d control="$(control "$LOGIN$NAME$ORDER")" | field status)
done
echo "$STATUS: order $ORDER"
