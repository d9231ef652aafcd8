# SPDX-License-Identifier: Apache-2.0
"""A running simulator: its addresses and credentials, what clients sent, and what it is to do."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import pathlib
import secrets
import select
import shutil
import ssl
import subprocess
import tempfile
import time
import typing
import urllib.parse
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

DeviceState = typing.Literal[
    "active", "unregistered", "expired", "bad", "offline", "power-restricted"
]
Environment = typing.Literal["production", "sandbox"]
_Record = typing.TypeVar("_Record")


class GatewayError(Exception):
    """The simulator did not start, or refused what it was asked; the text says why."""


def program_path() -> str:
    """The path of the simulator's executable in this package."""
    path = pathlib.Path(__file__).with_name("program") / "apns-simulator"
    if not path.exists():
        raise GatewayError(
            f"{path} is missing: install the wheel of apns-simulator, which has the program inside"
        )
    return str(path)


@dataclass(frozen=True)
class Request:
    """A request that a client sent, and its answer."""

    apns_id: str
    #: 0 when there was no answer.
    status: int
    reason: str | None
    #: None for broadcasts and channel management.
    token: str | None
    topic: str | None
    push_type: str | None
    #: What became of the push, such as ``delivered``.
    fate: str | None
    environment: str
    #: Counted from 1 since the last reset.
    connection: int
    stream: int
    #: By the gateway's clock, in milliseconds since 1970.
    time: int
    #: Names and values in their order; empty for all but the newest requests. A provider token has no signature.
    headers: tuple[tuple[str, str], ...]
    body: str | None
    #: All fields as the simulator reports them.
    raw: Mapping[str, typing.Any] = field(repr=False, compare=False)

    @property
    def payload(self) -> typing.Any:
        """The body as JSON."""
        return None if self.body is None else json.loads(self.body)

    def header(self, name: str) -> str | None:
        """The first header field with this name, or None."""
        return next((value for key, value in self.headers if key == name.lower()), None)

    @classmethod
    def _read(cls, raw: Mapping[str, typing.Any]) -> Request:
        return cls(
            apns_id=raw.get("apns_id", ""),
            status=raw.get("status", 0),
            reason=raw.get("reason"),
            token=raw.get("token"),
            topic=raw.get("topic"),
            push_type=raw.get("type"),
            fate=raw.get("fate"),
            environment=raw["environment"],
            connection=raw["connection"],
            stream=raw["stream"],
            time=raw["time"],
            headers=tuple((entry[0], entry[1]) for entry in raw.get("headers", ())),
            body=raw.get("body"),
            raw=raw,
        )


@dataclass(frozen=True)
class Delivery:
    """A notification that a device received."""

    token: str
    app: str
    apns_id: str
    push_type: str | None
    priority: int
    collapse_id: str | None
    #: By the gateway's clock, in milliseconds since 1970.
    received: int
    delivered: int
    #: The device was offline when the notification came.
    waited: bool
    #: A later notification with the same collapse id took its place on the device.
    replaced: bool
    #: The device had this notification already.
    duplicate: bool
    #: Why the device did not wake the app, such as ``background-budget``.
    dropped: str | None
    body: str | None
    #: All fields as the simulator reports them.
    raw: Mapping[str, typing.Any] = field(repr=False, compare=False)

    @property
    def payload(self) -> typing.Any:
        """The body as JSON."""
        return None if self.body is None else json.loads(self.body)

    @classmethod
    def _read(cls, raw: Mapping[str, typing.Any]) -> Delivery:
        return cls(
            token=raw["token"],
            app=raw["app"],
            apns_id=raw["apns_id"],
            push_type=raw.get("type"),
            priority=raw["priority"],
            collapse_id=raw.get("collapse_id"),
            received=raw["received"],
            delivered=raw["delivered"],
            waited=raw["waited"],
            replaced=raw["replaced"],
            duplicate=raw["duplicate"],
            dropped=raw.get("dropped"),
            body=raw.get("body"),
            raw=raw,
        )


