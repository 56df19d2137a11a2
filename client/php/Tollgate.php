<?php

/**
 * A merchant's client of the gateway API in one file: copy it into your shop. README.md beside it
 * shows each operation. It needs PHP 7.4 or newer and the bundled extensions curl and json; calls
 * of v4 also need openssl, and callbacks that are verified by a public key need sodium.
 *
 * An attribute stands on a line of its own, where PHP 7.4 reads it as a comment.
 */

declare(strict_types=1);

namespace Tollgate;

/**
 * The operations by their names. A request is an array with the field names of the interface; the
 * client adds `login` and `control`. An amount is a string such as '10.50', never a float.
 *
 * Thrown are a Problem for what the gateway or the way to it did, and an InvalidArgumentException
 * for a request that cannot be signed, before anything is sent.
 */
final class Client
{
    /** Every setting, and whether it has to be there. */
    private const SETTINGS = [
        'base_url' => true,
        'login' => true,
        'control_key' => true,
        'endpoint' => false,
        'group' => false,
        'signing_secret' => false,
        'callback_public_key' => false,
        'oauth_key' => false,
        'control_minor_units' => false,
        'timeout_ms' => false,
        'ca_file' => false,
    ];

    /** Quick while a plain payment ends, then as a cardholder waits: until when, and how often. */
    private const INTERVALS_MS = [2000 => 250, 15000 => 1000, 120000 => 2000];
    private const LATER_EVERY_MS = 10000;
    private const USUAL_LIMIT_MS = 120000;
    /** A request that was not answered may still be on its way. */
    private const LOST_WITHIN_MS = 15000;
    private const ORDER_NOT_FOUND = 6;

    /** @var array<string, mixed> */
    private $settings;
    /** @var Time */
    private $time;

    /** @param array<string, mixed> $settings see the table in README.md */
    public function __construct(
        #[\SensitiveParameter]
        array $settings,
        ?Time $time = null
    ) {
        foreach (self::SETTINGS as $name => $isNeeded) {
            if ($isNeeded && !is_string($settings[$name] ?? null)) {
                throw new \InvalidArgumentException("the setting $name is missing, or no string");
            }
        }
        $unknown = array_diff(array_keys($settings), array_keys(self::SETTINGS));
        if ($unknown !== []) {
            throw new \InvalidArgumentException('there is no setting ' . implode(', ', $unknown));
        }
        if (isset($settings['endpoint']) === isset($settings['group'])) {
            throw new \InvalidArgumentException('the settings need an endpoint or a group, and not both');
        }
        foreach (['signing_secret' => 'secretOf', 'callback_public_key' => 'publicKeyOf'] as $name => $reader) {
            if (isset($settings[$name])) {
                Signature::$reader($settings[$name]);
            }
        }
        $this->settings = $settings;
        $this->time = $time ?? new Time();
    }

    /** What is printed of a client shows no key. */
    public function __debugInfo(): array
    {
        return array_intersect_key($this->settings, ['base_url' => 1, 'login' => 1, 'endpoint' => 1, 'group' => 1]);
    }

    public function __serialize(): array
    {
        throw new \LogicException('a client has keys in it, and is not serialised');
    }

    /** Charges a card. */
    public function sale(
        #[\SensitiveParameter]
        array $request,
        ?string $idempotencyKey = null
    ): Accepted {
        return $this->begin('sale', $request, $idempotencyKey);
    }

    /** Holds an amount on a card, to be captured later. */
    public function preauth(
        #[\SensitiveParameter]
        array $request,
        ?string $idempotencyKey = null
    ): Accepted {
        return $this->begin('preauth', $request, $idempotencyKey);
    }

    /** Asks the issuer whether a card is good, and charges nothing. */
    public function accountVerification(
        #[\SensitiveParameter]
        array $request,
        ?string $idempotencyKey = null
    ): Accepted {
        return $this->begin('account-verification', $request, $idempotencyKey);
    }

    /** Charges a registered card. */
    public function makeRebillSale(
        #[\SensitiveParameter]
        array $request,
        ?string $idempotencyKey = null
    ): Accepted {
        return $this->begin('make-rebill-sale', $request, $idempotencyKey);
    }

    /** Holds an amount on a registered card. */
    public function makeRebillPreauth(
        #[\SensitiveParameter]
        array $request,
        ?string $idempotencyKey = null
    ): Accepted {
        return $this->begin('make-rebill-preauth', $request, $idempotencyKey);
    }

    /** Another name of makeRebillSale. */
    public function makeRebill(
        #[\SensitiveParameter]
        array $request,
        ?string $idempotencyKey = null
    ): Accepted {
        return $this->begin('make-rebill', $request, $idempotencyKey);
    }

    /** Takes what a preauthorisation holds; without amount and currency all of it. */
    public function capture(array $request, ?string $idempotencyKey = null): Accepted
    {
        return $this->begin('capture', $request, $idempotencyKey);
    }

    /** Refunds a payment; without amount and currency all that is left. */
    public function return(array $request, ?string $idempotencyKey = null): Accepted
    {
        return $this->begin('return', $request, $idempotencyKey);
    }

    /** Undoes a payment as a whole. */
    public function void(array $request, ?string $idempotencyKey = null): Accepted
    {
        return $this->begin('void', $request, $idempotencyKey);
    }

    /** Reports that the method of the issuer is over, and what the browser is. */
    public function uploadMethodUrlResult(array $request): Accepted
    {
        return $this->begin('upload-method-url-result', $request);
    }

    /** Uploads what the issuer posted after a challenge. */
    public function uploadCresResult(
        #[\SensitiveParameter]
        array $request
    ): Accepted {
        return $this->begin('upload-cres-result', $request);
    }

