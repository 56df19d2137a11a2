#!/bin/sh
# What a merchant's server signs for its app: sh mobile-signature.sh <value>…
# CONTROL_KEY is the merchant's: sandbox.json has it.
set -eu

# HMAC-SHA1 of the values, with nothing between them. Its key is the control key without dashes.
# For a sale: access token, serial number, endpoint id, nonce, invoice id, amount in hundredths,
# currency.
KEY=$(printf %s "$CONTROL_KEY" | tr -d -)
printf %s "$@" | openssl dgst -sha1 -mac HMAC -macopt "hexkey:$KEY" -r | cut -d ' ' -f 1 | tr a-f A-F
