// SPDX-License-Identifier: Apache-2.0
import OperatorCommand

@main
struct Main {
  static func main() { MartletCommand.main() }
}
