<?php

// An app verifies a card, pays with it, and sends money from it.

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

/** The client has the API of shops alone; an app posts JSON. */
function post(string $url, array $body): array
{
    $http = ['method' => 'POST', 'header' => 'content-type: application/json', 'content' => json_encode($body), 'timeout' => 30];
    return json_decode((string) file_get_contents($url, false, stream_context_create(['http' => $http])), true);
}

$gateway = $sandbox['base_url'];
$server = $sandbox['merchant_server_url'];
// Your own server signs its consumers in. That of the sandbox accepts any name.
$token = post("$server/auth/request-access-token", ['consumer' => 'jane'])['session']['accessToken'];
$device = ['serialNumber' => 'phone-1'];
$card = [
    'number' => '4111111111111111',
    'expiry' => ['month' => 12, 'year' => (int) date('Y') + 4],
    'securityCode' => '123',
    'holder' => ['printedName' => 'JANE DOE'],
];
// Amounts are in hundredths: 1042 is 10.42.
$money = ['amountCentis' => 1042, 'currency' => 'USD'];

$run = function (string $kind, string $initiate, array $body) use ($gateway, $server, $token, $device): void {
    // The merchant's server makes an invoice and signs it. It never sees a card.
    $openly = ['consumer' => ['device' => $device], 'transaction' => $body['transaction']];
    $begun = post("$server/$initiate", $openly + ['session' => ['accessToken' => $token]]);

    // The gateway gets the card, and asks the merchant's server whether the invoice is genuine.
    $url = "$gateway/dapi/v1/$kind/{$begun['endpointId']}/{$begun['invoiceId']}";
    $consumer = ['device' => $device, 'email' => 'jane@example.com'];
    $performed = post($url, $body + ['consumer' => $consumer, 'session' => ['accessToken' => $token] + $begun['session']]);

    $asked = ['session' => ['accessToken' => $token, 'token' => $performed['session']['token']]];
    $opened = null;
    while (!in_array(($seen = post("$url/status", $asked))['state'], ['APPROVED', 'DECLINED'], true)) {
        // There the issuer authenticates the cardholder.
        if (!in_array($seen['redirectUrl'] ?? null, [null, $opened], true)) {
            $opened = $seen['redirectUrl'];
            echo "open in a web view: $opened\n";
        }
        usleep(500_000);
    }
    echo "$kind: {$seen['state']}\n";
};

$source = ['sourceOfFunds' => ['card' => $card], 'transaction' => $money];
$destination = ['destinationOfFunds' => ['card' => ['number' => '5555555555554444']]];
$run('verification', 'verification/initiate-verification', ['sourceCard' => $card, 'transaction' => ['currency' => 'USD']]);
$run('sale', 'transfer/initiate-sale', $source);
$run('transfer', 'transfer/initiate-transfer', $source + $destination);
