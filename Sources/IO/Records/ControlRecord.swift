// SPDX-License-Identifier: Apache-2.0
internal import JSON

/// The value of a record of `push.controls`.
public enum ControlRecord {
  /// Whether the record pauses what its key names: its value is an object whose `paused` is true. A tombstone, and one
  /// whose `paused` is false, resumes it.
  ///
  /// - Returns: nil for a value that cannot be read, which pauses nothing.
  public static func isPaused(_ value: UnsafeRawBufferPointer?) -> Bool? {
    guard let value else { return false }
    return (try? JSONDocument(value))?.root["paused"]?.bool
  }
}
