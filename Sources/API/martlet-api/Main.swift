// SPDX-License-Identifier: Apache-2.0
import API
import ServiceKit

@main
struct Main {
  static func main() { runService(APIService.self) }
}
