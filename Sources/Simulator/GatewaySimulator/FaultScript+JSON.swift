// SPDX-License-Identifier: Apache-2.0
public import GatewayModel
public import Records

extension FaultScript {
  /// Reads `{"seed": 1, "rules": […]}` or just the list of rules.
  public init(_ value: JSONValue) throws(FaultScriptError) { try self.init(FaultValue(value)) }
}

extension FaultValue {
  init(_ value: JSONValue) {
    self =
      switch value {
      case .string(let text): .text(text)
      case .array(let list): .list(list.map { FaultValue($0) })
      case .object(let object):
        .object(object.members.map { (key: $0.key, value: FaultValue($0.value)) })
      case .integer, .double, .digits:
        value.int.map { .integer($0) } ?? value.anyNumber.map { .number($0) } ?? .other
      case .null, .bool: .other
      }
  }
}
