# SPDX-License-Identifier: Apache-2.0
"""What the fixture can do, and that nothing of a test is left in the next one."""

import http.client
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone

import apns_simulator
import httpx
import pytest

pytest_plugins = ["pytester"]


@pytest.fixture
def push(apns_gateway):
    """Pushes with a certificate, and returns the answer."""
    with httpx.Client(
        http1=False,
        http2=True,
        verify=apns_gateway.ssl_context(certificate=True),
        trust_env=False,
        base_url=apns_gateway.url,
    ) as client:

        def push(token, body='{"aps":{"alert":"Hello"}}', **headers):
            fields = {name.replace("_", "-"): value for name, value in headers.items()}
            fields = {"apns-topic": apns_gateway.client_topic, **fields}
            return client.post(f"/3/device/{token}", content=body, headers=fields)

        yield push


def test_requests_and_deliveries(apns_gateway, push):
    token = "ab" * 32
    answer = push(token, apns_push_type="alert", apns_collapse_id="scores")
    request = apns_gateway.requests()[0]
    assert request.apns_id == answer.headers["apns-id"]
    assert (request.status, request.reason, request.fate) == (200, None, "delivered")
    assert (request.token, request.push_type) == (token, "alert")
    assert request.header("APNS-Collapse-Id") == "scores"
    assert request.payload == {"aps": {"alert": "Hello"}}
    delivery = apns_gateway.deliveries(token=token, app=apns_gateway.client_topic)[0]
    assert (delivery.collapse_id, delivery.priority, delivery.waited) == ("scores", 10, False)
    assert push(token, apns_topic="com.example.other").json()["reason"] == "BadTopic"
    assert apns_gateway.counters()["reasons"] == {"BadTopic": 1}
    assert apns_gateway.connections()[0]["mode"] == "certificate"


def test_bodies_with_unusual_separators(apns_gateway, push):
    push("ab" * 32, body='{"aps":{"alert":"a\u2028b\u0085c"}}'.encode())
    assert apns_gateway.deliveries()[0].payload["aps"]["alert"] == "a\u2028b\u0085c"


def test_devices(apns_gateway, push):
    device = apns_gateway.device()
    since = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    device.uninstall(at=since)
    assert push(device.token).json() == {
        "reason": "Unregistered",
        "timestamp": int(since.timestamp() * 1000),
    }
    device.reregister()
    device.offline()
    hour = str(int(time.time()) + 3600)
    assert push(device.token, apns_expiration=hour).status_code == 200
    assert device.deliveries() == []
    assert device.online() == 1
    assert device.deliveries()[0].waited
    other = apns_gateway.device("cd" * 32, topic="com.example.other")
    assert push(other.token).json()["reason"] == "DeviceTokenNotForTopic"
    assert push(apns_gateway.device(state="bad").token).json()["reason"] == "BadDeviceToken"


def test_faults(apns_gateway, push):
    apns_gateway.fault("any_answer", status=429, when={"nth": 2})
    assert [push("ab" * 32).status_code for _ in range(3)] == [200, 429, 200]
    assert apns_gateway.faults()[0]["id"] == "any_answer"
    apns_gateway.fault("service_unavailable")
    apns_gateway.clear_faults()
    assert push("ab" * 32).status_code == 200
    with pytest.raises(apns_simulator.GatewayError, match="nonesuch"):
        apns_gateway.fault("nonesuch")


def test_clock_and_behaviour(apns_gateway, push):
    before = apns_gateway.advance()
    assert apns_gateway.advance(minutes=20) - before >= timedelta(minutes=20)
    apns_gateway.advance(-timedelta(minutes=20))
    apns_gateway.profile(service="unavailable")
    assert push("ab" * 32).json()["reason"] == "ServiceUnavailable"
    assert apns_gateway.expire_provider_tokens() == 0
    apns_gateway.profile(service="normal")
    apns_gateway.end_connections()
    assert push("ab" * 32).status_code == 200
    with pytest.raises(apns_simulator.GatewayError, match="throttle"):
        apns_gateway.profile(throttle="perhaps")


