<?php

// What the examples share: the sandbox that runs on this machine, and a customer with a test card.

declare(strict_types=1);

require_once __DIR__ . '/../../client/php/Tollgate.php';

$path = (getenv('TOLLGATE_DIR') ?: '.tollgate') . '/sandbox.json';
if (!is_file($path)) {
    error_log("No sandbox runs here: there is no $path. Start one with npm start, or name its directory in TOLLGATE_DIR.");
    exit(2);
}
$sandbox = json_decode((string) file_get_contents($path), true);

/** How the merchant of the sandbox is reached. */
$settings = [
    'base_url' => $sandbox['base_url'],
    'login' => $sandbox['merchant']['login'],
    'control_key' => $sandbox['merchant']['control_key'],
    'signing_secret' => $sandbox['merchant']['signing_secret'],
    'endpoint' => $sandbox['endpoints']['plain'],
];
$oauthKey = (string) file_get_contents($sandbox['merchant']['oauth_private_key_file']);

/** Everything of a payment but its name. */
$payment = [
    'order_desc' => 'Shoes',
    'amount' => '10.42',
    'currency' => 'USD',
    'email' => 'jane@example.com',
    'ipaddress' => '203.0.113.7',
    'credit_card_number' => '4111111111111111',
    'card_printed_name' => 'JANE DOE',
    'expire_month' => 12,
    'expire_year' => (int) date('Y') + 2,
    'cvv2' => '123',
];

function newName(): string
{
    return 'example-' . bin2hex(random_bytes(8));
}

/** An ending in a line. */
function inWords(Tollgate\Ending $ending): string
{
    if ($ending->is !== Tollgate\Ending::FINAL) {
        return $ending->is;
    }
    $order = $ending->order;
    return $order->errorCode === null ? $order->status : "$order->status: $order->errorCode $order->errorMessage";
}
