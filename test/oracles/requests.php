<?php
// Shared by the PHP clients: JSON over HTTP and assertions.
declare(strict_types=1);

/** Sends a request; returns the status, headers (lower case) and body. */
function send(string $method, string $url, array $headers = [], ?string $body = null): array
{
    $http = ['method' => $method, 'header' => $headers, 'ignore_errors' => true, 'follow_location' => 0];
    if ($body !== null) $http['content'] = $body;
    $text = file_get_contents($url, false, stream_context_create(['http' => $http]));
    preg_match('/ (\d{3})/', $http_response_header[0], $status);
    $named = [];
    foreach (array_slice($http_response_header, 1) as $line) {
        [$name, $value] = explode(':', $line, 2);
        $named[strtolower($name)] = trim($value);
    }
    return ['status' => (int) $status[1], 'headers' => $named, 'body' => $text];
}

/** Calls the simulator's control API. */
function control(string $path, ?array $body = null): array
{
    global $simulator;
    $headers = ['content-type: application/json'];
    $answer = send($body === null ? 'GET' : 'POST', $simulator . $path, $headers, $body === null ? null : json_encode($body));
    if ($answer['status'] >= 300) fail("$path: {$answer['body']}");
    return json_decode($answer['body'], true) ?? [];
}

function fail(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(1);
}

/** Prints the step if it holds, otherwise exits. */
function holds(string $what, bool $does, mixed $seen = null): void
{
    if (!$does) fail("$what: " . json_encode($seen, JSON_UNESCAPED_UNICODE));
    echo "$what\n";
}

/** Repeats the call until the result is good. */
function until(string $what, callable $ask, callable $isGood): mixed
{
    for ($tries = 0; $tries < 600; $tries++) {
        $answer = $ask();
        if ($isGood($answer)) return $answer;
        usleep(50_000);
    }
    fail("Waited in vain for $what");
}

/** Waits for at least this many deliveries of an order. */
function deliveries(string $payWay, string $orderNo, int $atLeast): array
{
    $ask = fn () => control("/sim/deliveries?payWay=$payWay&orderNo=$orderNo")['deliveries'];
    return until('notices', $ask, fn ($found) => count($found) >= $atLeast);
}
