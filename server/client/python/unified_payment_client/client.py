"""The client: one method for each operation of the API for merchants, with token, errors and repeats."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from email.message import Message
from http.client import HTTPException
from typing import Any, Mapping
from urllib import error, parse, request

from .operations import OPERATIONS, Operations

# A longer Retry-After is left to the caller, in seconds.
LONGEST_PAUSE = 60


class PaymentProblem(Exception):
    """A request is refused or fails. Use `code` to distinguish errors.

    `headers` contains `Retry-After` and, for HTTP 402, the ways to pay. `retryable` says whether the same request can
    succeed later; a payment or refund is repeated with its `Idempotency-Key` only. `request_id` names the request in the
    log of the service, and is None if a proxy answered. Error responses of `/oauth`, and responses that are not JSON,
    have only some members of `problem` or none.
    """

    def __init__(self, operation: str, status: int, problem: Mapping[str, Any], headers: Message) -> None:
        detail = problem.get("detail") or problem.get("error_description")
        super().__init__(detail or f"The service answered {status}.")
        self.operation = operation
        self.code = str(problem.get("code") or problem.get("error") or "internal_error")
        self.status = status
        self.retryable = problem.get("retryable") is True
        self.request_id: str | None = problem.get("requestId")
        self.problem = problem
        self.headers = headers


class Client(Operations):
    """A client of one application; threads may share it.

    The client requests a token and uses it until shortly before it expires. After HTTP 401 it repeats the request once,
    with a new token. After a broken connection, and after HTTP 429, 503 or `idempotency_in_progress` with `Retry-After`,
    it repeats only a request that moves no money twice: a GET, or one with an `idempotency_key`. For any other error the
    caller decides whether to repeat. It follows no redirect: that is a `PaymentProblem`. A member or parameter that the
    operation does not know is a `TypeError`, and nothing is sent. An address that is neither https nor on this machine is
    a `ValueError`, unless `allow_http` is set.

    Raises `PaymentProblem`, or `OSError` if the connection breaks.
    """

    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str,
        *,
        scope: str | None = None,
        retries: int = 2,
        timeout: float | None = 60,
        allow_http: bool = False,
    ) -> None:
        """`base_url`: for example `https://pay.example.com`; `scope`: the scopes (permissions) of the token, separated by
        spaces, by default all of the application; `retries`: how often a GET or a request with a key is repeated; `timeout`:
        of each operation of the socket, in seconds, so that a whole request can take longer; `allow_http`: allows http to
        another machine, and anyone between the two can then read the secret.
        """
        _refuse_clear_text(base_url, allow_http)
        self._base = base_url.rstrip("/")
        self._credentials = {"client_id": client_id, "client_secret": client_secret}
        if scope is not None:
            self._credentials["scope"] = scope
        self._retries = retries
        self._timeout = timeout
        self._token: tuple[str, float] | None = None
        self._lock = threading.Lock()
        self._opener = request.build_opener(_NoRedirects)

    def _call(
        self, name: str, parameters: Mapping[str, object], headers: Mapping[str, str | None], body: object = None
    ) -> Any:
        _refuse_unknown(name, body)
        place = OPERATIONS[name]
        url = self._base + _filled(place.path, parameters) + _search_of(place.query, parameters)
        retries = self._retries if _is_repeatable(place.method, headers) else 0
        attempt = 1
        while True:
            try:
                return self._call_once(name, url, headers, body)
            except (PaymentProblem, OSError) as failure:
                pause = _pause_after(failure, attempt)
                if attempt > retries or pause is None:
                    raise
            time.sleep(pause)
            attempt += 1

    def _call_once(self, name: str, url: str, headers: Mapping[str, str | None], body: object) -> Any:
        if OPERATIONS[name].is_open:
            return self._send(name, url, headers, body, None)
        used = self._valid_token()
        try:
            return self._send(name, url, headers, body, used[0])
        except PaymentProblem as problem:
            if problem.status != 401:
                raise
        with self._lock:
            if self._token == used:
                self._token = None
        return self._send(name, url, headers, body, self._valid_token()[0])

    def _valid_token(self) -> tuple[str, float]:
        # The lock makes threads without a token wait for one request.
        with self._lock:
            if self._token is None or time.monotonic() >= self._token[1]:
                body: Any = {"grant_type": "client_credentials", **self._credentials}
                grant = self.get_token(body=body)
                self._token = (grant["access_token"], time.monotonic() + grant["expires_in"] * 0.9)
            return self._token

    def _send(self, name: str, url: str, headers: Mapping[str, str | None], body: object, bearer: str | None) -> Any:
        sent = {"Accept": "application/json", **{header: value for header, value in headers.items() if value is not None}}
        if bearer is not None:
            sent["Authorization"] = f"Bearer {bearer}"
        if body is not None:
            sent["Content-Type"] = "application/json"
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        asked = request.Request(url, data, sent, method=OPERATIONS[name].method)
        try:
            status, received, content = self._exchange(asked)
        except HTTPException as failure:
            raise ConnectionError(f"The connection broke: {failure!r}") from failure
        answer = _body_of(received, content)
        if status >= 300:
            raise PaymentProblem(name, status, answer if isinstance(answer, dict) else {}, received)
        return answer

    def _exchange(self, asked: request.Request) -> tuple[int, Message, bytes]:
        try:
            with self._opener.open(asked, timeout=self._timeout) as answer:
                return answer.status, answer.headers, answer.read()
        except error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers, refused.read()


class _NoRedirects(request.HTTPRedirectHandler):
    """urllib would send the token to the target, and turn a POST into a GET."""

    def redirect_request(self, *_: object) -> None:
        return None


def _refuse_clear_text(base_url: str, allow_http: bool) -> None:
    """Refuses an address to which the secret would be sent for others to read."""
    address = parse.urlsplit(base_url)
    is_here = re.fullmatch(r"127(\.[0-9]{1,3}){3}|::1|localhost", address.hostname or "")
    if address.scheme == "https" or (address.scheme == "http" and (is_here or allow_http)):
        return
    raise ValueError("The secret would be sent in the clear: use https, or allow http for a network that you trust.")


def _refuse_unknown(name: str, body: object) -> None:
    members = OPERATIONS[name].body
    if members is None or not isinstance(body, dict):
        return
    unknown = [member for member in body if member not in members]
    if unknown:
        raise TypeError(f"{name} does not know {', '.join(unknown)}; nothing was sent.")


def _is_repeatable(method: str, headers: Mapping[str, str | None]) -> bool:
    return method == "GET" or any(
        header.lower() == "idempotency-key" and value is not None for header, value in headers.items()
    )


def _pause_after(failure: Exception, attempt: int) -> float | None:
    """The seconds before the request may be repeated; None if its repeat is left to the caller."""
    if not isinstance(failure, PaymentProblem):
        return attempt / 2
    can_wait = failure.status in (429, 503) or failure.code == "idempotency_in_progress"
    try:
        seconds = float(failure.headers.get("Retry-After", math.nan))
    except ValueError:
        return None
    return max(seconds, 0) if can_wait and seconds <= LONGEST_PAUSE else None


def _filled(path: str, parameters: Mapping[str, object]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: _segment(found[1], str(parameters[found[1]])), path)


def _segment(name: str, value: str) -> str:
    """Encodes a path parameter. An empty value, "." or ".." would change the path, so they are rejected."""
    if value in ("", ".", ".."):
        raise TypeError(f'The parameter {name} must not be empty, "." or "..".')
    return parse.quote(value, safe="")


def _search_of(names: tuple[str, ...], parameters: Mapping[str, object]) -> str:
    given = {name: parameters[name] for name in names if parameters.get(name) is not None}
    return "" if not given else f"?{parse.urlencode(given)}"


def _body_of(headers: Message, data: bytes) -> Any:
    if not data:
        return None
    is_json = re.search(r"[/+]json\b", headers.get("Content-Type", ""))
    return json.loads(data) if is_json else data.decode(errors="replace")
