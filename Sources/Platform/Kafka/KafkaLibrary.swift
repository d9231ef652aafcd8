// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

/// The librdkafka that this process runs with, which may be newer than the one it was built against.
public enum KafkaLibrary {
  public static var version: (major: Int, minor: Int, patch: Int) {
    let version = Int(rd_kafka_version())
    return (version >> 24 & 0xFF, version >> 16 & 0xFF, version >> 8 & 0xFF)
  }
}
