<?php
// A client of WeChat Pay's API v3, written from its documents (pay.weixin.qq.com: "签名生成", "签名验证", "证书和回调报文解密",
// Native下单, 查询订单, 关闭订单, 申请退款, 查询单笔退款) with PHP's own cryptography. Arguments: the simulator's address, an account.
declare(strict_types=1);
require __DIR__ . '/requests.php';
[, $simulator, $account] = $argv;
['fields' => $fields, 'pems' => $pems] = control("/sim/config?account=$account")['wechat'];
$mchid = $fields['mchid'];
$keys = [];
foreach ($pems['wechat_platform_cert'] ?? [] as $pem) $keys[serialOf($pem)] = openssl_pkey_get_public($pem);
foreach ($pems['wechat_public_key'] ?? [] as $pem) $keys[$fields['publicKeyId']] = openssl_pkey_get_public($pem);

function serialOf(string $certificate): string
{
    return openssl_x509_parse($certificate)['serialNumberHex'];
}

function isGenuine(array $headers, string $body): bool
{
    global $keys;
    $key = $keys[$headers['wechatpay-serial'] ?? ''] ?? null;
    if ($key === null || abs(time() - (int) $headers['wechatpay-timestamp']) > 300) return false;
    $text = "{$headers['wechatpay-timestamp']}\n{$headers['wechatpay-nonce']}\n$body\n";
    return openssl_verify($text, base64_decode($headers['wechatpay-signature']), $key, OPENSSL_ALGO_SHA256) === 1;
}

function opened(array $sealed): string
{
    global $fields;
    $bytes = base64_decode($sealed['ciphertext']);
    [$text, $tag] = [substr($bytes, 0, -16), substr($bytes, -16)];
    $nonce = $sealed['nonce'];
    $plain = openssl_decrypt($text, 'aes-256-gcm', $fields['apiV3Key'], OPENSSL_RAW_DATA, $nonce, $tag, $sealed['associated_data']);
    return $plain === false ? fail('A text does not open.') : $plain;
}

/** Calls WeChat Pay as the merchant; fails unless the response has a valid signature. */
function ask(string $method, string $target, ?array $content = null): array
{
    global $simulator, $mchid, $pems, $fields;
    $body = $content === null ? '' : json_encode($content, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
    [$time, $nonce, $path] = [time(), bin2hex(random_bytes(16)), "/wechat$target"];
    openssl_sign("$method\n$path\n$time\n$nonce\n$body\n", $bytes, $pems['wechat_merchant_key'][0], OPENSSL_ALGO_SHA256);
    $members = ['mchid' => $mchid, 'nonce_str' => $nonce, 'timestamp' => $time];
    $members += ['serial_no' => serialOf($pems['wechat_merchant_cert'][0]), 'signature' => base64_encode($bytes)];
    $list = implode(',', array_map(fn ($name, $value) => "$name=\"$value\"", array_keys($members), $members));
    $headers = ["Authorization: WECHATPAY2-SHA256-RSA2048 $list", 'Accept: application/json', 'User-Agent: php'];
    if ($content !== null) $headers[] = 'Content-Type: application/json';
    if (isset($fields['publicKeyId'])) $headers[] = "Wechatpay-Serial: {$fields['publicKeyId']}";
    $answer = send($method, $simulator . $path, $headers, $content === null ? null : $body);
    if (!isGenuine($answer['headers'], $answer['body'])) fail("$method $target: the answer is not genuine. {$answer['body']}");
    return ['status' => $answer['status'], 'data' => json_decode($answer['body'], true)];
}

if (isset($pems['wechat_platform_cert'])) {
    $item = ask('GET', '/v3/certificates')['data']['data'][0];
    $pem = opened($item['encrypt_certificate']);
    holds('certificate', serialOf($pem) === $item['serial_no'] && in_array($pem, $pems['wechat_platform_cert'], true), $item);
}
[$orderNo, $closedNo] = ['PHP' . bin2hex(random_bytes(8)), 'PHP' . bin2hex(random_bytes(8))];
$trade = fn (string $no) => "/v3/pay/transactions/out-trade-no/$no?mchid=$mchid";
$order = ['appid' => $fields['appId'], 'mchid' => $mchid, 'description' => '一杯茶', 'notify_url' => "$simulator/nobody"];
$order += ['amount' => ['total' => 1234, 'currency' => 'CNY'], 'time_expire' => gmdate('Y-m-d\TH:i:s\Z', time() + 3600)];
foreach ([$orderNo, $closedNo] as $no) {
    $placed = ask('POST', '/v3/pay/transactions/native', $order + ['out_trade_no' => $no]);
    holds('placed', $placed['status'] === 200 && str_contains($placed['data']['code_url'], '://'), $placed);
}
holds('closed', ask('POST', "/v3/pay/transactions/out-trade-no/$closedNo/close", ['mchid' => $mchid])['status'] === 204);
holds('is closed', ask('GET', $trade($closedNo))['data']['trade_state'] === 'CLOSED');
holds('is not paid', ask('GET', $trade($orderNo))['data']['trade_state'] === 'NOTPAY');
control('/sim/pay', ['payWay' => 'wechat', 'orderNo' => $orderNo]);
$paid = ask('GET', $trade($orderNo))['data'];
holds('is paid', $paid['trade_state'] === 'SUCCESS' && $paid['amount']['total'] === 1234, $paid);
$amount = ['refund' => 234, 'total' => 1234, 'currency' => 'CNY'];
$refund = ['transaction_id' => $paid['transaction_id'], 'out_refund_no' => "{$orderNo}R", 'amount' => $amount];
$answer = ask('POST', '/v3/refund/domestic/refunds', $refund + ['reason' => '茶凉了', 'notify_url' => "$simulator/nobody"])['data'];
holds('refunded', $answer['status'] === 'PROCESSING' && $answer['amount']['settlement_refund'] === 234, $answer);
$look = fn () => ask('GET', "/v3/refund/domestic/refunds/{$orderNo}R")['data'];
$done = until('the refund', $look, fn ($found) => $found['status'] === 'SUCCESS');
holds('is refunded', isset($done['success_time']) && $done['out_trade_no'] === $orderNo, $done);
foreach (deliveries('wechat', $orderNo, 2) as $notice) {
    [$headers, $body] = [array_change_key_case($notice['headers']), base64_decode($notice['bodyBase64'])];
    $event = json_decode($body, true);
    holds("notice {$event['event_type']}", isGenuine($headers, $body), $headers);
    if (isGenuine($headers, "$body ")) fail('A changed notice is genuine.');
    holds('notice is about the order', json_decode(opened($event['resource']), true)['out_trade_no'] === $orderNo);
}
