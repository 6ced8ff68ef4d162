<?php

// [verify]
/** Whether the service signed this body, within the last five minutes. */
function isGenuine(string $body): bool
{
    $key = base64_decode(preg_replace('/^whsec_/', '', getenv('WEBHOOK_SECRET')));
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $at = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($at) || abs(time() - (int) $at) > 300) {
        return false;
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", $key, true));
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}
// [/verify]

$body = file_get_contents('php://input'); // the exact bytes, before any parser
if (!isGenuine($body)) {
    http_response_code(401);
    return;
}
$event = json_decode($body);
// In production: a table with a unique index on the event id.
if (@fopen(sys_get_temp_dir() . '/' . md5($event->id) . '.seen', 'x')) {
    error_log("handle $event->type " . json_encode($event->data->object));
}
http_response_code(204);
