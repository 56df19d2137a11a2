<?php

// A card is registered, by checksum and by OAuth, and charged again.

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

$client = new Tollgate\Client($settings);

$first = $client->sale(['client_orderid' => newName()] + $payment);
echo 'first payment: ', inWords($client->finish($first)), "\n";
$registered = $client->createCardRef($first->order());
$info = $client->getCardInfo(['cardrefid' => $registered->cardRefId]);
echo "$info->printedName, {$info->bin}…{$info->lastFourDigits}\n";

$again = ['cardrefid' => $registered->cardRefId, 'order_desc' => 'Shoes, monthly', 'currency' => 'USD', 'ipaddress' => '203.0.113.7'];
$monthly = $client->makeRebillSale([
    'client_orderid' => newName(),
    'amount' => '10.42',
    'recurrent_scenario' => 'REGULAR',
    'recurrent_initiator' => 'MERCHANT',
] + $again);
echo 'by the merchant: ', inWords($client->finish($monthly)), "\n";

$held = $client->makeRebillPreauth(['client_orderid' => newName(), 'amount' => '5.00'] + $again);
echo 'held: ', inWords($client->finish($held)), "\n";

$declined = $client->sale(['client_orderid' => newName(), 'cvv2' => '116'] + $payment);
$client->finish($declined);
try {
    $client->createCardRef($declined->order());
} catch (Tollgate\NotRegistered $problem) {
    echo "not registered: {$problem->getCode()}\n";
}

$v4 = new Tollgate\Client(['oauth_key' => $oauthKey] + $settings);
$kept = $v4->createCardRefV4($first->order());
echo 'by v4 the same card: ', var_export($kept->cardRefId === $registered->cardRefId, true), "\n";
echo 'by v4: ', $v4->statusV4($first->order())->stage, "\n";
