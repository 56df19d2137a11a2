<?php

// A sale without 3-D Secure: the request, and what became of it.

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

$client = new Tollgate\Client($settings);
try {
    $sale = $client->sale([
        'client_orderid' => newName(),
        'order_desc' => 'Shoes',
        'amount' => '10.42',
        'currency' => 'USD',
        'email' => 'jane@example.com',
        'ipaddress' => '203.0.113.7',
        'credit_card_number' => '4111111111111111',
        'card_printed_name' => 'JANE DOE',
        'expire_month' => 12,
        'expire_year' => (int) date('Y') + 4,
        'cvv2' => '123',
    ]);
} catch (Tollgate\InDoubt $sale) {
    // The answer is lost, and the order may exist: finish looks for it by its name.
    echo "no answer to the sale\n";
}
$ending = $client->finish($sale);
echo $ending->is === Tollgate\Ending::FINAL
    ? "{$ending->order->status}: order {$ending->order->orderid}\n"
    : "$ending->is\n";
