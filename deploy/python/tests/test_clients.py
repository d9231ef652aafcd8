# SPDX-License-Identifier: Apache-2.0
"""Clients of PyPI against the fixture: a library for asyncio, a plain HTTP/2 client, a library without asyncio."""

import asyncio

import aioapns
import httpx
import pyapns_client
import pytest
from aioapns.connection import APNsTLSClientProtocol

TOPIC = "com.example.app"


def test_aioapns(apns_gateway):
    class Protocol(APNsTLSClientProtocol):
        APNS_SERVER, APNS_PORT = apns_gateway.host, apns_gateway.port

    async def push(token):
        apns = aioapns.APNs(
            key=apns_gateway.key_text,
            key_id=apns_gateway.key_id,
            team_id=apns_gateway.team_id,
            topic=TOPIC,
            ssl_context=apns_gateway.ssl_context(),
        )
        apns.pool.protocol_class = Protocol
        message = {"aps": {"alert": "Hello"}}
        return await apns.send_notification(aioapns.NotificationRequest(token, message))

    device = apns_gateway.device()
    assert asyncio.run(push(device.token)).is_successful
    assert device.deliveries()[0].payload["aps"]["alert"] == "Hello"
    device.uninstall()
    assert asyncio.run(push(device.token)).description == "Unregistered"


def test_httpx(apns_gateway):
    with httpx.Client(
        http1=False,
        http2=True,
        verify=apns_gateway.ssl_context(certificate=True),
        trust_env=False,
        base_url=apns_gateway.url,
        headers={"apns-topic": TOPIC},
    ) as client:
        path = "/3/device/" + "ab" * 32
        body = '{"aps":{"alert":"Hello"}}'
        assert client.post(path, content=body).status_code == 200
        apns_gateway.fault("connection_lost", with_="end", when={"times": 1})
        with pytest.raises(httpx.TransportError):
            client.post(path, content=body)
        assert client.post(path, content=body).status_code == 200
    assert [request.status for request in apns_gateway.requests()] == [200, 0, 200]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pyapns_client(apns_gateway, monkeypatch):
    monkeypatch.setitem(pyapns_client.APNSClient.BASE_URLS, "prod", apns_gateway.url)
    authentication = pyapns_client.TokenBasedAuth(
        apns_gateway.key, apns_gateway.key_id, apns_gateway.team_id
    )
    alert = pyapns_client.IOSPayloadAlert(body="Hello")
    notification = pyapns_client.IOSNotification(
        topic=TOPIC, payload=pyapns_client.IOSPayload(alert=alert)
    )
    device = apns_gateway.device()
    with pyapns_client.APNSClient(
        "prod", authentication, root_cert_path=apns_gateway.root
    ) as client:
        client.push(notification, device.token)
        assert device.deliveries()[0].payload["aps"]["alert"]["body"] == "Hello"
        # The library tries three times.
        apns_gateway.fault("service_unavailable", when={"times": 1})
        client.push(notification, device.token)
        assert [request.status for request in apns_gateway.requests()] == [200, 503, 200]
        device.expire()
        with pytest.raises(NotImplementedError, match="ExpiredToken"):
            client.push(notification, device.token)
