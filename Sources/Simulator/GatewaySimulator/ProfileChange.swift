// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import Records

/// The validated fields of `PUT /profile`: behaviours, the latency, the service state and the name of a profile.
struct ProfileChange {
  /// `full` or the name of a profile; nil keeps the current one.
  private(set) var profile: String?
  private(set) var choices: [(name: String, value: String)] = []
  private(set) var latency: LatencyModel?
  private(set) var service: ServiceState?

  init(_ fields: [(name: String, text: String)]) throws(GatewayFileError) {
    for (name, text) in fields {
      switch name {
      case "profile": profile = text
      case "latency":
        latency = LatencyModel(text)
        guard latency != nil else {
          throw GatewayFileError(description: "latency is neither a time nor lognormal:P50,P99")
        }
      case "service":
        service = ServiceState(rawValue: text)
        guard service != nil else {
          let words = ServiceState.allCases.map(\.rawValue).joined(separator: ", ")
          throw GatewayFileError(description: "service must be one of \(words), not \(text)")
        }
      default: choices.append((name, text))
      }
    }
    var rules = GatewayRules()
    do throws(BehaviourError) {
      for choice in choices { try rules.set(choice.name, choice.value) }
    } catch {
      throw GatewayFileError(description: error.description)
    }
  }

  /// The switches of a profile except those named in `kept`.
  init(_ profile: GatewayProfile, except kept: Set<String> = []) throws(GatewayFileError) {
    try self.init(profile.switches.filter { !kept.contains($0.name) }.map { ($0.name, $0.value) })
  }

  /// Reads a request's body.
  init(_ value: JSONValue) throws(GatewayFileError) {
    guard let object = value.object else {
      throw GatewayFileError(description: "the body must be an object")
    }
    if let twice = object.duplicateKey {
      throw GatewayFileError(description: "\(twice) occurs twice")
    }
    var fields: [(name: String, text: String)] = []
    for member in object.members {
      fields.append((member.key, try Self.text(member.value, of: member.key)))
    }
    try self.init(fields)
  }

  private static func text(_ value: JSONValue, of name: String) throws(GatewayFileError) -> String {
    switch value {
    case .string(let text): return text
    case .integer(let number): return "\(number)"
    case .bool(let flag): return flag ? "true" : "false"
    default:
      throw GatewayFileError(description: "\(name) must be a text, a whole number or true or false")
    }
  }
}