    /** Uploads the answer of the issuer by 3-D Secure 1.0.2. */
    public function uploadParesResult(
        #[\SensitiveParameter]
        array $request
    ): Accepted {
        return $this->begin('upload-pares-result', $request);
    }

    /** Where an order stands. Without `orderid` it is about the newest order of this name. */
    public function status(array $request): OrderStatus
    {
        return OrderStatus::from($this->call('status', $request), 'status', $request);
    }

    /** The same by v4, which is signed with OAuth. */
    public function statusV4(array $request): OrderStatus
    {
        return OrderStatus::from($this->call('status-v4', $request), 'status-v4', $request);
    }

    /** Registers the card of an approved payment. */
    public function createCardRef(array $order): Registered
    {
        return Registered::from($this->call('create-card-ref', $order));
    }

    /** The same by v4, which gives more ids. */
    public function createCardRefV4(array $order): Registered
    {
        return Registered::from($this->call('create-card-ref-v4', $order));
    }

    /** What may be shown of a registered card. */
    public function getCardInfo(array $request): CardInfo
    {
        return new CardInfo($this->call('get-card-info', $request));
    }

    /**
     * Asks for the status until the order is final or waits for the cardholder, also after a lost
     * answer. Throws InDoubt again for a capture, return or void: the order does not show whether
     * that request arrived, so send it again with its idempotency key.
     *
     * @param Accepted|InDoubt $asked
     * @param ?string $past the step that the cardholder has done, or 'every step' where the pages
     *     of the gateway lead through all
     */
    public function finish(Asked $asked, ?string $past = null, int $limitMs = self::USUAL_LIMIT_MS): Ending
    {
        if ($asked instanceof InDoubt) {
            $begins = Signature::OPERATIONS[$asked->operation][2] ?? null;
            if ($begins === 'transaction' || !isset($asked->request()['client_orderid'])) {
                throw $asked;
            }
        }
        $request = $asked->request();
        $began = $this->time->now();
        for ($seen = null;;) {
            $isUnknown = false;
            try {
                $seen = $this->status($request);
                if ($seen->isFinal()) {
                    return new Ending(Ending::FINAL, $seen);
                }
                if ($seen->step !== null && $past !== 'every step' && $past !== $seen->step->is) {
                    return new Ending(Ending::CARDHOLDER, $seen);
                }
            } catch (InDoubt $lost) {
                // This question was lost too. The next one may be answered.
            } catch (Refused $refused) {
                if ($refused->getCode() !== self::ORDER_NOT_FOUND || isset($request['orderid'])) {
                    throw $refused;
                }
                $isUnknown = true;
            }
            $elapsed = $this->time->now() - $began;
            if ($isUnknown && $elapsed >= self::LOST_WITHIN_MS) {
                return new Ending(Ending::NOT_FOUND, null);
            }
            $pause = self::pauseMs($elapsed);
            if ($elapsed + $pause > $limitMs) {
                return new Ending(Ending::OPEN, $seen);
            }
            $this->time->pause($pause);
        }
    }

    /**
     * Reads a callback, or throws NotGenuine. With the setting `signing_secret` or
     * `callback_public_key` its headers must sign every byte.
     *
     * @param string $text the URL of the request, its query, or the body of its form, as it came
     * @param array{client_orderid: string, orderid: string} $order as the shop knows it
     * @param array<string, mixed> $headers getallheaders(), $_SERVER, or those of a PSR-7 request
     */
    public function readCallback(string $text, array $order, array $headers = []): Callback
    {
        $query = Form::queryOf($text);
        $key = $this->settings['callback_public_key'] ?? $this->settings['signing_secret'] ?? null;
        if ($key !== null) {
            self::believe(Signature::webhookComplaint($query, $headers, new Key($key), $this->time->seconds()));
        }
        $fields = $this->readSigned($query, $order);
        if (!OrderStatus::isFinalStatus($fields['status'])) {
            self::believe('its status is "' . $fields['status'] . '"');
        }
        return new Callback($fields);
    }

    /**
     * Reads what the browser of a returning cardholder posted, or throws NotGenuine. With the
     * setting `signing_secret` the token of the gateway must prove it. Ask `status` before you
     * deliver: a browser may come late, or never.
     */
    public function readReturn(string $text, array $order): Callback
    {
        $fields = $this->readSigned(Form::queryOf($text), $order);
        if (isset($this->settings['signing_secret'])) {
            $key = new Key($this->settings['signing_secret']);
            self::believe(Signature::tokenComplaint($fields, $this->settings['login'], $key, $this->time->seconds()));
        }
        if ($fields['status'] !== 'processing' && !OrderStatus::isFinalStatus($fields['status'])) {
            self::believe('its status is "' . $fields['status'] . '"');
        }
        return new Callback($fields);
    }

    /**
     * The order that a callback claims to be about, to look up what the shop knows of it. Nothing
     * is checked yet: a stranger may have written it.
     *
     * @return ?array{client_orderid: string, orderid: string}
     */
    public static function orderNamedIn(string $text): ?array
    {
        $fields = Form::read(Form::queryOf($text)) ?? [];
        $order = ['client_orderid' => $fields['client_orderid'] ?? '', 'orderid' => $fields['orderid'] ?? ''];
        return in_array('', $order, true) ? null : $order;
    }

    private static function pauseMs(int $elapsed): int
    {
        foreach (self::INTERVALS_MS as $within => $every) {
            if ($elapsed < $within) {
                return $every;
            }
        }
        return self::LATER_EVERY_MS;
    }

    private static function believe(?string $complaint): void
    {
        if ($complaint !== null) {
            throw new NotGenuine($complaint);
        }
    }