class Device:
    """A device that the gateway knows."""

    def __init__(self, gateway: Gateway, token: str) -> None:
        self._gateway = gateway
        #: The device token, in hexadecimal digits.
        self.token = token

    def __repr__(self) -> str:
        return f"Device({self.token[:8]}…)"

    def uninstall(self, at: datetime | None = None) -> None:
        """The app is removed: pushes get 410 Unregistered, from the given time or from now."""
        self._change("uninstall", at)

    def expire(self, at: datetime | None = None) -> None:
        """The token expires: pushes get 410 ExpiredToken."""
        self._change("expire", at)

    def reregister(self) -> None:
        """The token is valid again."""
        self._change("reregister")

    def offline(self) -> None:
        """The device is not connected: the newest notification of each app is stored for it."""
        self._change("offline")

    def online(self) -> int:
        """The device is connected; returns how many stored notifications it received."""
        return self._change("online")

    def restrict_power(self) -> None:
        """The device saves power: it receives only what has priority 10."""
        self._change("restrict-power")

    def deliveries(
        self, *, visible: bool = False, at_least: int = 0, within: float = 5
    ) -> list[Delivery]:
        """What this device received; see `Gateway.deliveries`."""
        return self._gateway.deliveries(
            token=self.token, visible=visible, at_least=at_least, within=within
        )

    def _change(self, verb: str, at: datetime | None = None) -> int:
        query = "" if at is None else f"?ts={int(at.timestamp() * 1000)}"
        answer = self._gateway.admin_request("POST", f"/tokens/{self.token}/{verb}{query}")
        return int(answer.get("delivered", 0))


