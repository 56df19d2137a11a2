<?php

// Stores the card of a payment, which then pays.

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

$client = new Tollgate\Client($settings);
$first = $client->sale(['client_orderid' => newName()] + $payment);
echo 'first payment: ', inWords($client->finish($first)), "\n";

try {
    $kept = $client->createCardRef($first->order());
} catch (Tollgate\NotRegistered $problem) {
    exit("not registered: {$problem->getCode()}\n");
}
$info = $client->getCardInfo(['cardrefid' => $kept->cardRefId]);
echo "registered: {$info->bin}…{$info->lastFourDigits}\n";

// The customer comes again, and pays without typing the card.
$again = $client->makeRebillSale([
    'client_orderid' => newName(),
    'cardrefid' => $kept->cardRefId,
    'order_desc' => 'Laces',
    'amount' => '3.50',
    'currency' => 'USD',
    'ipaddress' => '203.0.113.7',
    'recurrent_scenario' => 'IRREGULAR',
    'recurrent_initiator' => 'CARDHOLDER',
]);
echo 'paid again: ', inWords($client->finish($again)), "\n";
