// SPDX-License-Identifier: Apache-2.0

internal import Contract
public import JSON

extension JSONValue {
  /// The time in milliseconds since the epoch that this number is (`OutsideTime`); nil for everything else.
  public var time: Int64? {
    int(0...OutsideTime.last).flatMap { OutsideTime.problem($0) == nil ? $0 : nil }
  }
}
