// SPDX-License-Identifier: Apache-2.0

/// A way through the pipeline, by its place in the list of lanes (`Lanes`): the first one matters most. A campaign in
/// another lane never delays a one-time code in the first.
public struct Lane: Hashable, Sendable {
  /// 0 … `Lanes.most` − 1.
  public let place: UInt8

  /// - Parameter place: 0 … `Lanes.most` − 1.
  public init(place: UInt8) {
    precondition(place < Lanes.most)
    self.place = place
  }

  /// The lane of requests that name none, and the one with streams of its own.
  public static let first = Lane(place: 0)
}
