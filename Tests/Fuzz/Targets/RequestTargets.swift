// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import LabCommand
import Records
import ServiceKit

@testable import Ingest

extension FuzzTarget {
  /// Records of `push.requests`: what is accepted becomes an envelope that the sender accepts, too, and that
  /// says the same.
  static func request() -> FuzzTarget {
    let reader = RequestReader()
    let parser = JSONParser()
    return FuzzTarget("request") { bytes in
      do throws(RequestError) {
        let request = try reader.read(bytes)
        return violation(of: request) ?? misnamed(request, bytes, parser)
      } catch {
        if let offset = error.offset, offset < 0 || offset > bytes.count {
          return "an error outside the record, at \(offset)"
        }
        return error.description.isEmpty ? "an error without words" : nil
      }
    }
  }

  private static func violation(of request: borrowing PushRequest) -> String? {
    let tokens = request.tokens.count
    if request.isBroadcast {
      if request.channel.count > ChannelID.maximumLength { return "a channel that is too long" }
    } else if !(1...RequestRules.maximumTokens).contains(tokens) {
      return "\(tokens) tokens"
    }
    var token = ByteBuffer()
    for index in 0..<tokens {
      token.removeAll()
      token.append(request.tokens[index])
    }
    let size = request.payload.count
    if size > Envelope.maximumBody { return "a payload of \(size) bytes" }
    var encoder = EnvelopeEncoder()
    encoder.begin(request, created: 1_795_224_000_123)
    encoder.setID(NotificationID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210))
    let value = encoder.value
    do throws(EnvelopeError) {
      let envelope = try Envelope.parse(value.octets.span)
      return difference(request, envelope, value)
    } catch {
      return "the envelope of an accepted request is refused: \(error)"
    }
  }

  /// The names that ingest gives are those of the public rule, by which the demo holds the pipeline to its word.
  private static func misnamed(
    _ request: borrowing PushRequest, _ text: UnsafeRawBufferPointer, _ parser: JSONParser
  ) -> String? {
    let topic = "push.requests"
    let expected = RequestLine.ids(text, topic: topic, partition: 3, offset: 14, parser: parser)
    if let own = request.apnsID { return expected == [own] ? nil : "another name than its own" }
    var naming = NotificationNaming()
    naming.begin(request, topic: Array(topic.utf8), partition: 3, offset: 14)
    if request.isBroadcast {
      return expected == [naming.id(channel: request.channel)] ? nil : "another name of a channel"
    }
    let names = Set(expected)
    // Bad tokens end as dead letters, and blanks and brackets are left out of good ones.
    let space = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
    defer { space.deallocate() }
    for index in 0..<request.tokens.count {
      guard let count = try? request.tokens.normalize(index, into: space) else { continue }
      let token = UnsafeRawBufferPointer(start: space, count: count)
      let given = String(decoding: request.tokens[index], as: UTF8.self).lowercased()
      if token.elementsEqual(given.utf8), !names.contains(naming.id(token)) {
        return "another name for token \(index)"
      }
    }
    return nil
  }

  private static func difference(
    _ request: borrowing PushRequest, _ envelope: Envelope, _ value: UnsafeRawBufferPointer
  ) -> String? {
    if envelope.lane != request.lane { return "another lane" }
    if envelope.environment != request.environment { return "another environment" }
    if envelope.pushType != request.type { return "another push type" }
    if envelope.priority != request.priority { return "another priority" }
    if envelope.expiration != request.expiration(created: envelope.created) {
      return "another expiration"
    }
    if (envelope.target == .channel) != request.isBroadcast { return "another target" }
    if !value[envelope.app.indices].elementsEqual(request.app) { return "another app" }
    let carried = envelope.carried(in: value)
    for row in CarriedField.texts where !carried[row.field].elementsEqual(request[row.field]) {
      // An activity has a key, or is shown once, without asking for it.
      if request[row.field].isEmpty, request.activity != .none { continue }
      return "another \(row.key)"
    }
    var data = ByteBuffer()
    request.data?.appendObject(to: &data)
    if !carried[.data].elementsEqual(data.bytes) { return "other data" }
    if !value[envelope.requestID.indices].elementsEqual(request.escapedID) {
      return "another request id"
    }
    if !value[envelope.bodyStart...].elementsEqual(request.payload) { return "another body" }
    return nil
  }
}
