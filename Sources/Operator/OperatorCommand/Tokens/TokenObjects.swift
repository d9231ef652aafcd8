// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Store

/// Converts tokens to and from JSON: the lines of an export.
struct TokenObjects {
  typealias Problem = TokenRecords.Problem

  private let parser = JSONParser()

  func line(_ bytes: [UInt8]) throws(Problem) -> ImportedToken {
    let object = try object(bytes)
    let known =
      [
        "token", "app", "environment", "state", "registered_at", "removed_at", "invalid_since",
        "alive_from", "reason", "recorded_at", "history",
      ] + DeviceDetails.none.members.map(\.name)
    if let other = object.members.first(where: { !known.contains($0.key) }) {
      throw Problem(field: other.key, text: "is not a member of a line")
    }
    guard let text = try text(object, "token") else {
      throw Problem(field: "token", text: "is required")
    }
    var token = ImportedToken(token: text)
    token.app = try self.text(object, "app")
    if let name = try self.text(object, "environment") {
      guard let environment = Environment(name) else {
        throw Problem(field: "environment", text: "must be production or sandbox")
      }
      token.environment = environment
    }
    token.registeredAt = try time(object, "registered_at")
    token.removedAt = try time(object, "removed_at")
    token.details = try DeviceDetails { name throws(Problem) in
      do throws(DetailError) {
        return try object.detail(name)
      } catch {
        throw Problem(field: name, text: error.problem)
      }
    }
    if let since = try time(object, "invalid_since") {
      token.invalidation = .init(
        since: since, aliveFrom: try time(object, "alive_from"),
        reason: try self.text(object, "reason") ?? "Unregistered",
        recordedAt: try time(object, "recorded_at"))
    }
    if let state = try self.text(object, "state") { try check(state, token) }
    return token
  }

  /// The times decide: a token whose state has none would be registered, whatever the state is.
  private func check(_ state: String, _ token: ImportedToken) throws(Problem) {
    let missing: String?
    switch DeviceState.Word(rawValue: state) {
    case .registered: missing = nil
    case .removed: missing = token.removedAt == nil ? "removed_at" : nil
    case .invalid: missing = token.invalidation == nil ? "invalid_since" : nil
    case nil: throw Problem(field: "state", text: "must be registered, removed or invalid")
    }
    if let missing { throw Problem(field: missing, text: "is required: state is \(state)") }
  }

  private func object(_ bytes: [UInt8]) throws(Problem) -> JSONObject {
    guard let value = try? parser.parse(bytes), let object = value.object else {
      throw Problem(field: "-", text: "is not a JSON object")
    }
    if let key = object.duplicateKey { throw Problem(field: key, text: "is given twice") }
    return object
  }

  private func text(_ object: JSONObject, _ name: String) throws(Problem) -> String? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let text = value.string else { throw Problem(field: name, text: "is not a string") }
    return text
  }

  private func time(_ object: JSONObject, _ name: String) throws(Problem) -> Int64? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let time = value.int(0...OutsideTime.last) else {
      throw Problem(field: name, text: "is not a time in milliseconds since 1970")
    }
    return time
  }
}

extension KnownDevice {
  var exported: JSONObject {
    var object = JSONObject()
    object.append("token", .string(device.token))
    object.append("app", .string(device.app))
    object.append("environment", .string(device.environment.description))
    if let word = state.word { object.append("state", .string(word.rawValue)) }
    switch state.presence {
    case .registered(let time): object.append("registered_at", .integer(time))
    case .removed(let time): object.append("removed_at", .integer(time))
    case nil:
      // Without a time it would come back as a registration.
      if let mark = state.mark, mark.isRemoval {
        object.append("removed_at", .integer(mark.since))
      }
    }
    object.append(state.details)
    if state.isInvalid, let mark = state.mark {
      object.append("invalid_since", .integer(mark.since))
      object.append("alive_from", .integer(mark.aliveFrom))
      object.append("reason", .string(mark.reason))
      object.append("recorded_at", .integer(mark.recordedAt))
    }
    return object
  }

  /// The exported object with the history.
  var shown: JSONObject {
    var object = exported
    object.append(
      "history",
      .array(
        state.history.changes.map { change, time, reason in
          var entry = JSONObject()
          entry.append("state", .string(change.rawValue))
          entry.append("at", .integer(time))
          if change == .invalid { entry.append("reason", .string(reason)) }
          return .object(entry)
        }))
    return object
  }
}
