// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Signer

@main
struct Main {
  static func main() { runService(SignerService.self) }
}
