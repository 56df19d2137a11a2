<?php

// What became of an order. Its name is enough, when the reply to the sale was lost.

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

$client = new Tollgate\Client($settings);
$name = newName();
$client->finish($client->sale($payment + ['client_orderid' => $name]));

try {
    $order = $client->status(['client_orderid' => $name]);
    echo "{$order->status}: {$order->stage}\n";
} catch (Tollgate\Refused $refused) {
    echo "refused: {$refused->getCode()} {$refused->getMessage()}\n";
}
