#!/bin/sh
# Returns a part of a payment: sh return.sh <client_orderid> <orderid> <amount>
# BASE_URL, LOGIN, CONTROL_KEY and ENDPOINT are the merchant's: sandbox.json has them.
set -eu

# The checksum of a request: SHA-1 of its parts and the key, with nothing between them.
control() { printf %s "$1$CONTROL_KEY" | openssl dgst -sha1 -r | cut -d ' ' -f 1; }
# A field of a reply, which is a form.
field() { tr '&' '\n' | sed -n "s/^$1=//p"; }

# The amount is signed in minor units: 4.00 is 400.
MINOR=$(printf %s "$3" | tr -d . | sed 's/^0*//')
REPLY=$(curl -sS "$BASE_URL/api/v2/return/$ENDPOINT" \
  -d login="$LOGIN" \
  -d client_orderid="$1" \
  -d orderid="$2" \
  -d amount="$3" \
  -d currency=USD \
  -d control="$(control "$LOGIN$1$2${MINOR}USD")")
if [ "$(echo "$REPLY" | field type)" != async-response ]; then echo "refused: $REPLY" && exit 1; fi

# The serial number of the reply names the return, beside the sale.
SERIAL=$(echo "$REPLY" | field serial-number)
STATUS=processing
while [ "$STATUS" = processing ] || [ "$STATUS" = unknown ]; do
  sleep 1
  STATUS=$(curl -sS "$BASE_URL/api/v2/status/$ENDPOINT" \
    -d login="$LOGIN" -d client_orderid="$1" -d orderid="$2" -d by-request-sn="$SERIAL" \
    -d control="$(control "$LOGIN$1$2")" | field status)
done
echo "return $3: $STATUS"
