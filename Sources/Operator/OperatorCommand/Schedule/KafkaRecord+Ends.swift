// SPDX-License-Identifier: Apache-2.0
import Kafka
import Records

extension KafkaRecord {
  /// The identity of the only value that a tombstone of the schedule ends; nil if it ends whatever the key has.
  var ends: Int64? {
    header(named: ScheduleRecord.endsHeader).flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
  }
}
