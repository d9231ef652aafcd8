// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import WebhookDelivery

@main
struct Main {
  static func main() { runService(WebhookService.self) }
}
