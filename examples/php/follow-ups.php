<?php

// A preauthorisation is captured in part and refunded in part; a sale is voided.

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

$client = new Tollgate\Client($settings);

$held = $client->preauth(['client_orderid' => newName()] + $payment);
echo 'preauth 10.42: ', inWords($client->finish($held)), "\n";

$captured = $client->capture(['amount' => '8.00', 'currency' => 'USD'] + $held->order());
echo 'capture 8.00: ', inWords($client->finish($captured)), "\n";

$part = ['amount' => '3.00', 'currency' => 'USD', 'comment' => 'one shoe'] + $held->order();
$idempotencyKey = bin2hex(random_bytes(16));
$returned = $client->return($part, $idempotencyKey);
echo 'return 3.00: ', inWords($client->finish($returned)), "\n";
// Sent again under the same key, it moves nothing.
echo 'the same again: ', inWords($client->finish($client->return($part, $idempotencyKey))), "\n";
try {
    $client->return(['amount' => '5.01'] + $part);
} catch (Tollgate\Refused $refused) {
    echo "return 5.01: refused: {$refused->getCode()} {$refused->getMessage()}\n";
}

$sale = $client->sale(['client_orderid' => newName()] + $payment);
echo 'sale: ', inWords($client->finish($sale)), "\n";
$voided = $client->void(['comment' => 'out of stock'] + $sale->order());
echo 'void: ', inWords($client->finish($voided)), "\n";
$seen = $client->status(['by-request-sn' => $voided->serialNumber] + $sale->order());
echo "$seen->transactionType, $seen->stage\n";
