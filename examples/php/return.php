<?php

// A part of a payment is returned, and then the rest; a request for more is refused.

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

$client = new Tollgate\Client($settings);

$sale = $client->sale(['client_orderid' => newName()] + $payment);
echo 'sale 10.42: ', inWords($client->finish($sale)), "\n";

$part = $client->return(['amount' => '4.00', 'currency' => 'USD'] + $sale->order());
echo 'return 4.00: ', inWords($client->finish($part)), "\n";

try {
    $client->return(['amount' => '7.00', 'currency' => 'USD'] + $sale->order());
} catch (Tollgate\Refused $refused) {
    echo "return 7.00: refused: {$refused->getCode()} {$refused->getMessage()}\n";
}

// Without an amount, all that is left is returned.
$rest = $client->return($sale->order());
echo 'the rest: ', inWords($client->finish($rest)), "\n";
