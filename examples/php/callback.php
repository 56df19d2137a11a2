<?php

// The page of a shop that receives callbacks: php -S 127.0.0.1:8000 examples/php/callback.php
// A callback is a reason to ask for the status. Believe that reply.

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

$client = new Tollgate\Client($settings);

// A long callback comes as a form, any other as a query. Pass it on as it came.
$isForm = $_SERVER['REQUEST_METHOD'] === 'POST';
$said = $isForm ? (string) file_get_contents('php://input') : $_SERVER['REQUEST_URI'];
$named = Tollgate\Client::orderNamedIn($said);
try {
    // In your shop: is there an order of this name? Which orderid did the gateway give it?
    $known = $client->status(['client_orderid' => $named['client_orderid'] ?? 'none']);
    $callback = $client->readCallback($said, $known->order(), $_SERVER);
    $seen = $client->status($callback->order());
    error_log("$callback->type $seen->status {$seen->fields['amount']}");
} catch (Tollgate\NotGenuine $problem) {
    error_log("not genuine: {$problem->getMessage()}");
} catch (Tollgate\Refused $problem) {
    error_log("no order of this shop: {$problem->getMessage()}");
} catch (Tollgate\InDoubt $problem) {
    // The gateway calls again later.
    http_response_code(503);
}
