// SPDX-License-Identifier: Apache-2.0

/// A topic of the embedded broker, and which of its records must not go.
public struct BrokerTopic: Sendable, Hashable {
  public let name: String
  public let partitions: Int
  /// The consumer group that has to commit a record before it may go; nil: no record waits for a reader.
  public let reader: String?
  /// Every record stays: the topic is read as a table, from its beginning.
  public let isTable: Bool
  /// Topics that the reader writes to and that only the same reader empties. It gets no record of this topic while one
  /// of them is half full: else both would wait for each other.
  public let spillsInto: [String]

  public init(
    _ name: String, partitions: Int, reader: String? = nil, isTable: Bool = false,
    spillsInto: [String] = []
  ) {
    self.name = name
    self.partitions = partitions
    self.reader = reader
    self.isTable = isTable
    self.spillsInto = spillsInto
  }
}
