// SPDX-License-Identifier: Apache-2.0
import Sender
import ServiceKit

@main
struct Main {
  static func main() { runService(SenderService.self) }
}
