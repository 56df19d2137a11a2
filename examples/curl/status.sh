#!/bin/sh
# Asks what became of an order: sh status.sh <client_orderid>
# BASE_URL, LOGIN, CONTROL_KEY and ENDPOINT are the merchant's: sandbox.json has them.
set -eu

# The checksum of a request: SHA-1 of its parts and the key, with nothing between them.
control() { printf %s "$1$CONTROL_KEY" | openssl dgst -sha1 -r | cut -d ' ' -f 1; }

# Without the orderid, which you do not know when the reply to the sale was lost.
curl -sS "$BASE_URL/api/v2/status/$ENDPOINT" \
  -d login="$LOGIN" \
  -d client_orderid="$1" \
  -d control="$(control "$LOGIN$1")" |
  tr '&' '\n' | grep -E '^(type|status|order-stage|error-code|error-message)='