    /** The fields of what the gateway sent, once their checksum holds and the order is the expected one. */
    private function readSigned(string $query, array $order): array
    {
        $fields = Form::read($query);
        self::believe($fields === null ? 'it cannot be decoded' : null);
        $fields += ['status' => '', 'orderid' => '', 'client_orderid' => '', 'control' => ''];
        self::believe($fields['control'] === '' ? 'it has no control' : null);
        $signed = $fields['status'] . $fields['orderid'] . $fields['client_orderid'];
        $control = Signature::control($signed, new Key($this->settings['control_key']));
        self::believe(hash_equals($control, strtolower($fields['control'])) ? null : 'its control does not match');
        // Digits that move from one id to the other leave the checksum as it was.
        foreach (['orderid', 'client_orderid'] as $name) {
            self::believe($fields[$name] === (string) ($order[$name] ?? '') ? null : 'it is about another order');
        }
        return $fields;
    }

    private function begin(
        string $operation,
        #[\SensitiveParameter]
        array $request,
        ?string $idempotencyKey = null
    ): Accepted {
        return Accepted::from($this->call($operation, $request, $idempotencyKey), $operation, $request);
    }

    /** The fields of a good reply. */
    private function call(
        string $operation,
        #[\SensitiveParameter]
        array $request,
        ?string $idempotencyKey = null
    ): array {
        if ($idempotencyKey !== null && preg_match('/^[\x21-\x7e]{1,128}$/D', $idempotencyKey) !== 1) {
            throw new \InvalidArgumentException('an idempotency key has 1 to 128 visible ASCII characters');
        }
        [$path, $signs] = Signature::OPERATIONS[$operation];
        $sent = Form::texts($request);
        $id = (string) ($this->settings['endpoint'] ?? $this->settings['group']);
        $entry = isset($this->settings['group']) ? "group/$id" : $id;
        $url = rtrim($this->settings['base_url'], '/') . "/$path/$entry";
        $headers = $idempotencyKey === null ? [] : ['idempotency-key' => $idempotencyKey];
        if ($signs === null) {
            $headers += ['authorization' => $this->authorization($operation, $url, $sent)];
            $body = Form::write($sent);
        } else {
            $units = $this->settings['control_minor_units'] ?? 'iso4217';
            $text = Signature::text($operation, $sent, $id, $this->settings['login'], $units);
            if (in_array('login', $signs, true)) {
                $sent['login'] = $this->settings['login'];
            }
            $sent['control'] = Signature::control($text, new Key($this->settings['control_key']));
            $body = Form::write(self::asUploaded($operation, $sent));
            $headers += $this->messageSignature($url, $body, $headers);
        }
        [$status, $reply] = $this->post($url, $body, $headers, [$operation, $request]);
        if ($status === 403 && $signs === null) {
            throw new Denied("$operation is denied: signature, key, time or endpoint");
        }
        if ($status !== 200) {
            throw new InDoubt("$operation has no answer: HTTP $status", 0, $operation, $request);
        }
        return self::good($reply, $operation, $request);
    }

    private function authorization(
        string $operation,
        string $url,
        #[\SensitiveParameter]
        array $sent
    ): string {
        if (!isset($this->settings['oauth_key'])) {
            throw new \InvalidArgumentException("$operation needs the setting oauth_key");
        }
        $key = new Key($this->settings['oauth_key']);
        return Signature::authorization($url, $this->settings['login'], $key, $sent, self::nonce(), $this->time->seconds());
    }

    private function messageSignature(
        string $url,
        #[\SensitiveParameter]
        string $body,
        array $headers
    ): array {
        if (!isset($this->settings['signing_secret'])) {
            return [];
        }
        $key = new Key($this->settings['signing_secret']);
        $moment = ['nonce' => self::nonce(), 'created' => $this->time->seconds()];
        return Signature::messageHeaders($url, $body, $headers, $this->settings['login'], $key, $moment);
    }

    private static function nonce(): string
    {
        return bin2hex(random_bytes(16));
    }

    /** The uploads spell the name of the order in a way of their own. */
    private static function asUploaded(
        string $operation,
        #[\SensitiveParameter]
        array $sent
    ): array {
        if (strpos($operation, 'upload-') === 0 && isset($sent['client_orderid'])) {
            $sent['client-order-id'] = $sent['client_orderid'];
            unset($sent['client_orderid']);
        }
        return $sent;
    }

    /** The fields of a reply of the type that the operation has. */
    private static function good(
        string $reply,
        string $operation,
        #[\SensitiveParameter]
        array $request
    ): array {
        $fields = Form::read($reply);
        if ($fields === null) {
            throw new InDoubt("$operation has no answer: it cannot be decoded", 0, $operation, $request);
        }
        $type = $fields['type'] ?? '';
        $expected = Signature::OPERATIONS[$operation][3];
        if ($type === $expected) {
            return $fields;
        }
        [$code, $message] = [(int) ($fields['error-code'] ?? 0), $fields['error-message'] ?? ''];
        if ($type === 'validation-error') {
            throw new Refused($message, $code, $fields);
        }
        if ($type === 'error') {
            throw new InDoubt($message, $code, $operation, $request);
        }
        throw new InDoubt("$operation has no answer: it is no $expected", 0, $operation, $request);
    }

