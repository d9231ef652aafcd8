# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: the fixture ``apns_gateway``."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from .gateway import Gateway, GatewayError, Request

#: How many requests the report of a failed test shows.
_SHOWN = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the setting of this plugin."""
    parser.addini(
        "apns_gateway_flags",
        "flags of apns-simulator for the fixture apns_gateway, such as: --throttle off",
        type="args",
        default=[],
    )


@pytest.fixture(scope="session")
def apns_gateway_process(pytestconfig: pytest.Config) -> Iterator[Gateway]:
    """The simulator that all tests of the session use, one after the other."""
    with Gateway.start(*pytestconfig.getini("apns_gateway_flags")) as gateway:
        yield gateway


@pytest.fixture
def apns_gateway(apns_gateway_process: Gateway) -> Gateway:
    """A gateway that behaves like APNs, as new in each test."""
    apns_gateway_process.reset()
    return apns_gateway_process


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds to the report of a failed test what the gateway was asked."""
    report = yield
    gateway = getattr(item, "funcargs", {}).get("apns_gateway")
    if report.when == "call" and report.failed and isinstance(gateway, Gateway):
        try:
            requests = gateway.requests()
        except GatewayError as error:
            report.sections.append(("apns_gateway", str(error)))
        else:
            lines = [_line(request) for request in requests[-_SHOWN:]] or ["no requests"]
            report.sections.append((f"apns_gateway: {len(requests)} requests", "\n".join(lines)))
    return report


def _line(request: Request) -> str:
    """A request in a line; its device token is shortened."""
    token = "" if request.token is None else f" token {request.token[:8]}…"
    answer = f"{request.status} {request.reason or request.fate or ''}".rstrip()
    return f"{answer}{token} topic {request.topic} connection {request.connection}"
