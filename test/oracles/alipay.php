<?php
// A client of Alipay's open API v2, written from its documents (opendocs.alipay.com: "自行实现签名", "自行实现验签", "异步通知验签",
// alipay.trade.*) with PHP's own cryptography. Arguments: the simulator's address, an account, a charset.
declare(strict_types=1);
require __DIR__ . '/requests.php';
date_default_timezone_set('Asia/Shanghai');
[, $simulator, $account, $charset] = $argv;
['fields' => $fields, 'pems' => $pems] = control("/sim/config?account=$account")['alipay'];
$certificate = $pems['alipay_public_cert'][0] ?? null;
$alipayKey = openssl_pkey_get_public($certificate ?? $pems['alipay_public_key'][0]);

/** MD5 of the issuer (most specific name first) and the decimal serial number. */
function serialOf(string $pem): string
{
    $parsed = openssl_x509_parse($pem);
    $names = array_map(fn ($name, $value) => "$name=$value", array_keys($parsed['issuer']), $parsed['issuer']);
    $decimal = decimalOf($parsed['serialNumberHex']);
    return md5(implode(',', array_reverse($names)) . $decimal);
}

/** Converts a hexadecimal number of any length to decimal. */
function decimalOf(string $hex): string
{
    $digits = [0];
    foreach (str_split($hex) as $character) {
        $carry = hexdec($character);
        foreach ($digits as $at => $digit) {
            $sum = $digit * 16 + $carry;
            [$digits[$at], $carry] = [$sum % 10, intdiv($sum, 10)];
        }
        for (; $carry > 0; $carry = intdiv($carry, 10)) $digits[] = $carry % 10;
    }
    return strrev(implode('', $digits));
}

/** `name=value` of the non-empty parameters, sorted by name. */
function textOf(array $params): string
{
    ksort($params, SORT_STRING);
    $filled = array_filter($params, fn ($value) => $value !== '');
    return implode('&', array_map(fn ($name, $value) => "$name=$value", array_keys($filled), $filled));
}

function isGenuine(string $text, string $sign): bool
{
    global $alipayKey;
    return openssl_verify($text, base64_decode($sign), $alipayKey, OPENSSL_ALGO_SHA256) === 1;
}

/** The parameters of a call with a signature over their bytes in the charset. */
function signed(string $method, array $content, array $more = []): array
{
    global $fields, $pems, $charset;
    $params = ['app_id' => $fields['appId'], 'method' => $method, 'format' => 'JSON', 'charset' => $charset, 'sign_type' => 'RSA2'];
    $params += ['timestamp' => date('Y-m-d H:i:s'), 'version' => '1.0'] + $more;
    $params['biz_content'] = mb_convert_encoding(json_encode($content, JSON_UNESCAPED_UNICODE), $charset, 'UTF-8');
    if (isset($pems['alipay_app_cert'])) {
        $params['app_cert_sn'] = serialOf($pems['alipay_app_cert'][0]);
        $roots = preg_split('/(?=-----BEGIN)/', implode("\n", $pems['alipay_root_cert']), -1, PREG_SPLIT_NO_EMPTY);
        $rsa = array_filter($roots, fn ($pem) => str_contains(openssl_x509_parse($pem)['signatureTypeLN'] ?? '', 'RSA'));
        $params['alipay_root_cert_sn'] = implode('_', array_map('serialOf', $rsa));
    }
    openssl_sign(textOf($params), $bytes, $pems['alipay_app_key'][0], OPENSSL_ALGO_SHA256);
    return $params + ['sign' => base64_encode($bytes)];
}

/** Calls Alipay; fails unless the response has a valid signature and the charset of the request. */
function ask(string $method, array $content): array
{
    global $simulator, $charset, $certificate;
    $body = http_build_query(signed($method, $content, ['notify_url' => "$simulator/nobody"]));
    $header = "Content-Type: application/x-www-form-urlencoded;charset=$charset";
    $text = send('POST', "$simulator/alipay/gateway.do?charset=$charset", [$header], $body)['body'];
    $member = str_replace('.', '_', $method) . '_response';
    $pattern = '/^\{"' . $member . '":(\{.*\}),(?:"alipay_cert_sn":"(\w+)",)?"sign":"([^"]+)"\}$/s';
    if (!preg_match($pattern, $text, $parts)) fail("$method: $text");
    if (!isGenuine($parts[1], $parts[3])) fail("$method: the answer is not genuine. $text");
    if ($certificate !== null && $parts[2] !== serialOf($certificate)) fail("$method: another certificate's serial");
    return json_decode(mb_convert_encoding($parts[1], 'UTF-8', $charset), true) ?? fail("$method: $text");
}

[$orderNo, $closedNo] = ['PHP' . bin2hex(random_bytes(8)), 'PHP' . bin2hex(random_bytes(8))];
foreach ([$orderNo, $closedNo] as $no) {
    $placed = ask('alipay.trade.precreate', ['out_trade_no' => $no, 'total_amount' => '12.34', 'subject' => '一杯茶']);
    holds('placed', $placed['code'] === '10000' && $placed['out_trade_no'] === $no, $placed);
}
holds('is not scanned', ask('alipay.trade.query', ['out_trade_no' => $orderNo])['sub_code'] === 'ACQ.TRADE_NOT_EXIST');
control('/sim/scan', ['orderNo' => $closedNo]);
holds('closed', ask('alipay.trade.close', ['out_trade_no' => $closedNo])['code'] === '10000');
control('/sim/pay', ['payWay' => 'alipay', 'orderNo' => $orderNo]);
$paid = ask('alipay.trade.query', ['out_trade_no' => $orderNo]);
holds('is paid', $paid['trade_status'] === 'TRADE_SUCCESS' && $paid['total_amount'] === '12.34', $paid);
$refund = ['out_trade_no' => $orderNo, 'out_request_no' => "{$orderNo}R", 'refund_amount' => '2.34', 'refund_reason' => '茶凉了'];
holds('refunded', ask('alipay.trade.refund', $refund)['fund_change'] === 'Y');
holds('refunded once', ask('alipay.trade.refund', $refund)['fund_change'] === 'N');
$found = ask('alipay.trade.fastpay.refund.query', $refund + ['query_options' => ['gmt_refund_pay']]);
holds('is refunded', $found['refund_status'] === 'REFUND_SUCCESS' && $found['refund_reason'] === '茶凉了', $found);
foreach (['alipay.trade.page.pay' => 'FAST_INSTANT_TRADE_PAY', 'alipay.trade.wap.pay' => 'QUICK_WAP_WAY'] as $method => $product) {
    $content = ['out_trade_no' => $orderNo . substr($product, 0, 4), 'total_amount' => '12.34', 'subject' => '一杯茶'];
    $address = "$simulator/alipay/gateway.do?" . http_build_query(signed($method, $content + ['product_code' => $product]));
    holds("$method opens", send('GET', $address)['status'] === 302);
}
foreach (deliveries('alipay', $orderNo, 2) as $notice) {
    parse_str(base64_decode($notice['bodyBase64']), $params);
    $sign = $params['sign'];
    unset($params['sign'], $params['sign_type']);
    holds('notice', isGenuine(textOf($params), $sign) && $params['out_trade_no'] === $orderNo, $params);
    if (isGenuine(textOf(['total_amount' => '12.35'] + $params), $sign)) fail('A changed notice is genuine.');
    holds('notice is in the charset', mb_convert_encoding($params['subject'], 'UTF-8', $params['charset']) === '一杯茶', $params);
}
