<?php

// [call]
define('SERVER', getenv('PAY_SERVER') ?: 'http://127.0.0.1:8080');

/** A refusal of the service: branch on `problem->code`, never on the text. */
class Refusal extends RuntimeException
{
    public function __construct(public readonly object $problem, public readonly int $retryAfter)
    {
        parent::__construct("$problem->code: $problem->detail (request $problem->requestId)");
    }
}

/** Status, headers and JSON of an answer; throws when there is none. */
function exchange(string $method, string $path, array $headers, ?string $body): array
{
    $options = ['method' => $method, 'header' => $headers, 'content' => $body, 'timeout' => 30, 'ignore_errors' => true];
    $text = @file_get_contents(SERVER . $path, false, stream_context_create(['http' => $options]));
    if ($text === false) {
        throw new RuntimeException('The service cannot be reached.');
    }
    $answer = json_decode($text, flags: JSON_THROW_ON_ERROR);
    return [(int) explode(' ', $http_response_header[0])[1], implode("\n", $http_response_header), $answer];
}

function send(string $method, string $path, string $token, ?array $body = null, ?string $key = null): object
{
    $headers = ["Authorization: Bearer $token"];
    if ($body !== null) {
        $headers[] = 'Content-Type: application/json';
    }
    if ($key !== null) {
        $headers[] = "Idempotency-Key: $key";
    }
    [$status, $found, $answer] = exchange($method, $path, $headers, $body === null ? null : json_encode($body));
    if ($status >= 400) {
        throw new Refusal($answer, (int) (preg_match('/^Retry-After: (\d+)/mi', $found, $match) ? $match[1] : 1));
    }
    return $answer->data;
}

/** Repeats the same request while nobody knows its outcome; with a key it is done once, however often it is sent. */
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
/** A token lives for `expires_in` seconds: keep it, and get another one a minute before its end. */
function getToken(string $clientId, string $clientSecret): string
{
    $form = ['grant_type' => 'client_credentials', 'client_id' => $clientId, 'client_secret' => $clientSecret];
    $headers = ['Content-Type: application/x-www-form-urlencoded'];
    [$status, , $answer] = exchange('POST', '/oauth/token', $headers, http_build_query($form));
    return $status === 200 ? $answer->access_token : throw new RuntimeException($answer->error_description);
}
// [/token]

$shopOrder = getenv('SHOP_ORDER') ?: '1001';
$token = getToken(getenv('CLIENT_ID'), getenv('CLIENT_SECRET'));

// [pay]
$order = call('POST', '/api/v2/payment/pay', $token, key: "pay-$shopOrder", body: [
    'subject' => 'Two coffees', 'amount' => '12.50', 'payWay' => 'alipay', 'merchantOrderNo' => $shopOrder,
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
    'orderNo' => $order->orderNo, 'refundAmount' => '2.50', 'merchantRefundNo' => "$shopOrder-1",
]);
echo "Refund $refund->refundNo is $refund->status, $refund->refundableAmount left\n";
// [/refund]
