"""A client of PayPal's Orders v2 and its webhooks, written from the documents (developer.paypal.com: Orders v2, Payments v2,
"Integrate webhooks", verification on your own) with Python's standard library; `openssl` checks signatures. Arguments: the
simulator's address, an account."""

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zlib

SIMULATOR, ACCOUNT = sys.argv[1:]


def send(method, path, body=None, headers=None):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(SIMULATOR + path, data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def control(path, body=None):
    status, answer = send("GET" if body is None else "POST", path, body, {"content-type": "application/json"})
    if status >= 300:
        sys.exit(f"{path}: {answer}")
    return json.loads(answer or b"{}")


def holds(what, does, seen=None):
    if not does:
        sys.exit(f"{what}: {seen}")
    print(what)


CONFIG = control(f"/sim/config?account={ACCOUNT}")["paypal"]
FIELDS = CONFIG["fields"]
SECRET = base64.b64encode(f"{FIELDS['clientId']}:{FIELDS['clientSecret']}".encode()).decode()
FORM = {"Authorization": f"Basic {SECRET}", "Content-Type": "application/x-www-form-urlencoded"}
STATUS, ANSWER = send("POST", "/paypal/v1/oauth2/token", b"grant_type=client_credentials", FORM)
TOKEN = json.loads(ANSWER)["access_token"]


def ask(method, path, body=None, number=None):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Prefer": "return=representation"}
    if number:
        headers["PayPal-Request-Id"] = number
    status, answer = send(method, f"/paypal{path}", body, headers)
    return status, json.loads(answer)


def verified(headers, body):
    """Whether the certificate chains to the authority and signed `id|time|webhook|CRC32`."""
    text = f"{headers['paypal-transmission-id']}|{headers['paypal-transmission-time']}|{FIELDS['webhookId']}|{zlib.crc32(body)}"
    with urllib.request.urlopen(headers["paypal-cert-url"]) as answer:
        certificates = answer.read()
    files = {
        "leaf": certificates,
        "root": CONFIG["pems"]["paypal_simulator_ca"][0].encode(),
        "text": text.encode(),
        "signature": base64.b64decode(headers["paypal-transmission-sig"]),
    }
    with tempfile.TemporaryDirectory() as folder:
        at = {name: os.path.join(folder, name) for name in [*files, "key"]}
        for name, content in files.items():
            with open(at[name], "wb") as file:
                file.write(content)
        openssl = lambda *words: subprocess.run(["openssl", *words], capture_output=True, check=False)
        chain = openssl("verify", "-CAfile", at["root"], "-untrusted", at["leaf"], at["leaf"])
        with open(at["key"], "wb") as file:
            file.write(openssl("x509", "-in", at["leaf"], "-noout", "-pubkey").stdout)
        signed = openssl("dgst", "-sha256", "-verify", at["key"], "-signature", at["signature"], at["text"])
        return chain.returncode == 0 and signed.returncode == 0


ORDER_NO = f"PY{time.time_ns()}"
UNIT = {"custom_id": ORDER_NO, "invoice_id": ORDER_NO, "amount": {"currency_code": "USD", "value": "12.34"}}
CONTEXT = {"return_url": "https://shop.example/back", "cancel_url": "https://shop.example/cancelled"}
SOURCE = {"paypal": {"experience_context": CONTEXT}}
WANTED = {"intent": "CAPTURE", "purchase_units": [UNIT], "payment_source": SOURCE}
_, order = ask("POST", "/v2/checkout/orders", WANTED, ORDER_NO)
holds("placed", order["status"] == "PAYER_ACTION_REQUIRED", order)
holds("placed once", ask("POST", "/v2/checkout/orders", WANTED, ORDER_NO)[1]["id"] == order["id"])
CAPTURE = f"/v2/checkout/orders/{order['id']}/capture"
status, refusal = ask("POST", CAPTURE, {}, f"{ORDER_NO}-c1")
holds("is not approved", status == 422 and refusal["details"][0]["issue"] == "ORDER_NOT_APPROVED", refusal)
control("/sim/approve", {"orderNo": ORDER_NO})
holds("approved", ask("GET", f"/v2/checkout/orders/{order['id']}")[1]["status"] == "APPROVED")
_, captured = ask("POST", CAPTURE, {}, f"{ORDER_NO}-c2")
capture = captured["purchase_units"][0]["payments"]["captures"][0]
holds("captured", capture["status"] == "COMPLETED" and capture["amount"]["value"] == "12.34", captured)
REFUND = {"amount": {"currency_code": "USD", "value": "2.34"}, "invoice_id": f"{ORDER_NO}R"}
_, refund = ask("POST", f"/v2/payments/captures/{capture['id']}/refund", REFUND, f"{ORDER_NO}R")
holds("refunded", refund["status"] == "COMPLETED" and refund["amount"]["value"] == "2.34", refund)
_, again = ask("POST", f"/v2/payments/captures/{capture['id']}/refund", REFUND, f"{ORDER_NO}R")
holds("refunded once", again["id"] == refund["id"], again)
holds("is refunded", ask("GET", f"/v2/payments/refunds/{refund['id']}")[1]["status"] == "COMPLETED")
_, seen = ask("GET", f"/v2/payments/captures/{capture['id']}")
holds("is refunded in part", seen["status"] == "PARTIALLY_REFUNDED", seen)

events = []
for _ in range(600):
    events = control(f"/sim/deliveries?payWay=paypal&orderNo={ORDER_NO}")["deliveries"]
    if len(events) >= 3:
        break
    time.sleep(0.05)
for event in events:
    sent, content = {name.lower(): value for name, value in event["headers"].items()}, base64.b64decode(event["bodyBase64"])
    holds(f"webhook {event['event']}", verified(sent, content), sent)
    if verified(sent, content + b" "):
        sys.exit("A changed webhook is genuine.")
