import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from unified_payment_client import WebhookVerificationError, verify_webhook

seen = set()  # in production: a table with a unique index on the event id


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        # The exact bytes, before any parser.
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            event = verify_webhook(os.environ["WEBHOOK_SECRET"], self.headers, body)
        except WebhookVerificationError as refused:
            print(refused.code, refused, flush=True)
            return self.answer(401)
        if event["id"] not in seen:
            print("handle", event["type"], event["data"]["object"], flush=True)
            seen.add(event["id"])
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


ThreadingHTTPServer(("", int(os.environ.get("PORT", "3000"))), Receiver).serve_forever()
