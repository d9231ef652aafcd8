// SPDX-License-Identifier: Apache-2.0

/// A change that operators, owners of devices or other senders have made to what may be sent.
public enum ControlChange: Sendable {
  /// Apps, lanes or campaigns are held or go on: this is what is held now. What is under way goes on.
  case pauses(Pauses)
  /// An operator has set or cleared paces: these are in force now.
  case paces(Paces)
  /// The loops of all senders together have so many partitions now, of which this one keeps its part of each pace.
  case partitions(PartitionTotals)
  /// Devices were removed, have changed their owner, or may be used again.
  case devices([DeviceNews])
}
