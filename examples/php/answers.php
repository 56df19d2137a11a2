<?php

// Every way a sale can be answered, and what a shop does about each.

declare(strict_types=1);

require __DIR__ . '/sandbox.php';

$client = new Tollgate\Client($settings);

/** What to do now with an order of this name. */
function next_step(Tollgate\Client $client, array $request): string
{
    try {
        $ending = $client->finish($client->sale($request));
    } catch (Tollgate\Refused $refused) {
        return "mend the request: {$refused->getCode()} {$refused->getMessage()}";
    } catch (Tollgate\InDoubt $lost) {
        $ending = $client->finish($lost);
    }
    switch ($ending->is) {
        case Tollgate\Ending::FINAL:
            return $ending->isApproved() ? 'ship the shoes' : "show the customer: {$ending->order->errorMessage}";
        case Tollgate\Ending::CARDHOLDER:
            return "send the customer to {$ending->order->step->redirectTo}";
        case Tollgate\Ending::NOT_FOUND:
            return 'nothing was charged: send the same request again';
        default:
            return 'wait for the callback, or finish again later';
    }
}

foreach ([[], ['cvv2' => '116'], ['email' => 'nowhere'], ['currency' => 'KWD', 'amount' => '1.234']] as $changes) {
    echo next_step($client, $changes + ['client_orderid' => newName()] + $payment), "\n";
}
