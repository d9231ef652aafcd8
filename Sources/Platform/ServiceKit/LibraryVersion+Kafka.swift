// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka

extension LibraryVersion {
  static let librdkafka: LibraryVersion = {
    let (major, minor, patch) = KafkaLibrary.version
    return LibraryVersion(major, minor, patch)
  }()
}