    /**
     * One HTTP request: its status and its text.
     *
     * @param array<string, string> $headers
     */
    private function post(
        string $url,
        #[\SensitiveParameter]
        string $body,
        #[\SensitiveParameter]
        array $headers,
        #[\SensitiveParameter]
        array $asked
    ): array {
        // Without Expect, curl would wait for leave to send a long body.
        $lines = ['Content-Type: application/x-www-form-urlencoded', 'Expect:'];
        foreach ($headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        $timeoutMs = (int) ($this->settings['timeout_ms'] ?? 30000);
        $curl = curl_init();
        curl_setopt_array($curl, [
            CURLOPT_URL => $url,
            CURLOPT_POST => true,
            CURLOPT_POSTFIELDS => $body,
            CURLOPT_HTTPHEADER => $lines,
            CURLOPT_RETURNTRANSFER => true,
            // The body may have a card in it.
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_SSL_VERIFYPEER => true,
            CURLOPT_SSL_VERIFYHOST => 2,
            CURLOPT_TIMEOUT_MS => $timeoutMs,
            CURLOPT_CONNECTTIMEOUT_MS => $timeoutMs,
            CURLOPT_NOSIGNAL => true,
        ]);
        if (isset($this->settings['ca_file'])) {
            curl_setopt($curl, CURLOPT_CAINFO, $this->settings['ca_file']);
        }
        $text = curl_exec($curl);
        if (!is_string($text)) {
            $isLate = curl_errno($curl) === CURLE_OPERATION_TIMEDOUT;
            $why = $isLate ? "none within $timeoutMs ms" : curl_error($curl);
            throw new InDoubt("$asked[0] has no answer: $why", 0, ...$asked);
        }
        return [curl_getinfo($curl, CURLINFO_RESPONSE_CODE), $text];
    }
}

/** The clocks of a client. A test may move clocks of its own. */
class Time
{
    /** Milliseconds, of which only differences count. */
    public function now(): int
    {
        return (int) (hrtime(true) / 1e6);
    }

    /** Seconds since 1970. */
    public function seconds(): int
    {
        return time();
    }

    public function pause(int $ms): void
    {
        usleep($ms * 1000);
    }
}

/** A request that `finish` can wait for. */
interface Asked
{
    /** What to ask `status` with. */
    public function request(): array;
}

/** The gateway accepted the request. Status and callback show what becomes of it. */
final class Accepted implements Asked
{
    /** @var string */
    public $clientOrderid;
    /** @var string */
    public $orderid;
    /** @var string of this request, for `by-request-sn` */
    public $serialNumber;
    /** @var array<string, string> everything that came */
    public $fields;

    /** @internal */
    public static function from(
        array $fields,
        string $operation,
        #[\SensitiveParameter]
        array $request
    ): self {
        $self = new self();
        [$self->clientOrderid, $self->orderid] = OrderStatus::namesIn($fields, $operation, $request);
        $self->serialNumber = $fields['serial-number'] ?? '';
        $self->fields = $fields;
        return $self;
    }

    /** Both names of the order, for the next request about it. */
    public function order(): array
    {
        return ['client_orderid' => $this->clientOrderid, 'orderid' => $this->orderid];
    }

    public function request(): array
    {
        return $this->order() + ['by-request-sn' => $this->serialNumber];
    }
}

/** An order as `status` shows it. */
final class OrderStatus
{
    /** @var string approved, declined, error, filtered, processing or unknown */
    public $status;
    /** @var string such as sale_approved */
    public $stage;
    /** @var string */
    public $transactionType;
    /** @var string */
    public $clientOrderid;
    /** @var string */
    public $orderid;
    /** @var string */
    public $serialNumber;
    /** @var ?int why it was declined, filtered or failed */
    public $errorCode;
    /** @var ?string */
    public $errorMessage;
    /** @var ?Step what the cardholder has to do */
    public $step;
    /** @var array<string, string> everything that came */
    public $fields;

    /** @internal */
    public static function from(array $fields, string $operation, array $request): self
    {
        $self = new self();
        [$self->clientOrderid, $self->orderid] = self::namesIn($fields, $operation, $request);
        $self->status = $fields['status'] ?? '';
        if (!$self->isFinal() && !in_array($self->status, ['processing', 'unknown'], true)) {
            throw new InDoubt("$operation has no answer: its status is \"$self->status\"", 0, $operation, $request);
        }
        $self->stage = $fields['order-stage'] ?? '';
        $self->transactionType = $fields['transaction-type'] ?? '';
        $self->serialNumber = $fields['serial-number'] ?? '';
        $self->errorCode = isset($fields['error-code']) ? (int) $fields['error-code'] : null;
        $self->errorMessage = $fields['error-message'] ?? null;
        $self->step = $self->status === 'processing' ? Step::from($fields) : null;
        $self->fields = $fields;
        return $self;
    }

    /** Both names of the order, for the next request about it. */
    public function order(): array
    {
        return ['client_orderid' => $this->clientOrderid, 'orderid' => $this->orderid];
    }

    /** `unknown` is not final: the acquirer's answer was lost, and the gateway is finding out. */
    public function isFinal(): bool
    {
        return self::isFinalStatus($this->status);
    }

    public static function isFinalStatus(string $status): bool
    {
        return in_array($status, ['approved', 'declined', 'error', 'filtered'], true);
    }

    /** @internal */
    public static function namesIn(
        array $fields,
        string $operation,
        #[\SensitiveParameter]
        array $request
    ): array {
        $clientOrderid = $fields['merchant-order-id'] ?? $request['client_orderid'] ?? null;
        if ($clientOrderid === null || !isset($fields['gateway-order-id'])) {
            throw new InDoubt("$operation has no answer: it names no order", 0, $operation, $request);
        }
        return [(string) $clientOrderid, $fields['gateway-order-id']];
    }
}

/**
 * What the cardholder has to do: send the browser to `redirectTo`, or print `html` as the whole
 * page, or post a form of your own.
 */
final class Step
{
    /** @var string method frame, challenge, payer authentication or redirect */
    public $is;
    /** @var ?string */
    public $redirectTo;
    /** @var ?string */
    public $html;
    /** @var array<string, string> */
    private $fields;

    /** @internal */
    public static function from(array $fields): ?self
    {
        $names = ['MethodUrlFrame' => 'method frame', 'CReqForm' => 'challenge', 'PaReqForm' => 'payer authentication'];
        $self = new self();
        $self->is = $names[$fields['tds-status'] ?? ''] ?? 'redirect';
        $self->redirectTo = $fields['redirect-to'] ?? null;
        $self->html = $fields['html'] ?? null;
        $self->fields = $fields;
        return $self->is === 'redirect' && $self->redirectTo === null ? null : $self;
    }

