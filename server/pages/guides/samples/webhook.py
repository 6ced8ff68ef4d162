import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# [verify]
KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))


def is_genuine(headers, body: bytes) -> bool:
    """Whether the service signed this body, within the last five minutes."""
    event_id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not at.isdecimal() or abs(time.time() - int(at)) > 300:
        return False
    digest = hmac.new(KEY, f"{event_id}.{at}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected, one.encode()) for one in given)
# [/verify]


seen = set()  # in production: a table with a unique index on the event id


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        # The exact bytes, before any parser.
        body = self.rfile.read(int(self.headers["content-length"]))
        genuine = is_genuine(self.headers, body)
        if genuine and (event := json.loads(body))["id"] not in seen:
            print("handle", event["type"], event["data"]["object"], flush=True)
            seen.add(event["id"])
        self.send_response(204 if genuine else 401)
        self.end_headers()


ThreadingHTTPServer(("", int(os.environ.get("PORT", "3000"))), Receiver).serve_forever()
