// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records

extension FuzzTarget {
  /// Records of the notification and retry topics: every field of an accepted one can stand in a header or a
  /// receipt as it is, and the record can go to a retry topic and be read there.
  static func envelope() -> FuzzTarget {
    FuzzTarget("envelope") { bytes in
      if FreedID(bytes) != nil {
        return Envelope.begins(bytes) ? "a notification that only frees an id" : nil
      }
      do throws(EnvelopeError) {
        let envelope = try Envelope.parse(bytes.octets.span)
        return badField(envelope, bytes) ?? badRetry(envelope, bytes)
      } catch {
        return (0...bytes.count).contains(error.offset)
          ? nil : "an error outside the record, at \(error.offset)"
      }
    }
  }

  private static func badField(_ envelope: Envelope, _ record: UnsafeRawBufferPointer) -> String? {
    guard envelope.bodyStart > 0, envelope.bodyStart < record.count,
      record[envelope.bodyStart - 1] == UInt8(ascii: "\n")
    else { return "the body does not follow a newline" }
    let fields = [
      envelope.app, envelope.topic, envelope.pushTypeText, envelope.priorityText,
      envelope.expirationText, envelope.idText, envelope.requestID, envelope.lastReason,
    ]
    for field in fields {
      guard field.indices.upperBound < envelope.bodyStart else { return "a field in the body" }
      if record[field.indices].contains(where: { $0 < 0x20 }) { return "a control character" }
    }
    if let problem = badCarried(envelope.carried(in: record)) { return problem }
    for name in [envelope.app, envelope.topic] {
      if name.isEmpty || !record[name.indices].allSatisfy(RequestRules.isNameCharacter) {
        return "a name that no header may have"
      }
    }
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    if !record[envelope.expirationText.indices].allSatisfy(digits.contains) {
      return "an expiration that is no number"
    }
    // The sender reckons with them in milliseconds.
    for seconds in [envelope.expiration ?? 0, envelope.created / 1_000, envelope.firstSeen ?? 0]
    where seconds > .max / 1_000 {
      return "a time that overflows"
    }
    if ![10, 5, 1].contains(envelope.priority) { return "priority \(envelope.priority)" }
    if String(decoding: record[envelope.priorityText.indices], as: UTF8.self)
      != "\(envelope.priority)"
    {
      return "a priority in another spelling"
    }
    if envelope.id.description
      != String(decoding: record[envelope.idText.indices], as: UTF8.self).lowercased()
    {
      return "another id"
    }
    return nil
  }

  /// What is a header field or stands in a receipt can do so; the fields are all there is.
  private static func badCarried(_ carried: CarriedFields) -> String? {
    var problem: String?
    var bytes = 0
    var headers = 0
    carried.forEachField { key, value in
      bytes += key.count + value.count + 2
      if value.contains(where: { $0 < 0x20 }) { problem = "a control character" }
    }
    carried.forEachHeader { name, _, isCollapseID in
      headers += isCollapseID ? 0 : 1
      let text = String(decoding: name, as: UTF8.self)
      if CarriedHeaders.reserved.contains(text) || text != text.lowercased() {
        problem = "header \(text)"
      }
    }
    if headers > CarriedHeaders.maximumCount { return "\(headers) header fields" }
    if !carried.isEmpty, bytes != carried.bytes.count + 1 { return "fields that are not told" }
    return problem ?? badReceipt(carried)
  }

  private static func badReceipt(_ carried: CarriedFields) -> String? {
    var line = ReceiptLine(.delivered, at: 1)
    line.carried = carried
    var text = ByteBuffer()
    ReceiptEncoder.append(line, into: &text)
    do throws(RecordError) {
      let receipt = try Receipt(text.bytes, parser: JSONParser())
      let isData = carried[.data].isEmpty == (receipt.data == nil)
      return isData && carried[.replay].isEmpty == (receipt.replay == nil)
        ? nil : "a receipt without what was carried"
    } catch { return "a receipt that is none: \(error)" }
  }

  private static func badRetry(_ envelope: Envelope, _ record: UnsafeRawBufferPointer) -> String? {
    var retry = ByteBuffer()
    Array("A reason of nobody's,\twith a tab".utf8).withUnsafeBytes {
      EnvelopeEncoder.encodeRetry(
        of: record, envelope, attempt: .max, firstSeen: 9_999_999_999_999, reason: $0, into: &retry)
    }
    do throws(EnvelopeError) {
      let again = try Envelope.parse(retry.bytes.octets.span)
      guard again.id == envelope.id, again.dedupKey == envelope.dedupKey, again.attempt == .max,
        again.target == envelope.target,
        again.carried(in: retry.bytes).bytes.elementsEqual(envelope.carried(in: record).bytes),
        again.expiration == envelope.expiration, again.pushType == envelope.pushType,
        retry.bytes[again.bodyStart...].elementsEqual(record[envelope.bodyStart...])
      else { return "the retry says something else" }
      return nil
    } catch {
      return "the retry of an accepted record is refused: \(error)"
    }
  }
}