    /**
     * The form for the browser to post: its action and its fields. `$url` is where the issuer
     * sends the browser afterwards; a challenge goes where `notificationURL` of the upload said.
     *
     * @return array{action: string, fields: array<string, string>}
     */
    public function form(string $url = ''): array
    {
        $field = function (string $name): string {
            return $this->fields["tds-$name"] ?? '';
        };
        switch ($this->is) {
            case 'method frame':
                $id = $field('method-url-frame-3ds-server-trans-id');
                $data = ['threeDSServerTransID' => $id, 'threeDSMethodNotificationURL' => $url];
                $json = json_encode($data, JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR);
                $method = $field('method-url-frame-3ds-method-url');
                return ['action' => $method, 'fields' => ['threeDSMethodData' => Form::base64url($json)]];
            case 'challenge':
                return ['action' => $field('creq-form-acs-url'), 'fields' => ['creq' => $field('creq-form-creq')]];
            case 'payer authentication':
                $fields = ['PaReq' => $field('pareq-form-pareq'), 'TermUrl' => $url, 'MD' => $field('pareq-form-md')];
                return ['action' => $field('pareq-form-acs-url'), 'fields' => $fields];
            default:
                throw new \LogicException('this step has no form: send the browser to redirectTo');
        }
    }

    /** The id that `upload-method-url-result` wants. */
    public function threeDSServerTransID(): string
    {
        return $this->fields['tds-method-url-frame-3ds-server-trans-id'] ?? '';
    }
}

/** How waiting for an order came to its end. */
final class Ending
{
    /** The order has its outcome. */
    public const FINAL = 'final';
    /** The order waits for the cardholder: `order->step`. */
    public const CARDHOLDER = 'cardholder';
    /** No end within the limit. The order goes on: wait for the callback, or finish again. */
    public const OPEN = 'open';
    /** The gateway has no such order. The same request may be sent again under the same name. */
    public const NOT_FOUND = 'not found';

    /** @var string */
    public $is;
    /** @var ?OrderStatus the last that was seen of the order */
    public $order;

    /** @internal */
    public function __construct(string $is, ?OrderStatus $order)
    {
        $this->is = $is;
        $this->order = $order;
    }

    public function isApproved(): bool
    {
        return $this->is === self::FINAL && $this->order !== null && $this->order->status === 'approved';
    }
}

/** A registered card. v2 gives the unique reference, v4 the ids of other interfaces. */
final class Registered
{
    /** @var string */
    public $cardRefId;
    /** @var ?string */
    public $uniqueCardRefId;
    /** @var ?string */
    public $recurringPaymentId;
    /** @var array<string, string> everything that came */
    public $fields;

    /** @internal */
    public static function from(array $fields): self
    {
        if (!isset($fields['card-ref-id'])) {
            $message = $fields['error-message'] ?? 'the payment registers no card';
            throw new NotRegistered($message, (int) ($fields['error-code'] ?? 0));
        }
        $self = new self();
        $self->cardRefId = $fields['card-ref-id'];
        $self->uniqueCardRefId = $fields['unq-card-ref-id'] ?? null;
        $self->recurringPaymentId = $fields['recurring-payment-id'] ?? null;
        $self->fields = $fields;
        return $self;
    }
}

/** What may be shown of a registered card. */
final class CardInfo
{
    /** @var string */
    public $printedName;
    /** @var string */
    public $expireMonth;
    /** @var string */
    public $expireYear;
    /** @var string */
    public $bin;
    /** @var string */
    public $lastFourDigits;

    /** @internal */
    public function __construct(array $fields)
    {
        $this->printedName = $fields['card-printed-name'] ?? '';
        $this->expireMonth = $fields['expire-month'] ?? '';
        $this->expireYear = $fields['expire-year'] ?? '';
        $this->bin = $fields['bin'] ?? '';
        $this->lastFourDigits = $fields['last-four-digits'] ?? '';
    }
}

/**
 * What the gateway reported, by callback or by the browser of a returning cardholder. Without a
 * signature only status and both names of the order are proven. Take it as a reason to ask
 * `status`, and believe that reply.
 */
final class Callback
{
    /** @var string */
    public $status;
    /** @var string sale, preauth, account-verification, capture, reversal, cancel or void */
    public $type;
    /** @var string */
    public $amount;
    /** @var array<string, string> everything that came */
    public $fields;

    /** @internal */
    public function __construct(array $fields)
    {
        $this->status = $fields['status'];
        $this->type = $fields['type'] ?? '';
        $this->amount = $fields['amount'] ?? '';
        $this->fields = $fields;
    }

    /** Both names of the order, for the next request about it. */
    public function order(): array
    {
        return ['client_orderid' => $this->fields['client_orderid'], 'orderid' => $this->fields['orderid']];
    }
}

/** What the gateway or the way to it did. No message has a key or a card in it. */
abstract class Problem extends \RuntimeException
{
}

/** The gateway refuses the request: nothing was stored or charged. getCode() is in docs/errors.md. */
final class Refused extends Problem
{
    /** @var array<string, string> everything that came */
    public $fields;

    /** @internal */
    public function __construct(string $message, int $code, array $fields)
    {
        parent::__construct($message, $code);
        $this->fields = $fields;
    }
}

/**
 * No reply came, or the gateway failed: the request may have arrived, and the order may exist.
 * Give this exception to `finish`.
 */
final class InDoubt extends Problem implements Asked
{
    /** @var string */
    public $operation;
    /** @var array<string, string> */
    private $names = [];

