#!/bin/sh
# Whether a callback is genuine, for a web server that starts scripts (CGI). Such a server puts the
# query and the headers into variables. CONTROL_KEY and SIGNING_SECRET are the merchant's.
set -eu

PAYLOAD=$QUERY_STRING
if [ "$REQUEST_METHOD" = POST ]; then PAYLOAD=$(cat); fi
field() { printf %s "$PAYLOAD" | tr '&' '\n' | sed -n "s/^$1=//p" | tail -n 1; }
refuse() { printf 'Status: 400\n\n%s\n' "$1" && exit 1; }

# HMAC-SHA256 as Standard Webhooks describes it.
SECRET=$(printf %s "${SIGNING_SECRET#whsec_}" | openssl base64 -d -A | od -An -tx1 | tr -d ' \n')
SIGNED=$(printf %s "$HTTP_WEBHOOK_ID.$HTTP_WEBHOOK_TIMESTAMP.$PAYLOAD" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$SECRET" -binary | openssl base64 -A)
case " $HTTP_WEBHOOK_SIGNATURE " in *" v1,$SIGNED "*) ;; *) refuse 'its signature does not hold' ;; esac
AGE=$(($(date +%s) - HTTP_WEBHOOK_TIMESTAMP))
if [ "$AGE" -gt 300 ] || [ "$AGE" -lt -300 ]; then refuse 'it is older than five minutes'; fi

# The checksum: SHA-1 of status, both ids and the key.
CONTROL=$(printf %s "$(field status)$(field orderid)$(field client_orderid)$CONTROL_KEY" | openssl dgst -sha1 -r | cut -d ' ' -f 1)
if [ "$(field control)" != "$CONTROL" ]; then refuse 'its control does not match'; fi

# Look the order up by both ids, and ask status before you ship.
printf 'Status: 200\n\n%s %s %s\n' "$(field type)" "$(field status)" "$(field amount)"
