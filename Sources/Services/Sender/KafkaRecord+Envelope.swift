// SPDX-License-Identifier: Apache-2.0
import APNS
import Kafka
import Pipeline

/// Why a record is no notification that can be sent, for its dead letter.
struct UnsendableRecord: Error {
  let detail: String
}

extension KafkaRecord {
  /// The notification that the record holds, whose device or channel its key names.
  func envelope() throws(UnsendableRecord) -> Envelope {
    let envelope: Envelope
    do throws(EnvelopeError) {
      envelope = try Envelope.parse(value.bindMemory(to: UInt8.self).span)
    } catch {
      throw UnsendableRecord(detail: "\(error)")
    }
    do {
      let key = key.bindMemory(to: UInt8.self).span
      switch envelope.target {
      case .device: try DeviceToken.validate(key)
      case .channel: try ChannelID.validate(key)
      }
    } catch {
      throw UnsendableRecord(detail: "key: \(error)")
    }
    return envelope
  }
}
