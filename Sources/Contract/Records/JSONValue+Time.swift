// SPDX-License-Identifier: Apache-2.0

internal import Contract

extension JSONValue {
  /// The number as a time in milliseconds since the epoch (`OutsideTime`); nil for anything else.
  public var time: Int64? {
    int(0...OutsideTime.last).flatMap { OutsideTime.problem($0) == nil ? $0 : nil }
  }
}
