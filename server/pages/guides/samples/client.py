import os, time

# [call]
from unified_payment_client import Client, PaymentProblem


def call(operation, **request):
    """Repeats a request that the service marks as retryable; with a key it is done once."""
    for attempt in range(1, 6):
        try:
            return operation(**request)["data"]
        except PaymentProblem as problem:
            if not problem.retryable or attempt == 5:
                raise
            time.sleep(int(problem.headers.get("Retry-After", attempt)))
# [/call]


# [token]
# The client gets a token before the first call, and another one when it has expired.
client = Client(
    os.environ.get("PAY_SERVER", "http://127.0.0.1:8080"),
    os.environ["CLIENT_ID"],
    os.environ["CLIENT_SECRET"],
    timeout=30,
)
# [/token]

shop_order = os.environ.get("SHOP_ORDER", "1001")

# [pay]
order = call(
    client.place_payment, idempotency_key=f"pay-{shop_order}",
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
    order = call(client.query_payment, order_no=order["orderNo"])
if status != "paid":
    raise SystemExit(f"The order is {status}.")
# [/query]

# [refund]
refund = call(
    client.refund_payment, idempotency_key=f"refund-{shop_order}-1",
    body={
        "orderNo": order["orderNo"], "refundAmount": "2.50",
        "merchantRefundNo": f"{shop_order}-1",
    },
)
print("Refund {refundNo} is {status}, {refundableAmount} left".format(**refund))
# [/refund]