class Gateway:
    """A running ``apns-simulator``. Make one with `start`, or take the fixture ``apns_gateway``."""

    def __init__(self, announcement: Mapping[str, str], close: Callable[[], None]) -> None:
        self._close = close
        #: What the simulator said when it was ready.
        self.announcement = dict(announcement)
        #: Where production pushes go, as HOST:PORT; its certificate is also one for ``localhost``.
        self.address = announcement["listening"]
        self.sandbox = announcement["sandbox"]
        self.management = announcement["management"]
        self.sandbox_management = announcement["sandbox_management"]
        #: The admin API, plain HTTP.
        self.admin = announcement["admin"]
        #: The certificate that a client must trust (PEM).
        self.root = announcement["root"]
        #: The signing key (.p8), and its ids.
        self.key = announcement["key"]
        self.key_id = announcement["key_id"]
        self.team_id = announcement["team_id"]
        #: A client certificate for `client_topic`, and its key (PEM); both in PKCS #12.
        self.client_certificate = announcement["client_certificate"]
        self.client_key = announcement["client_key"]
        self.client_p12 = announcement["client_p12"]
        self.client_p12_password = announcement["client_p12_password"]
        self.client_topic = announcement["client_topic"]

    @classmethod
    def start(
        cls,
        *flags: str,
        folder: str | os.PathLike[str] | None = None,
        program: str | None = None,
        timeout: float = 20,
    ) -> Gateway:
        """Starts a simulator on free ports.

        It ends with `close`, at the end of a ``with`` block, or with this process, however that ends.

        :param flags: Flags of the program, such as ``"--throttle", "off"``.
        :param folder: Where its keys and certificates are or are made; by default a temporary folder.
        :param program: An executable other than the package's own.
        :param timeout: The number of seconds that the start may take.
        """
        temporary = None if folder is not None else tempfile.mkdtemp(prefix="apns-gateway-")
        process: subprocess.Popen[bytes] | None = None
        try:
            with tempfile.TemporaryFile() as log:
                process = subprocess.Popen(
                    [
                        program or program_path(),
                        "--dev",
                        os.fspath(folder or temporary or ""),
                        *flags,
                    ],
                    # It ends when this pipe closes.
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    # MARTLET_… is a setting of the program; a test says all of its own.
                    env={k: v for k, v in os.environ.items() if not k.startswith("MARTLET_")},
                    # Ctrl-C is for the tests, which end the gateway afterwards.
                    start_new_session=True,
                )
                line = _first_line(process, timeout)
                if not line:
                    log.seek(0)
                    said = log.read().decode("utf-8", "replace").strip()
                    raise GatewayError(f"apns-simulator did not start: {said or 'it said nothing'}")
            announcement = json.loads(line)
        except OSError as error:
            _end(process, temporary)
            raise GatewayError(f"apns-simulator did not start: {error}") from error
        except BaseException:
            _end(process, temporary)
            raise
        gateway = cls(announcement, lambda: None)
        gateway._close = weakref.finalize(gateway, _end, process, temporary)
        return gateway

    def close(self) -> None:
        """Ends the simulator, and removes its folder if that is a temporary one."""
        self._close()

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Gateway({self.url})"

    # What a client needs.

    @property
    def host(self) -> str:
        """The host of `address`."""
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> int:
        """The port of `address`."""
        return int(self.address.rpartition(":")[2])

    @property
    def url(self) -> str:
        """Where production pushes go."""
        return f"https://{self.address}"

    @property
    def key_text(self) -> str:
        """The content of `key`."""
        return pathlib.Path(self.key).read_text("ascii")

    def ssl_context(self, *, certificate: bool = False) -> ssl.SSLContext:
        """A context that trusts the gateway and offers HTTP/2.

        :param certificate: Whether the client shows its certificate, which makes provider tokens unnecessary.
        """
        context = ssl.create_default_context(cafile=self.root)
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(self.client_certificate, self.client_key)
        return context

    # What happened.

    def requests(self, *, at_least: int = 0, within: float = 5) -> list[Request]:
        """Every request since the last reset, in the order of arrival.

        :param at_least: The number of requests to wait for; fewer raise `TimeoutError`.
        :param within: The number of seconds to wait.
        """
        return _wait(lambda: self._lines("/requests", Request._read), "requests", at_least, within)

    def deliveries(
        self,
        *,
        token: str | None = None,
        app: str | None = None,
        visible: bool = False,
        at_least: int = 0,
        within: float = 5,
    ) -> list[Delivery]:
        """What devices received since the last reset, in order.

        :param visible: Only what devices show: no duplicate, nothing replaced, no push without anything to show.
        :param at_least: The number of deliveries to wait for; fewer raise `TimeoutError`.
        :param within: The number of seconds to wait.
        """
        filters = {"token": token, "app": app, "visible": "true" if visible else None}
        query = urllib.parse.urlencode({k: v for k, v in filters.items() if v is not None})
        return _wait(
            lambda: self._lines(f"/delivered?{query}", Delivery._read),
            "deliveries",
            at_least,
            within,
        )

    def counters(self) -> dict[str, typing.Any]:
        """Counts since the last reset, also by reason."""
        return self.admin_request("GET", "/counters")

    def connections(self) -> list[dict[str, typing.Any]]:
        """The open connections."""
        return list(self.admin_request("GET", "/connections")["connections"])

    # What the gateway is to do.

    def reset(self) -> None:
        """Makes the gateway as new: no requests, deliveries, devices or faults, its own clock and behaviour.

        Connections stay open; `end_connections` ends them.
        """
        if self.faults():
            self.clear_faults()
        self.admin_request("POST", "/reset")

    def device(
        self,
        token: str | None = None,
        *,
        state: DeviceState = "active",
        topic: str | None = None,
        environment: Environment | None = None,
        timestamp: datetime | None = None,
    ) -> Device:
        """Declares a device, by default a new one.

        :param topic: The only topic that the token is valid for.
        :param environment: The only environment that the token is valid in.
        :param timestamp: Since when it is unregistered or expired.
        """
        entry: dict[str, typing.Any] = {"token": token or secrets.token_hex(32), "state": state}
        if topic is not None:
            entry["topic"] = topic
        if environment is not None:
            entry["environment"] = environment
        if timestamp is not None:
            entry["timestamp"] = int(timestamp.timestamp() * 1000)
        self.admin_request("PUT", "/tokens", [entry])
        return Device(self, entry["token"])

    def fault(
        self,
        fault: str,
        /,
        *,
        at: str | None = None,
        when: Mapping[str, typing.Any] | None = None,
        **fields: typing.Any,
    ) -> None:
        """Adds a rule that breaks, refuses or delays something, such as ``fault("connection_lost")``.

        :param fault: The fault's name.
        :param at: The moment, if it is not the fault's default.
        :param when: Conditions, such as ``{"nth": 2}`` or ``{"times": 1}``; without them the rule always fires.
        :param fields: The fault's own fields, such as ``status=503``; ``with_="reset"`` for the one named ``with``.
        """
        rule: dict[str, typing.Any] = {"id": fault}
        rule.update((name.removesuffix("_"), value) for name, value in fields.items())
        if at is not None:
            rule["at"] = at
        if when is not None:
            rule["when"] = dict(when)
        self.admin_request("POST", "/faults", [rule])

    def faults(self) -> list[dict[str, typing.Any]]:
        """The rules, and how often each fired."""
        return list(self.admin_request("GET", "/faults")["rules"])

    def clear_faults(self) -> None:
        """Removes every rule. A connection that is broken stays so."""
        self.admin_request("DELETE", "/faults")

    def advance(
        self,
        by: timedelta = timedelta(0),
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> datetime:
        """Moves the gateway's clock, and returns its time. A negative time moves it back.

        The tests' own clock stays: an hour ahead, the gateway refuses provider tokens of this moment.
        """
        total = by + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        body = {"milliseconds": round(total / timedelta(milliseconds=1))}
        now = self.admin_request("POST", "/clock/advance", body)["now"]
        return datetime.fromtimestamp(now / 1000, timezone.utc)

    def profile(self, **switches: typing.Any) -> None:
        """Switches behaviours, such as ``profile(throttle="off", latency="20ms", service="unavailable")``.

        An underscore stands for a hyphen: ``bad_certificate="status"``.
        """
        self.admin_request(
            "PUT", "/profile", {name.replace("_", "-"): value for name, value in switches.items()}
        )

    def expire_provider_tokens(self) -> int:
        """Every provider token seen so far counts as expired; returns how many."""
        return int(self.admin_request("POST", "/provider-tokens/expire")["expired"])

    def end_connections(self) -> None:
        """Sends GOAWAY on all connections and closes them."""
        self.admin_request("POST", "/connections/all/goaway")

    def admin_request(self, method: str, path: str, body: object = None) -> dict[str, typing.Any]:
        """Any request of the admin API, with its answer; a refused one raises `GatewayError`."""
        answer = self._ask(method, path, body)
        return dict(json.loads(answer)) if answer.strip() else {}

    def _lines(
        self, path: str, read: Callable[[Mapping[str, typing.Any]], _Record]
    ) -> list[_Record]:
        # Not splitlines(): it would also part a body at other separators.
        lines = self._ask("GET", path, None).decode("utf-8", "replace").split("\n")
        return [read(json.loads(line)) for line in lines if line]

    def _ask(self, method: str, path: str, body: object) -> bytes:
        connection = http.client.HTTPConnection(self.admin, timeout=20)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content)
            response = connection.getresponse()
            answer = response.read()
        except OSError as error:
            raise GatewayError(
                f"apns-simulator does not answer at {self.admin}: {error}"
            ) from error
        finally:
            connection.close()
        if response.status != 200:
            raise GatewayError(_problem(answer) or f"{method} {path}: {response.status}")
        return answer


def _problem(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["error"])
    except (ValueError, KeyError, TypeError):
        return answer.decode("utf-8", "replace").strip()


def _wait(
    look: Callable[[], list[_Record]], what: str, at_least: int, within: float
) -> list[_Record]:
    end = time.monotonic() + within
    for pause in itertools.chain((0.002, 0.005, 0.01), itertools.repeat(0.02)):
        found = look()
        if len(found) >= at_least:
            return found
        if time.monotonic() >= end:
            raise TimeoutError(f"{len(found)} {what} within {within} s; {at_least} were expected")
        time.sleep(pause)
    raise AssertionError("the pauses have no end")


def _first_line(process: subprocess.Popen[bytes], timeout: float) -> bytes:
    """What the process prints first; empty if it ends, or the time is up, before."""
    assert process.stdout is not None
    end = time.monotonic() + timeout
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 65536) if ready else b""
        if not piece:
            return b""
        line += piece
    return line


def _end(process: subprocess.Popen[bytes] | None, folder: str | None) -> None:
    if process is not None:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        for ask in (None, process.terminate, process.kill):
            if ask is not None:
                ask()
            try:
                process.wait(5)
                break
            except subprocess.TimeoutExpired:
                continue
        process.stdout.close()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
