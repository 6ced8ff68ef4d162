"""Verification of webhook messages by Standard Webhooks 1.0 (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from typing import Literal, Protocol, Iterable, Sequence

from .operations import WebhookEvent

# Why a message was refused. The codes are stable.
WebhookFault = Literal[
    "missing_header", "timestamp_out_of_tolerance", "signature_mismatch", "invalid_body", "invalid_secret"
]

# Messages with a timestamp further away than this are refused, in seconds.
TOLERANCE = 300


class WebhookVerificationError(Exception):
    """A message does not come from the service, or is old. Answer 401, and do not read its body."""

    def __init__(self, code: WebhookFault, message: str) -> None:
        super().__init__(message)
        self.code = code


class Headers(Protocol):
    """A dict, or the headers of a request of the standard library and of the usual frameworks."""

    def items(self) -> Iterable[tuple[str, str]]: ...


def verify_webhook(
    secret: str | Sequence[str], headers: Headers, body: bytes | str, now: float | None = None
) -> WebhookEvent:
    """Verifies a message and returns its event.

    `secret`: the signing secret `whsec_…`, or several of them during a rotation: one must match. `headers`: the headers
    of the request; case does not matter. `body`: the body as received: the exact bytes or the exact text, before any
    parser. `now`: the time of the receipt, in seconds since 1970.

    Raises `WebhookVerificationError` with a stable `code`.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message_id, at, signatures = (given.get(f"webhook-{name}") or "" for name in ("id", "timestamp", "signature"))
    if message_id == "" or at == "" or signatures == "":
        raise WebhookVerificationError(
            "missing_header", "A header webhook-id, -timestamp or -signature is missing."
        )
    received = time.time() if now is None else now
    # Written so that a time that is no number is refused too.
    if not re.fullmatch(r"[0-9]{1,15}", at) or not abs(received - int(at)) <= TOLERANCE:
        raise WebhookVerificationError(
            "timestamp_out_of_tolerance", f"The timestamp is not within {TOLERANCE} s of now."
        )

    data = _bytes_of(body) if isinstance(body, str) else body
    signed = _bytes_of(f"{message_id}.{at}.") + data
    ours = [_bytes_of(one[3:]) for one in signatures.split(" ") if one.startswith("v1,")]
    is_genuine = False
    for one in [secret] if isinstance(secret, str) else secret:
        expected = base64.b64encode(hmac.new(_key_of(one), signed, hashlib.sha256).digest())
        for signature in ours:
            # `compare_digest` compares in constant time.
            if hmac.compare_digest(expected, signature):
                is_genuine = True
    if not is_genuine:
        raise WebhookVerificationError("signature_mismatch", "No signature matches the secret.")
    try:
        return json.loads(data.decode())
    except ValueError:
        raise WebhookVerificationError("invalid_body", "The body is signed, but it is not JSON.") from None


def _bytes_of(text: str) -> bytes:
    """A lone surrogate becomes bytes that are no UTF-8, so that no signature of the service matches them."""
    return text.encode(errors="surrogatepass")


def _key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if key == b"":
        raise WebhookVerificationError("invalid_secret", "The secret is not base64 text after whsec_.")
    return key