    /** @internal */
    public function __construct(
        string $message,
        int $code,
        string $operation,
        #[\SensitiveParameter]
        array $request
    ) {
        parent::__construct($message, $code);
        $this->operation = $operation;
        foreach (['client_orderid', 'orderid'] as $name) {
            if (($request[$name] ?? '') !== '') {
                $this->names[$name] = (string) $request[$name];
            }
        }
    }

    public function request(): array
    {
        return $this->names;
    }
}

/** HTTP 403 of a v4 call: signature, key, time or endpoint is not accepted. */
final class Denied extends Problem
{
}

/** The first payment registers no card, because it was not approved or is not over. */
final class NotRegistered extends Problem
{
}

/** Believe nothing of this callback or return. */
final class NotGenuine extends Problem
{
}

/** A key in an object, which no stack trace prints. */
final class Key
{
    /** @var string */
    private $text;

    public function __construct(
        #[\SensitiveParameter]
        string $text
    ) {
        $this->text = $text;
    }

    public function reveal(): string
    {
        return $this->text;
    }

    public function __debugInfo(): array
    {
        return [];
    }
}

/** Forms as the gateway reads and writes them. PHP's own reader renames fields. */
final class Form
{
    /**
     * The fields of a reply, a query or a form, or null if they cannot be decoded for certain. Some
     * gateways of this kind break the line between pairs.
     *
     * @return ?array<string, string>
     */
    public static function read(string $text): ?array
    {
        $fields = [];
        foreach (explode('&', str_replace(["\r", "\n"], '', $text)) as $pair) {
            if ($pair === '') {
                continue;
            }
            if (preg_match('/%(?![0-9A-Fa-f]{2})/', $pair) === 1) {
                return null;
            }
            [$name, $value] = array_map('urldecode', explode('=', $pair, 2) + [1 => '']);
            if (preg_match('//u', $name . $value) !== 1) {
                return null;
            }
            $fields[$name] = $value;
        }
        return $fields;
    }

    /** @param array<string, string> $fields */
    public static function write(
        #[\SensitiveParameter]
        array $fields
    ): string {
        $pairs = [];
        foreach ($fields as $name => $value) {
            $pairs[] = urlencode((string) $name) . '=' . urlencode($value);
        }
        return implode('&', $pairs);
    }

    /** Exactly the text that the signature of a callback covers. */
    public static function queryOf(string $text): string
    {
        $at = strpos($text, '?');
        return $at === false ? $text : (string) substr($text, $at + 1);
    }

    /**
     * The fields of a request as texts; what is null or empty is not sent. A float cannot hold
     * every amount, and a whole number could be meant in minor units.
     *
     * @return array<string, string>
     */
    public static function texts(
        #[\SensitiveParameter]
        array $request
    ): array {
        $texts = [];
        foreach ($request as $name => $value) {
            $isMoney = $name === 'amount' || $name === 'enumerate_amounts';
            if ($value !== null && !is_string($value) && ($isMoney || !(is_int($value) || is_bool($value)))) {
                throw new \InvalidArgumentException("$name has the type " . gettype($value) . ": write it as a string, such as '10.50'");
            }
            $text = is_bool($value) ? ($value ? 'true' : 'false') : (string) $value;
            if ($text !== '') {
                $texts[$name] = $text;
            }
        }
        return $texts;
    }

    public static function base64url(string $bytes): string
    {
        return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    }
}

/** Checksums and signatures, as functions without a clock. vectors.json has examples of all. */
final class Signature
{
    private const PAYMENT = ['id', 'client_orderid', 'amount', 'email'];
    private const REBILL = ['login', 'client_orderid', 'cardrefid', 'amount', 'currency'];
    private const ORDER = ['login', 'client_orderid', 'orderid'];
    private const MONEY = ['login', 'client_orderid', 'orderid', 'amount', 'currency'];
    private const ACCEPTANCE = 'async-response';

    /**
     * Path below the base URL; what the checksum covers, or null for OAuth; whether it begins an
     * order or adds a transaction; the type of a good reply.
     */
    public const OPERATIONS = [
        'sale' => ['api/v2/sale', self::PAYMENT, 'order', self::ACCEPTANCE],
        'preauth' => ['api/v2/preauth', self::PAYMENT, 'order', self::ACCEPTANCE],
        'account-verification' => ['api/v2/account-verification', ['id', 'client_orderid', 'email'], 'order', self::ACCEPTANCE],
        'make-rebill-sale' => ['api/v2/make-rebill-sale', self::REBILL, 'order', self::ACCEPTANCE],
        'make-rebill-preauth' => ['api/v2/make-rebill-preauth', self::REBILL, 'order', self::ACCEPTANCE],
        'make-rebill' => ['api/v2/make-rebill', self::REBILL, 'order', self::ACCEPTANCE],
        'capture' => ['api/v2/capture', self::MONEY, 'transaction', self::ACCEPTANCE],
        'return' => ['api/v2/return', self::MONEY, 'transaction', self::ACCEPTANCE],
        'void' => ['api/v2/void', self::ORDER, 'transaction', self::ACCEPTANCE],
        'status' => ['api/v2/status', self::ORDER, null, 'status-response'],
        'status-v4' => ['api/v4/status', null, null, 'status-response'],
        'create-card-ref' => ['api/v2/create-card-ref', self::ORDER, null, 'create-card-ref-response'],
        'create-card-ref-v4' => ['api/v4/create-card-ref', null, null, 'create-card-ref-response'],
        'get-card-info' => ['api/v2/get-card-info', ['login', 'cardrefid'], null, 'get-card-info-response'],
        'upload-method-url-result' => ['api/3ds/v1/upload-method-url-result', self::ORDER, null, self::ACCEPTANCE],
        'upload-cres-result' => ['api/3ds/v1/upload-cres-result', self::ORDER, null, self::ACCEPTANCE],
        'upload-pares-result' => ['api/3ds/v1/upload-pares-result', self::ORDER, null, self::ACCEPTANCE],
    ];

