<?php

// [call]
define('SERVER', getenv('PAY_SERVER') ?: 'http://127.0.0.1:8080');

/** A refusal of the service: branch on `problem->code`, never on the text. */
class Refusal extends RuntimeException
{
    public function __construct(
        public readonly object $problem,
        public readonly int $retryAfter,
    ) {
        $text = "$problem->code: $problem->detail (request $problem->requestId)";
        parent::__construct($text);
    }
}

/** Status, headers and JSON of an answer; throws when there is none. */
function exchange(string $method, string $path, array $headers, ?string $body): array
{
    $options = ['method' => $method, 'header' => $headers, 'content' => $body];
    $options += ['timeout' => 30, 'ignore_errors' => true];
    $context = stream_context_create(['http' => $options]);
    $text = @file_get_contents(SERVER . $path, false, $context);
    if ($text === false) {
        throw new RuntimeException('The service cannot be reached.');
    }
    $answer = json_decode($text, flags: JSON_THROW_ON_ERROR);
    $status = (int) explode(' ', $http_response_header[0])[1];
    return [$status, implode("\n", $http_response_header), $answer];
}

function send(
    string $method,
    string $path,
    string $token,
    ?array $body = null,
    ?string $key = null,
): object {
    $headers = ["Authorization: Bearer $token"];
    if ($body !== null) {
        $headers[] = 'Content-Type: application/json';
    }
    if ($key !== null) {
        $headers[] = "Idempotency-Key: $key";
    }
    $content = $body === null ? null : json_encode($body);
    [$status, $found, $answer] = exchange($method, $path, $headers, $content);
    if ($status >= 400) {
        preg_match('/^Retry-After: (\d+)/mi', $found, $match);
        throw new Refusal($answer, (int) ($match[1] ?? 1));
    }
    return $answer->data;
}

/** Repeats a request while its outcome is not known; with a key it is done once. */
function call(mixed ...$request): object
{
    for ($attempt = 1; ; $attempt++) {
        try {
            return send(...$request);
        } catch (RuntimeException | JsonException $failure) {
            $isRefusal = $failure instanceof Refusal;
            if (($isRefusal && !$failure->problem->retryable) || $attempt === 5) {
                throw $failure;
            }
            sleep($isRefusal ? $failure->retryAfter : $attempt);
        }
    }
}
// [/call]

// [token]
/** Keep the token for a little less than `expires_in` seconds, then get another one. */
function getToken(string $clientId, string $clientSecret): string
{
    $form = http_build_query([
        'grant_type' => 'client_credentials',
        'client_id' => $clientId,
        'client_secret' => $clientSecret,
    ]);
    $headers = ['Content-Type: application/x-www-form-urlencoded'];
    [$status, , $answer] = exchange('POST', '/oauth/token', $headers, $form);
    if ($status !== 200) {
        throw new RuntimeException($answer->error_description);
    }
    return $answer->access_token;
}
// [/token]

$shopOrder = getenv('SHOP_ORDER') ?: '1001';
$token = getToken(getenv('CLIENT_ID'), getenv('CLIENT_SECRET'));

// [pay]
$order = call('POST', '/api/v2/payment/pay', $token, key: "pay-$shopOrder", body: [
    'subject' => 'Two coffees', 'amount' => '12.50',
    'payWay' => 'alipay', 'merchantOrderNo' => $shopOrder,
]);
echo "Please pay at $order->payUrl\n";
// [/pay]

// [query]
while (in_array($order->status, ['created', 'pending'], true)) {
    sleep(2);
    $order = call('GET', "/api/v2/payment/query/$order->orderNo", $token);
}
if ($order->status !== 'paid') {
    exit("The order is $order->status.\n");
}
// [/query]

// [refund]
$refund = call('POST', '/api/v2/payment/refund', $token, key: "refund-$shopOrder-1", body: [
    'orderNo' => $order->orderNo, 'refundAmount' => '2.50',
    'merchantRefundNo' => "$shopOrder-1",
]);
echo "Refund $refund->refundNo is $refund->status, $refund->refundableAmount left\n";
// [/refund]
