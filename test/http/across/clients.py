"""Runs steps of clients.json with the Python client: one JSON object a line on stdin, its result a line on stdout."""

import json
import re
import sys
import time

from unified_payment_client import Client, PaymentProblem, WebhookVerificationError, verify_webhook


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name.replace("-", "_")).lower()


def call(client: Client, step: dict) -> object:
    given = dict(step.get("input", {}))
    headers = given.pop("headers", {})
    body = {"body": given.pop("body")} if "body" in given else {}
    names = {snake(name): value for name, value in {**given, **headers}.items()}
    return getattr(client, snake(step["call"]))(**names, **body)


def verify(step: dict) -> object:
    asked = step["verify"]
    now = float(asked.get("now", time.time() + asked.get("later", 0)))
    body = asked["body"] if asked.get("asText") else asked["body"].encode()
    return verify_webhook(asked["secret"], asked["headers"], body, now)


def result_of(clients: list, step: dict) -> dict:
    try:
        if not clients[1:]:
            *args, allow_http = clients[0]
            clients.append(Client(*args, allow_http=allow_http))
        return {"answer": call(clients[1], step) if "call" in step else verify(step)}
    except PaymentProblem as problem:
        return {"error": {
            "name": "PaymentProblem", "operation": problem.operation, "code": problem.code, "status": problem.status,
            "retryable": problem.retryable, "hasRequestId": problem.request_id is not None, "problem": problem.problem,
        }}
    except WebhookVerificationError as refused:
        return {"error": {"name": "WebhookVerificationError", "code": refused.code}}
    except TypeError as wrong:
        return {"error": {"name": "TypeError", "message": str(wrong)}}
    except ValueError as wrong:
        return {"error": {"name": "ValueError", "message": str(wrong)}}
    except OSError as broken:
        return {"error": {"name": "connection", "message": str(broken)}}


# The arguments of the client, and then the client.
clients: list = []
for line in sys.stdin:
    step = json.loads(line)
    if "client" in step:
        clients = [step["client"]]
        continue
    print(json.dumps(result_of(clients, step)), flush=True)
