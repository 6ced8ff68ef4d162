import json, os, time
from urllib import error, parse, request

# [call]
SERVER = os.environ.get("PAY_SERVER", "http://127.0.0.1:8080")


class Refusal(Exception):
    """A refusal of the service: branch on `code`, never on the text."""

    def __init__(self, problem, retry_after):
        super().__init__("{code}: {detail} (request {requestId})".format(**problem))
        self.code, self.retryable = problem["code"], problem["retryable"]
        self.retry_after = retry_after


def send(method, path, token, body=None, key=None):
    headers = {"Authorization": f"Bearer {token}"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if key is not None:
        headers["Idempotency-Key"] = key
    data = None if body is None else json.dumps(body).encode()
    asked = request.Request(SERVER + path, data, headers, method=method)
    try:
        with request.urlopen(asked, timeout=30) as answer:
            return json.load(answer)["data"]
    except error.HTTPError as refused:
        retry_after = int(refused.headers.get("Retry-After", 1))
        raise Refusal(json.load(refused), retry_after) from refused


def call(*asked, **more):
    """Repeats a request while its outcome is not known; with a key it is done once."""
    for attempt in range(1, 6):
        try:
            return send(*asked, **more)
        except (Refusal, OSError, ValueError) as failure:
            is_final = isinstance(failure, Refusal) and not failure.retryable
            if is_final or attempt == 5:
                raise
            time.sleep(getattr(failure, "retry_after", attempt))
# [/call]


# [token]
def get_token(client_id, client_secret):
    """Keep the token for a little less than `expires_in` seconds, then get another one."""
    form = parse.urlencode({
        "grant_type": "client_credentials",
        "client_id": client_id,
        "client_secret": client_secret,
    })
    try:
        with request.urlopen(f"{SERVER}/oauth/token", form.encode(), timeout=30) as answer:
            return json.load(answer)["access_token"]
    except error.HTTPError as refused:
        raise RuntimeError(json.load(refused)["error_description"]) from refused
# [/token]


shop_order = os.environ.get("SHOP_ORDER", "1001")
token = get_token(os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])

# [pay]
order = call(
    "POST", "/api/v2/payment/pay", token, key=f"pay-{shop_order}",
    body={
        "subject": "Two coffees", "amount": "12.50",
        "payWay": "alipay", "merchantOrderNo": shop_order,
    },
)
print("Please pay at", order["payUrl"], flush=True)
# [/pay]

# [query]
while (status := order["status"]) in ("created", "pending"):
    time.sleep(2)
    order = call("GET", f'/api/v2/payment/query/{order["orderNo"]}', token)
if status != "paid":
    raise SystemExit(f"The order is {status}.")
# [/query]

# [refund]
refund = call(
    "POST", "/api/v2/payment/refund", token, key=f"refund-{shop_order}-1",
    body={
        "orderNo": order["orderNo"], "refundAmount": "2.50",
        "merchantRefundNo": f"{shop_order}-1",
    },
)
print("Refund {refundNo} is {status}, {refundableAmount} left".format(**refund))
# [/refund]