    /** Currencies by their decimals in ISO 4217 where these are not two. */
    private const DECIMALS = [
        0 => 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF '
            . 'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX',
        3 => 'BHD IQD JOD KWD LYD OMR TND',
        4 => 'CLF UYW',
    ];

    /** Clocks differ by less, and a recorded callback must not hold for longer. */
    private const TOLERANCE_SECONDS = 300;

    /** Fields of a return that the token repeats. */
    private const PROVEN = ['status', 'orderid', 'client_orderid', 'type', 'amount', 'currency'];

    /**
     * What the checksum of a request covers but for the key. A missing field counts as empty.
     *
     * @param array<string, string> $sent
     * @param string $id of the endpoint or group in the path
     * @param string $units `iso4217`, or `hundredths` where the endpoint is set so
     */
    public static function text(
        string $operation,
        #[\SensitiveParameter]
        array $sent,
        string $id,
        string $login,
        string $units = 'iso4217'
    ): string {
        $text = '';
        foreach (self::OPERATIONS[$operation][1] ?? [] as $part) {
            $value = $part === 'id' ? $id : ($part === 'login' ? $login : $sent[$part] ?? '');
            $isSum = $part === 'amount' && $value !== '';
            $text .= $isSum ? self::minorUnits($value, $sent['currency'] ?? '', $units) : $value;
        }
        return $text;
    }

    /** Lower-case hexadecimal SHA-1 over the text, the control key last. */
    public static function control(string $text, Key $controlKey): string
    {
        return sha1($text . $controlKey->reveal());
    }

    /** An amount as it is signed: the point moved within the text, never through a float. */
    public static function minorUnits(string $amount, string $currency, string $units = 'iso4217'): string
    {
        $exponent = 2;
        foreach (self::DECIMALS as $decimals => $codes) {
            if (in_array($currency, explode(' ', $codes), true)) {
                $exponent = $decimals;
            }
        }
        $exact = self::shifted($amount, $exponent);
        if ($exact === null) {
            throw new \InvalidArgumentException("\"$amount\" is not an amount of $currency, which has $exponent decimals");
        }
        return $units === 'hundredths' ? self::shifted($amount, 2) ?? $exact : $exact;
    }

    /** Zeros beyond the exponent are allowed, as in 100.00 of a currency without decimals. */
    private static function shifted(string $amount, int $exponent): ?string
    {
        if (preg_match('/^([0-9]+)(?:\.([0-9]+))?$/D', $amount, $parts) !== 1) {
            return null;
        }
        $fraction = str_pad($parts[2] ?? '', $exponent, '0');
        if (trim((string) substr($fraction, $exponent), '0') !== '') {
            return null;
        }
        $digits = ltrim($parts[1] . substr($fraction, 0, $exponent), '0');
        return $digits === '' ? '0' : $digits;
    }

    /**
     * The headers that sign a request as a whole: HTTP Message Signatures (RFC 9421) by
     * HMAC-SHA256, with a digest of the body (RFC 9530).
     *
     * @param array<string, string> $headers signed besides, names in lower case
     * @param array{nonce: string, created: int} $moment
     */
    public static function messageHeaders(
        string $url,
        #[\SensitiveParameter]
        string $body,
        array $headers,
        string $login,
        Key $key,
        array $moment
    ): array {
        $digest = 'sha-256=:' . base64_encode(hash('sha256', $body, true)) . ':';
        $path = (string) parse_url($url, PHP_URL_PATH);
        $covered = ['@method' => 'POST', '@path' => $path, 'content-digest' => $digest] + $headers;
        $list = '"' . implode('" "', array_keys($covered)) . '"';
        $signed = "($list);created=$moment[created];nonce=\"$moment[nonce]\";keyid=\"$login\";alg=\"hmac-sha256\"";
        $lines = [];
        foreach ($covered + ['@signature-params' => $signed] as $name => $value) {
            $lines[] = "\"$name\": $value";
        }
        $signature = hash_hmac('sha256', implode("\n", $lines), self::secretOf($key->reveal()), true);
        return [
            'content-digest' => $digest,
            'signature-input' => "sig1=$signed",
            'signature' => 'sig1=:' . base64_encode($signature) . ':',
        ];
    }

    /**
     * The Authorization header of v4: OAuth 1.0a (RFC 5849) by RSA-SHA256, without a token.
     *
     * @param array<string, string> $body
     */
    public static function authorization(
        string $url,
        string $login,
        Key $key,
        array $body,
        string $nonce,
        int $seconds
    ): string {
        $private = openssl_pkey_get_private($key->reveal());
        if ($private === false || openssl_pkey_get_details($private)['type'] !== OPENSSL_KEYTYPE_RSA) {
            throw new \InvalidArgumentException('oauth_key is no private key for RSA in PEM');
        }
        $params = self::oauthParams($login, $nonce, $seconds);
        openssl_sign(self::oauthText($url, $params + $body), $signature, $private, OPENSSL_ALGO_SHA256);
        $shown = [];
        foreach ($params + ['oauth_signature' => base64_encode($signature)] as $name => $value) {
            $shown[] = rawurlencode($name) . '="' . rawurlencode($value) . '"';
        }
        return 'OAuth ' . implode(', ', $shown);
    }

    /** @return array<string, string> */
    public static function oauthParams(string $login, string $nonce, int $seconds): array
    {
        return [
            'oauth_consumer_key' => $login,
            'oauth_nonce' => $nonce,
            'oauth_signature_method' => 'RSA-SHA256',
            'oauth_timestamp' => (string) $seconds,
            'oauth_version' => '1.0',
        ];
    }

