// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewayModel
import Glibc
import HTTP2
import Records
import ServiceKit
import Synchronization

/// The logged parts of a compared request: no device token, provider token, topic, id or payload.
struct ComparedRequest: Sendable {
  let connection: UInt64
  let stream: Int32
  /// The name of the push type; `unknown` for others.
  let type: String?
  let priority: Int64?
  let hasCollapseID: Bool
  let hasID: Bool
  /// `absent`, `0` or `set`.
  let expiration: String
  let bodyBytes: Int
  /// The names of the header fields, in order.
  let fields: [String]
}

/// Writes the output of `--in-front-of`: a line for each request, and for each SETTINGS, GOAWAY and close of the
/// connection to the real gateway. Shared by the loops.
final class ComparisonLog: Sendable {
  /// nil for standard output.
  private let descriptor: Int32?
  private let turn = Mutex(())

  init(path: String?) throws(GatewayFileError) {
    guard let path else {
      descriptor = nil
      return
    }
    let opened = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard opened >= 0 else {
      throw GatewayFileError(
        description: "comparison: cannot write \(path): \(SystemError.meaning(of: errno))")
    }
    descriptor = opened
  }

  deinit { if let descriptor { close(descriptor) } }

  func write(
    _ request: ComparedRequest, real: GatewayModel.GatewayAnswer,
    simulator: GatewayModel.GatewayAnswer, time: Int64
  ) {
    let differences = real.differences(from: simulator)
    var line = JSONObject()
    line.append("time", .integer(time))
    line.append("same", .bool(differences.isEmpty))
    line.append(
      "differences",
      .array(
        differences.map {
          ["name": .string($0.name), "real": .string($0.real), "simulator": .string($0.simulator)]
        }))
    line.append("request", Self.json(request))
    line.append("real", Self.json(real))
    line.append("simulator", Self.json(simulator))
    write(.object(line))
  }

  /// Logs an action of the real gateway on the connection; ignores notices of no interest.
  func write(_ notice: ConnectionNotice, time: Int64) {
    var line = JSONObject()
    line.append("time", .integer(time))
    switch notice {
    case .settings(let limit):
      line.append("frame", "SETTINGS")
      line.append("max_concurrent_streams", .integer(Int64(limit)))
    case .goAway(_, let code, let debug):
      line.append("frame", "GOAWAY")
      line.append("code", .integer(Int64(code)))
      let reason = (try? JSONDocument(debug).root["reason"]?.string) ?? nil
      line.append("reason", reason.map { .string($0) } ?? .null)
      line.append("debug_bytes", .integer(Int64(debug.count)))
    case .closed(let failure): line.append("closed", .string(failure?.description ?? "in order"))
    case .advanced, .connected, .pong: return
    }
    write(.object(line))
  }

  private func write(_ line: JSONValue) {
    let bytes = line.text + [10]
    turn.withLock { _ in
      bytes.withUnsafeBytes { raw in
        guard let descriptor else {
          _ = StandardOutput.write(raw)
          return
        }
        var rest = raw[...]
        while !rest.isEmpty {
          let count = Glibc.write(
            descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
          guard count > 0 || errno == EINTR else { return }
          rest = rest.dropFirst(max(count, 0))
        }
      }
    }
  }

  private static func json(_ request: ComparedRequest) -> JSONValue {
    [
      "connection": .integer(Int64(request.connection)),
      "stream": .integer(Int64(request.stream)),
      "push_type": request.type.map { .string($0) } ?? .null,
      "priority": request.priority.map { .integer($0) } ?? .null,
      "expiration": .string(request.expiration), "collapse_id": .bool(request.hasCollapseID),
      "apns_id": .bool(request.hasID), "body_bytes": .integer(Int64(request.bodyBytes)),
      "fields": .array(request.fields.map { .string($0) }),
    ]
  }

  private static func json(_ answer: GatewayModel.GatewayAnswer) -> JSONValue {
    var object = JSONObject()
    object.append("ending", .string(answer.endingText))
    if case .none(let why) = answer.ending { object.append("why", .string(why)) }
    object.append("frames", .array(answer.frames.map { .string($0) }))
    if case .answered = answer.ending {
      object.append("status", .integer(Int64(answer.status)))
      object.append("reason", answer.reason.map { .string($0) } ?? .null)
      object.append("timestamp", .bool(answer.hasTimestamp))
      object.append("apns_id", .string(answer.identifier.rawValue))
      object.append("fields", .array(answer.fields.map { .string($0) }))
      object.append("body_bytes", .integer(Int64(answer.bodyBytes)))
    }
    object.append("milliseconds", .integer(answer.milliseconds))
    return .object(object)
  }
}
