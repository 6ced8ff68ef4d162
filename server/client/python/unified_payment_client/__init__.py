"""Client of the unified payment service; see README.md."""

from .client import Client, PaymentProblem
from .webhook import WebhookVerificationError, verify_webhook

__all__ = ["Client", "PaymentProblem", "WebhookVerificationError", "verify_webhook"]