    /** What OAuth signs: method, address without query, all parameters in order (RFC 5849, 3.4.1). */
    public static function oauthText(
        string $url,
        #[\SensitiveParameter]
        array $params
    ): string {
        ['scheme' => $scheme, 'host' => $host] = $at = parse_url($url) + ['scheme' => '', 'host' => ''];
        $isUsual = !isset($at['port']) || $at['port'] === (strtolower($scheme) === 'https' ? 443 : 80);
        $address = strtolower("$scheme://$host") . ($isUsual ? '' : ":$at[port]") . ($at['path'] ?? '/');
        $pairs = [];
        foreach ($params as $name => $value) {
            $pairs[] = [rawurlencode((string) $name), rawurlencode($value)];
        }
        usort($pairs, function (array $one, array $other): int {
            return strcmp($one[0], $other[0]) ?: strcmp($one[1], $other[1]);
        });
        $joined = array_map(function (array $pair): string {
            return "$pair[0]=$pair[1]";
        }, $pairs);
        return implode('&', array_map('rawurlencode', ['POST', $address, implode('&', $joined)]));
    }

    /**
     * Why the headers of Standard Webhooks do not prove a callback, or null if they do. `$key` is a
     * signing secret (`whsec_`) or a public key (`whpk_`).
     *
     * @param string $payload the raw query of a callback, or the raw body of its form
     */
    public static function webhookComplaint(string $payload, array $headers, Key $key, int $now): ?string
    {
        $headers = self::webhookHeaders($headers);
        if (count($headers) < 3) {
            return 'it has no signature';
        }
        ['id' => $id, 'timestamp' => $timestamp, 'signature' => $signatures] = $headers;
        $holds = self::verifier("$id.$timestamp.$payload", $key);
        // There may be one signature for each kind of key.
        if (array_filter(explode(' ', $signatures), $holds) === []) {
            return 'its signature does not match';
        }
        $isNear = preg_match('/^[0-9]{1,12}$/D', $timestamp) === 1 && abs($now - (int) $timestamp) <= self::TOLERANCE_SECONDS;
        return $isNear ? null : 'it was signed more than five minutes from now';
    }

    /** Those of `getallheaders()`, of `$_SERVER` (HTTP_WEBHOOK_ID), or of a PSR-7 request. */
    private static function webhookHeaders(array $headers): array
    {
        $found = [];
        foreach ($headers as $name => $value) {
            $plain = strtr(strtolower((string) $name), '_', '-');
            if (preg_match('/^(?:http-)?webhook-(id|timestamp|signature)$/D', $plain, $parts) !== 1) {
                continue;
            }
            $one = is_array($value) && count($value) === 1 ? reset($value) : $value;
            if (is_string($one)) {
                $found[$parts[1]] = $one;
            }
        }
        return $found;
    }

    /** Whether one signature of the header is of this text, by this key. */
    private static function verifier(string $text, Key $key): \Closure
    {
        if (strpos($key->reveal(), 'whpk_') === 0) {
            if (!function_exists('sodium_crypto_sign_verify_detached')) {
                throw new \LogicException('a callback_public_key needs the extension sodium');
            }
            return function (string $one) use ($text, $key): bool {
                $bytes = (string) base64_decode((string) substr($one, 4));
                return strpos($one, 'v1a,') === 0
                    && strlen($bytes) === 64
                    && sodium_crypto_sign_verify_detached($bytes, $text, self::publicKeyOf($key->reveal()));
            };
        }
        $expected = hash_hmac('sha256', $text, self::secretOf($key->reveal()), true);
        return function (string $one) use ($expected): bool {
            return strpos($one, 'v1,') === 0 && hash_equals($expected, (string) base64_decode((string) substr($one, 3)));
        };
    }

    /** Why the token of a return does not prove its fields, or null if it does. */
    public static function tokenComplaint(array $fields, string $login, Key $key, int $now): ?string
    {
        $token = $fields['token'] ?? '';
        if ($token === '') {
            return 'it has no token';
        }
        $parts = explode('.', $token);
        $expected = hash_hmac('sha256', "$parts[0]." . ($parts[1] ?? ''), self::secretOf($key->reveal()), true);
        // What the header says of the algorithm is not asked: there is one, and the signature covers it.
        if (count($parts) !== 3 || !hash_equals(Form::base64url($expected), $parts[2])) {
            return 'its token is not signed by the gateway';
        }
        $claims = json_decode((string) base64_decode(strtr($parts[1], '-_', '+/')), true);
        if (($claims['aud'] ?? null) !== $login) {
            return 'its token is for another merchant';
        }
        if (!(($claims['exp'] ?? 0) + self::TOLERANCE_SECONDS > $now)) {
            return 'its token is too old';
        }
        foreach (self::PROVEN as $name) {
            if (($claims[$name] ?? null) !== ($fields[$name] ?? null)) {
                return "its $name is not what the token says";
            }
        }
        return null;
    }

    /** The bytes of a signing secret. An empty or cut secret would verify what anybody can sign. */
    public static function secretOf(
        #[\SensitiveParameter]
        string $text
    ): string {
        $encoded = preg_replace('/^whsec_/', '', $text);
        $bytes = (string) base64_decode($encoded);
        if (strlen($bytes) < 24 || base64_encode($bytes) !== $encoded) {
            throw new \InvalidArgumentException('signing_secret is not whsec_ and base64');
        }
        return $bytes;
    }

    /** The bytes of a public key. */
    public static function publicKeyOf(string $text): string
    {
        $bytes = (string) base64_decode((string) substr($text, 5));
        if (strpos($text, 'whpk_') !== 0 || strlen($bytes) !== 32) {
            throw new \InvalidArgumentException('callback_public_key is not whpk_ and base64 of 32 bytes');
        }
        return $bytes;
    }
}