def test_everything_is_as_new(apns_gateway, push):
    assert apns_gateway.requests() == [] and apns_gateway.deliveries() == []
    assert apns_gateway.faults() == []
    assert abs(apns_gateway.advance().timestamp() - time.time()) < 30
    # Declared as one for another topic, and as a bad one, by an earlier test.
    assert push("cd" * 32).status_code == 200
    assert apns_gateway.requests()[0].connection == 1


def test_a_reset_is_fast(apns_gateway):
    connection = http.client.HTTPConnection(apns_gateway.admin)
    times = []
    for _ in range(51):
        start = time.perf_counter()
        connection.request("POST", "/reset")
        connection.getresponse().read()
        times.append(time.perf_counter() - start)
    connection.close()
    # Loose, for a busy machine.
    assert sorted(times)[25] < 0.05


def test_waiting(apns_gateway, push):
    later = threading.Timer(0.1, push, ["ab" * 32])
    later.start()
    assert len(apns_gateway.deliveries(at_least=1)) == 1
    later.join()
    with pytest.raises(TimeoutError, match="1 requests within 0.05 s; 2 were expected"):
        apns_gateway.requests(at_least=2, within=0.05)


def test_a_failed_test_shows_the_requests(pytester):
    pytester.makepyfile("def test_nothing(apns_gateway): assert apns_gateway.requests()")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*apns_gateway: 0 requests*", "no requests"])


def test_flags_of_the_configuration(pytester):
    pytester.makeini("[pytest]\napns_gateway_flags = --registry declared --throttle off\n")
    pytester.makepyfile(
        """
        def test_flags(apns_gateway):
            profile = apns_gateway.admin_request("GET", "/profile")
            assert (profile["registry"], profile["throttle"]) == ("declared", "off")
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_start_that_fails_says_why():
    with pytest.raises(apns_simulator.GatewayError, match="thorttle"):
        apns_simulator.Gateway.start("--thorttle", "off")
    with pytest.raises(apns_simulator.GatewayError, match="did not start: .*missing"):
        apns_simulator.Gateway.start(program="/missing/apns-simulator")


def test_settings_of_the_environment_are_no_part_of_a_test(monkeypatch):
    monkeypatch.setenv("MARTLET_THROTTLE", "nonsense")
    with apns_simulator.Gateway.start() as gateway:
        assert gateway.admin_request("GET", "/health") == {"status": "ok"}
    assert not pathlib.Path(gateway.root).exists()
    with pytest.raises(apns_simulator.GatewayError, match="does not answer"):
        gateway.requests()


def test_a_folder_of_the_caller_stays(tmp_path):
    with apns_simulator.Gateway.start(folder=tmp_path) as gateway:
        key = gateway.key_text
    with apns_simulator.Gateway.start(folder=tmp_path) as gateway:
        assert gateway.key_text == key


def test_an_answered_request_is_in_the_reports(apns_gateway, push):
    for count in range(1, 101):
        push("ab" * 32)
        assert len(apns_gateway.requests()) == count
    assert len(apns_gateway.deliveries()) == 100


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_ends_with_the_process_that_started_it(tmp_path, number):
    script = """
import apns_simulator, time
gateway = apns_simulator.Gateway.start()
print(gateway.admin, gateway.root, flush=True)
time.sleep(60)
"""
    # SIGKILL leaves the folder: not in the machine's own place.
    owner = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    admin, root = owner.stdout.readline().split()
    owner.send_signal(number)
    owner.wait(20)
    owner.stdout.close()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            connection = http.client.HTTPConnection(admin, timeout=5)
            connection.request("GET", "/health")
            connection.getresponse().read()
        except OSError:
            break
        finally:
            connection.close()
        time.sleep(0.05)
    else:
        pytest.fail("the gateway still runs")
    assert number == signal.SIGKILL or not pathlib.Path(root).exists()


def test_the_command():
    command = pathlib.Path(sys.executable).with_name("apns-simulator")
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("apns-simulator ")
