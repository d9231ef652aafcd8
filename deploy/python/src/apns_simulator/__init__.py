# SPDX-License-Identifier: Apache-2.0
"""A gateway that behaves like the Apple Push Notification service, for tests of any client.

With pytest, take the fixture ``apns_gateway``. Elsewhere::

    with apns_simulator.Gateway.start() as gateway:
        ...
"""

from .gateway import Delivery, Device, Gateway, GatewayError, Request, program_path

__all__ = ["Delivery", "Device", "Gateway", "GatewayError", "Request", "program_path"]
