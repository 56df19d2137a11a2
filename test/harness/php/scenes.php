<?php

// What a test has the PHP client do: php scenes.php ROOT SCENE, with settings and more as JSON on
// standard input. Prints JSON, or the texts that a merchant's log would have.

declare(strict_types=1);

use Tollgate\Client;
use Tollgate\InDoubt;
use Tollgate\Problem;
use Tollgate\Time;

// As on a machine of a developer, where stack traces show arguments.
ini_set('zend.exception_ignore_args', '0');
ini_set('zend.exception_string_param_max_len', '1000');
require "$argv[1]/client/php/Tollgate.php";

/** Pauses take no time, and are noted. */
final class HandTime extends Time
{
    /** @var int[] */
    public $pauses = [];

    public function now(): int
    {
        return (int) array_sum($this->pauses);
    }

    public function pause(int $ms): void
    {
        $this->pauses[] = $ms;
    }
}

/** Where something was thrown with what, as a log would have it. */
function printed(Throwable $thrown): string
{
    $trace = PHP_VERSION_ID >= 80200 ? print_r($thrown->getTrace(), true) : '';
    return get_class($thrown) . "\n$thrown\n$trace";
}

/** An exception's kind and message, or nothing. */
function problemOf(callable $act): ?array
{
    try {
        $act();
        return null;
    } catch (Throwable $thrown) {
        return [get_class($thrown), $thrown->getMessage()];
    }
}

$asked = json_decode((string) stream_get_contents(STDIN), true);
$sale = $asked['sale'] ?? [];
$time = new HandTime();

$scenes = [
    // Everything that a stack trace and a dump of the client show.
    'traces' => function () use ($asked, $sale, $time): void {
        $client = new Client($asked['settings'], $time);
        $acts = [
            function () use ($client, $sale) {
                return $client->sale($sale);
            },
            function () use ($client, $sale) {
                return $client->sale(['amount' => '10.423'] + $sale);
            },
            function () use ($client, $sale) {
                return $client->sale(['amount' => 10.42] + $sale);
            },
            function () use ($client) {
                return $client->statusV4(['client_orderid' => 'x']);
            },
            function () use ($client) {
                return serialize($client);
            },
            function () use ($asked) {
                return new Client(['signing_secret' => 'whsec_' . $asked['settings']['control_key']] + $asked['settings']);
            },
        ];
        foreach ($acts as $act) {
            try {
                $act();
                echo "nothing is thrown\n";
            } catch (Throwable $thrown) {
                echo printed($thrown);
            }
        }
        print_r($client);
        var_dump($client);
        echo json_encode($client);
    },
    // What each request throws that nothing is sent of.
    'misuse' => function () use ($asked, $sale): void {
        $client = new Client($asked['settings']);
        $of = function (array $changes, ?string $key = null) use ($client, $sale): ?array {
            return problemOf(function () use ($client, $changes, $sale, $key) {
                $client->sale($changes + $sale, $key);
            });
        };
        $open = function (array $changes) use ($asked): ?array {
            return problemOf(function () use ($asked, $changes) {
                new Client($changes + $asked['settings']);
            });
        };
        echo json_encode([
            $of(['amount' => 10.5]), $of(['amount' => 10]), $of(['amount' => '10.505']), $of(['amount' => '-1']),
            $of(['email' => ['a']]), $of([], 'one two'), $of([], ''),
            $open(['signing_secert' => 'x']), $open(['group' => 2]), $open(['control_key' => null]),
            $open(['signing_secret' => 'whsec_AAAA']), $open(['callback_public_key' => 'whpk_AAAA']),
        ]);
    },
    // A sale at each address: the problem, and how finish ends on a clock that is moved.
    'sale' => function () use ($asked, $sale, $time): void {
        $client = new Client($asked['settings'], $time);
        try {
            $client->sale($sale);
            echo json_encode(['accepted']);
        } catch (Problem $problem) {
            $ending = $problem instanceof InDoubt && isset($asked['finish']) ? $client->finish($problem)->is : null;
            echo json_encode([get_class($problem), $problem->getMessage(), $problem->getCode(), $ending, $time->now()]);
        }
    },
    // A capture whose answer is lost: finish hands the same exception back.
    'capture' => function () use ($asked): void {
        $client = new Client($asked['settings']);
        try {
            $client->capture(['client_orderid' => 'x', 'orderid' => '1']);
        } catch (InDoubt $lost) {
            echo json_encode(problemOf(function () use ($client, $lost) {
                $client->finish($lost);
            }));
        }
    },
    // 3-D Secure by the pages of the shop, until the method of the issuer is reported.
    'method' => function () use ($asked, $sale): void {
        $client = new Client($asked['settings']);
        $waiting = $client->finish($client->sale($sale));
        $step = $waiting->order->step;
        $uploaded = $client->uploadMethodUrlResult([
            'threeDSServerTransID' => $step->threeDSServerTransID(),
            'threeDSCompInd' => 'Y',
        ] + $asked['browser'] + $waiting->order->order());
        $ending = $client->finish($uploaded, $step->is);
        $form = $step->form('https://shop.example/done');
        echo json_encode([$waiting->is, $step->is, array_keys($form['fields']), $ending->order->status]);
    },
    // What a callback says, or why it is not believed.
    'callback' => function () use ($asked): void {
        $client = new Client($asked['settings']);
        try {
            $callback = $client->readCallback($asked['text'], $asked['order'], $asked['headers']);
            echo json_encode([$callback->status, $callback->type, $callback->amount]);
        } catch (Problem $problem) {
            echo json_encode([get_class($problem), $problem->getMessage()]);
        }
    },
    // Keys that are not the merchant's.
    'stranger' => function () use ($asked, $sale): void {
        $client = new Client($asked['settings']);
        $order = ['client_orderid' => 'x', 'orderid' => '1'];
        echo json_encode([
            problemOf(function () use ($client, $sale) {
                $client->sale($sale);
            }),
            problemOf(function () use ($client, $order) {
                $client->statusV4($order);
            }),
        ]);
    },
];
$scenes[$argv[2]]();
