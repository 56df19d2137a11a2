<?php

// What the PHP client makes of client/php/vectors.json, as JSON: the test compares.

declare(strict_types=1);

use Tollgate\Client;
use Tollgate\Form;
use Tollgate\Key;
use Tollgate\NotGenuine;
use Tollgate\Signature;
use Tollgate\Time;

$root = $argv[1];
require "$root/client/php/Tollgate.php";
$vectors = json_decode(file_get_contents("$root/client/php/vectors.json"), true);
$login = $vectors['login'];
$secret = new Key($vectors['signing_secret']);

final class FixedTime extends Time
{
    /** @var int */
    private $seconds;

    public function __construct(int $seconds)
    {
        $this->seconds = $seconds;
    }

    public function seconds(): int
    {
        return $this->seconds;
    }
}

function minorUnits(array $one): ?string
{
    try {
        return Signature::minorUnits($one['amount'], $one['currency'], $one['units']);
    } catch (InvalidArgumentException $refused) {
        return null;
    }
}

function isGenuine(array $one, array $vectors, string $method): bool
{
    $key = $one['key'];
    $isPublic = $key !== null && strpos($key, 'whpk_') === 0;
    $keys = $key === null ? [] : [$isPublic ? 'callback_public_key' : 'signing_secret' => $key];
    $settings = ['base_url' => 'http://127.0.0.1', 'login' => $vectors['login'], 'endpoint' => $vectors['id']];
    $client = new Client($keys + $settings + ['control_key' => $vectors['control_key']], new FixedTime($one['seconds']));
    // Once as getallheaders() has them, once as $_SERVER has.
    $server = [];
    foreach ($one['headers'] as $name => $value) {
        $server['HTTP_' . strtoupper(strtr($name, '-', '_'))] = $value;
    }
    $holds = array_map(function (array $headers) use ($client, $one, $method): bool {
        try {
            $client->$method($one['text'], $one['expected'], $headers);
            return true;
        } catch (NotGenuine $problem) {
            return false;
        }
    }, [$one['headers'], $server]);
    return $holds[0] === $holds[1] ? $holds[0] : !$one['genuine'];
}

$made = [
    'minor_units' => array_map('minorUnits', $vectors['minor_units']),
    'controls' => array_map(function (array $one) use ($vectors): array {
        $text = Signature::text($one['operation'], $one['fields'], $vectors['id'], $vectors['login'], $one['units']);
        return [$text, Signature::control($text, new Key($vectors['control_key']))];
    }, $vectors['controls']),
    'forms' => array_map(function (array $one): ?array {
        $fields = Form::read($one['text']);
        return $fields === null ? null : array_map(null, array_map('strval', array_keys($fields)), array_values($fields));
    }, $vectors['forms']),
    'oauth' => array_map(function (array $one) use ($login): string {
        return Signature::oauthText($one['url'], Signature::oauthParams($login, $one['nonce'], $one['seconds']) + $one['body']);
    }, $vectors['oauth']),
    'messages' => array_map(function (array $one) use ($login, $secret): array {
        return Signature::messageHeaders($one['url'], $one['body'], $one['headers'], $login, $secret, $one);
    }, $vectors['messages']),
];
foreach (['callbacks' => 'readCallback', 'returns' => 'readReturn'] as $name => $method) {
    $made[$name] = array_map(function (array $one) use ($vectors, $method): bool {
        return isGenuine($one, $vectors, $method);
    }, $vectors[$name]);
}
$made['written'] = Form::read(Form::write(['a b' => "ü+%&=\n~*", 'c.d[]' => '1']));
echo json_encode($made, JSON_THROW_ON_ERROR);
