# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: the fixture ``apns_gateway``."""

from __future__ import annotations

import shutil
import typing
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
def apns_gateway_process(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    """The simulator that all tests of the session use, one after the other."""
    # pytest removes its folders even if an earlier run was killed.
    folder = tmp_path_factory.mktemp("apns-gateway")
    with Gateway.start(*pytestconfig.getini("apns_gateway_flags"), folder=folder) as gateway:
        yield gateway
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def apns_gateway(apns_gateway_process: Gateway) -> Gateway:
    """A gateway that behaves like APNs, as new in each test."""
    apns_gateway_process.reset()
    return apns_gateway_process


@pytest.hookimpl(hookwrapper=True)  # the form that old releases of pytest know, too
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, typing.Any, None]:
    """Adds to the report of a failed test what the gateway was asked."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    gateway = getattr(item, "funcargs", {}).get("apns_gateway")
    if report.when == "call" and report.failed and isinstance(gateway, Gateway):
        try:
            requests = gateway.requests()
        except GatewayError as error:
            report.sections.append(("apns_gateway", str(error)))
        else:
            lines = [_line(request) for request in requests[-_SHOWN:]] or ["no requests"]
            report.sections.append((f"apns_gateway: {len(requests)} requests", "\n".join(lines)))


def _line(request: Request) -> str:
    """A request in a line; its device token is shortened."""
    token = "" if request.token is None else f" token {request.token[:8]}…"
    answer = f"{request.status} {request.reason or request.fate or ''}".rstrip()
    return f"{answer}{token} topic {request.topic} connection {request.connection}"
