// SPDX-License-Identifier: Apache-2.0
import CNghttp2
public import HTTP2

extension SessionSettings {
  /// The SETTINGS that APNs was observed to send.
  public static func gateway(maxConcurrentStreams: UInt32) -> SessionSettings {
    var settings = SessionSettings()
    settings.maxConcurrentStreams = maxConcurrentStreams
    settings.headerTableSize = 4_096
    settings.initialWindowSize = 65_535
    settings.maxFrameSize = 16_384
    settings.maxHeaderListSize = 8_000
    return settings
  }
}

/// New values for SETTINGS that a server has sent before; nil leaves a value unchanged.
public struct SettingsChange: Sendable, Equatable {
  public var maxConcurrentStreams: UInt32?
  public var headerTableSize: UInt32?
  /// A table size sent before the other one in the same frame.
  public var passingTableSize: UInt32?
  public var initialWindowSize: UInt32?
  public var maxFrameSize: UInt32?
  public var maxHeaderListSize: UInt32?

  /// Another stream limit. APNs repeats all other values with it.
  public init(maxConcurrentStreams: UInt32, repeating settings: SessionSettings) {
    self.init(
      maxConcurrentStreams: maxConcurrentStreams, headerTableSize: settings.headerTableSize,
      initialWindowSize: settings.initialWindowSize, maxHeaderListSize: settings.maxHeaderListSize)
    maxFrameSize = settings.maxFrameSize
  }

  public init(
    maxConcurrentStreams: UInt32? = nil, headerTableSize: UInt32? = nil,
    passingTableSize: UInt32? = nil, initialWindowSize: UInt32? = nil,
    maxHeaderListSize: UInt32? = nil
  ) {
    self.maxConcurrentStreams = maxConcurrentStreams
    self.headerTableSize = headerTableSize
    self.passingTableSize = passingTableSize
    self.initialWindowSize = initialWindowSize
    self.maxHeaderListSize = maxHeaderListSize
  }

  var entries: [nghttp2_settings_entry] {
    let values: [(nghttp2_settings_id, UInt32?)] = [
      (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maxConcurrentStreams),
      (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, passingTableSize),
      (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, headerTableSize),
      (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, initialWindowSize),
      (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, maxFrameSize),
      (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, maxHeaderListSize),
    ]
    return values.compactMap { id, value in
      value.map { nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: $0) }
    }
  }
}
