// SPDX-License-Identifier: Apache-2.0
import LabCommand

@main
struct Main {
  static func main() { LabCommand.main() }
}
