#!/bin/sh
# An app verifies a card, pays with it, and sends money from it.
# BASE_URL and MERCHANT_SERVER_URL are those of sandbox.json.
set -eu

# A text of a JSON object, by its name.
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

# Your own server signs its consumers in. That of the sandbox accepts any name.
TOKEN=$(curl -sS "$MERCHANT_SERVER_URL/auth/request-access-token?consumer=jane" | field accessToken)
DEVICE='"device": { "serialNumber": "phone-1" }'
CARD='{ "number": "4111111111111111", "expiry": { "month": 12, "year": '$(($(date +%Y) + 4))' },
  "securityCode": "123", "holder": { "printedName": "JANE DOE" } }'
# Amounts are in hundredths: 1042 is 10.42.
MONEY='{ "amountCentis": 1042, "currency": "USD" }'

# run <kind> <path at the merchant's server> <transaction> <cards>
run() {
  # The merchant's server makes an invoice and signs it. It never sees a card.
  BEGUN=$(curl -sS "$MERCHANT_SERVER_URL/$2" -H 'content-type: application/json' -d '{
    "consumer": { '"$DEVICE"' },
    "session": { "accessToken": "'"$TOKEN"'" },
    "transaction": '"$3"'
  }')
  NONCE=$(echo "$BEGUN" | field nonce)
  SIGNATURE=$(echo "$BEGUN" | field signature)

  # The gateway gets the card, and asks the merchant's server whether the invoice is genuine.
  URL="$BASE_URL/dapi/v1/$1/$(echo "$BEGUN" | field endpointId)/$(echo "$BEGUN" | field invoiceId)"
  SESSION=$(curl -sS "$URL" -H 'content-type: application/json' -d '{
    "consumer": { '"$DEVICE"', "email": "jane@example.com" },
    "session": { "accessToken": "'"$TOKEN"'", "nonce": "'"$NONCE"'", "signature": "'"$SIGNATURE"'" },
    '"$4"',
    "transaction": '"$3"'
  }' | field token)

  STATE=PROCESSING
  OPENED=
  until [ "$STATE" = APPROVED ] || [ "$STATE" = DECLINED ]; do
    sleep 1
    SEEN=$(curl -sS "$URL/status" -H 'content-type: application/json' \
      -d '{ "session": { "accessToken": "'"$TOKEN"'", "token": "'"$SESSION"'" } }')
    STATE=$(echo "$SEEN" | field state)
    REDIRECT=$(echo "$SEEN" | field redirectUrl)
    # There the issuer authenticates the cardholder.
    if [ -n "$REDIRECT" ] && [ "$REDIRECT" != "$OPENED" ]; then
      OPENED=$REDIRECT
      echo "open in a web view: $OPENED"
    fi
  done
  echo "$1: $STATE"
}

run verification verification/initiate-verification '{ "currency": "USD" }' '"sourceCard": '"$CARD"
run sale transfer/initiate-sale "$MONEY" '"sourceOfFunds": { "card": '"$CARD"' }'
run transfer transfer/initiate-transfer "$MONEY" '"sourceOfFunds": { "card": '"$CARD"' },
    "destinationOfFunds": { "card": { "number": "5555555555554444" } }'
