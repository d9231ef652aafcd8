// SPDX-License-Identifier: Apache-2.0

/// A lane of the pipeline, by its index in the list of lanes (`Lanes`), most important first. A campaign in another
/// lane never delays a one-time code in the first.
public struct Lane: Hashable, Sendable {
  /// 0 … `Lanes.most` − 1.
  public let place: UInt8

  /// - Parameter place: 0 … `Lanes.most` − 1.
  public init(place: UInt8) {
    precondition(place < Lanes.most)
    self.place = place
  }

  /// The lane of requests that name none, which has reserved streams.
  public static let first = Lane(place: 0)
}
