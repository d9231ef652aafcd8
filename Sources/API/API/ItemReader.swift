// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit

/// Checks one request like ingest, and creates its record, with an id, so that the `apns-id`s of its notifications are
/// known now and a repetition yields the same ones. Reuses its buffers; belongs to one thread.
final class ItemReader {
  struct Refusal: Error, Equatable {
    let problem: Problem
    let id: String?
  }

  private let reader: RequestReader
  private var naming = NotificationNaming()
  private var rewritten = ByteBuffer(capacity: 8_192)
  private let tokenText = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
  private var ids = SystemRandomNumberGenerator()

  // The last request that was read.
  /// The record's key: the first device token or user, or empty.
  private(set) var recordKey = UnsafeRawBufferPointer(start: nil, count: 0)
  private(set) var recordValue = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Whether the schedule may have to keep the request.
  private(set) var isForSchedule = false
  /// The request id as the content of a JSON string.
  private(set) var escapedID = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The `apns-id` of each token; nil for an invalid token, whose fault is in `tokenProblems`.
  private(set) var apnsIDs: [NotificationID?] = []
  private(set) var tokenProblems: [(index: Int, text: String)] = []
  private(set) var warnings = PayloadWarnings()

  init(_ settings: APISettings) { reader = RequestReader(settings) }

  deinit { tokenText.deallocate() }

  /// - Parameters:
  ///   - number: its position in the body, from 1.
  ///   - isOnly: whether it is the whole body.
  func read(
    _ bytes: UnsafeRawBufferPointer, key: APIKey, idempotencyKey: String?, number: Int, isOnly: Bool
  ) -> Result<Void, Refusal> {
    do throws(RequestError) {
      let request = try readNamed(bytes) { newID(idempotencyKey, number, isOnly) }
      try request.checkSendAt(received: WallClock.milliseconds())
      if request.sendAt != nil { try request.checkMayWait() }
      try request.checkNamesDevice()
      return accept(request, key)
    } catch {
      let problem: Problem =
        if case .tooFarAhead = error.problem {
          .tooFarAhead("\(error)", field: RequestField.sendAt.name)
        } else {
          .malformed("\(error)", field: error.field?.name)
        }
      return .failure(Refusal(problem: problem, id: Self.shown(reader.refusedIDText)))
    }
  }

  /// A refused request's id, without what is too long for one; nil for none.
  private static func shown(_ id: String) -> String? {
    guard id.utf8.count > RequestRules.maximumID else { return id.isEmpty ? nil : id }
    return String(decoding: id.utf8.prefix(RequestRules.maximumID), as: UTF8.self) + "…"
  }

  /// Reads a request and adds an id if it has none: a scheduled request needs one.
  private func readNamed(
    _ bytes: UnsafeRawBufferPointer, _ id: () -> String
  ) throws(RequestError) -> PushRequest {
    do throws(RequestError) {
      let request = try reader.read(bytes)
      recordValue = bytes
      if !request.id.isEmpty { return request }
    } catch {
      guard error.problem == .missingForSchedule else { throw error }
    }
    recordValue = rewrite(bytes, id: id())
    return try reader.read(recordValue)
  }

  private func accept(_ request: PushRequest, _ key: APIKey) -> Result<Void, Refusal> {
    let id = String(decoding: request.id, as: UTF8.self)
    let app = String(decoding: request.app, as: UTF8.self)
    guard key.maySend(for: app) else {
      return .failure(Refusal(problem: .forbidden(app: app), id: id))
    }
    // A custom topic (`mdm`) reaches another app's devices.
    let topic = String(decoding: request.topic, as: UTF8.self)
    guard request.type != .mdm || topic.isEmpty || topic == app || key.maySend(for: topic) else {
      return .failure(Refusal(problem: .forbidden(topic: topic), id: id))
    }
    escapedID = request.escapedID
    isForSchedule = request.isForSchedule
    warnings = request.warnings
    naming.begin(request, topic: [], partition: 0, offset: 0)
    apnsIDs.removeAll(keepingCapacity: true)
    tokenProblems.removeAll(keepingCapacity: true)
    recordKey = UnsafeRawBufferPointer(start: nil, count: 0)
    if request.isBroadcast {
      apnsIDs.append(request.apnsID ?? naming.id(channel: request.channel))
      recordKey = request.channel
      return .success(())
    }
    if let user = request.users.first { recordKey = UnsafeRawBufferPointer(user) }
    for index in 0..<request.tokens.count { name(index, of: request) }
    // The ids for its users' devices follow once these are known.
    guard apnsIDs.contains(where: { $0 != nil }) || request.tokens.count == 0 else {
      let text = tokenProblems.first?.text ?? ""
      return .failure(Refusal(problem: .malformed(text, field: request.tokenField.name), id: id))
    }
    return .success(())
  }

  private func name(_ index: Int, of request: PushRequest) {
    do throws(DeviceToken.Problem) {
      let digits = try request.tokens.normalize(index, into: tokenText)
      let token = UnsafeRawBufferPointer(start: tokenText, count: digits)
      apnsIDs.append(request.apnsID ?? naming.id(token))
      if recordKey.baseAddress == nil { recordKey = request.tokens[index] }
    } catch {
      apnsIDs.append(nil)
      tokenProblems.append((index, "\(RequestError(request.tokenField, .token(error)))"))
    }
  }

  private func newID(_ idempotencyKey: String?, _ number: Int, _ isOnly: Bool) -> String {
    if let idempotencyKey { return isOnly ? idempotencyKey : "\(idempotencyKey)/\(number)" }
    return "\(NotificationID(version4: ids.next(), ids.next()))"
  }

  /// The object with an id as its first member.
  private func rewrite(_ bytes: UnsafeRawBufferPointer, id: String) -> UnsafeRawBufferPointer {
    guard let brace = bytes.firstIndex(of: UInt8(ascii: "{")) else { return bytes }
    rewritten.removeAll()
    rewritten.append("{\"id\":")
    rewritten.append(JSONValue.string(id).text)
    rewritten.append(UInt8(ascii: ","))
    rewritten.append(UnsafeRawBufferPointer(rebasing: bytes[(brace + 1)...]))
    return rewritten.bytes
  }
}

extension RequestReader {
  /// Creates a reader with this process's checks.
  convenience init(_ settings: APISettings) {
    self.init(
      types: settings.pushTypes, lanes: settings.lanes, refusesWarnings: settings.refusesWarnings)
  }
}

extension PayloadWarnings {
  var json: JSONValue {
    .array(
      all.map { warning in
        [
          "rule": .string(warning.rule.name), "field": .string(warning.member.path),
          "detail": .string(warning.detail),
        ]
      })
  }
}
