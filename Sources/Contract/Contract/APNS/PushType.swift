// SPDX-License-Identifier: Apache-2.0

/// The push type of a notification (`apns-push-type`). It decides the topic's suffix, the allowed priorities and the
/// maximum body size.
///
/// Source: Apple, "Sending notification requests to APNs".
public enum PushType: Hashable, Sendable, CaseIterable, CustomStringConvertible {
  case alert
  case background
  case location
  case voip
  case complication
  case fileprovider
  case mdm
  case liveactivity
  case pushtotalk
  case widgets
  case controls
  /// Remote media sessions, since iOS 27.
  case nowplaying
  /// A type of the setting `--push-type`, by its index there: `PushTypes` has its name and its suffix.
  case custom(UInt8)

  /// The types that are built in.
  public static let allCases: [PushType] = [
    .alert, .background, .location, .voip, .complication, .fileprovider, .mdm, .liveactivity,
    .pushtotalk, .widgets, .controls, .nowplaying,
  ]

  /// The value of the `apns-push-type` header and its spelling in requests; for a custom type see `PushTypes`.
  public var name: StaticString {
    switch self {
    case .alert: "alert"
    case .background: "background"
    case .location: "location"
    case .voip: "voip"
    case .complication: "complication"
    case .fileprovider: "fileprovider"
    case .mdm: "mdm"
    case .liveactivity: "liveactivity"
    case .pushtotalk: "pushtotalk"
    case .widgets: "widgets"
    case .controls: "controls"
    case .nowplaying: "nowplaying"
    case .custom: "custom"
    }
  }

  public var description: String { name.description }

  /// The name in messages: a custom type's name is not always available.
  public var phrase: String {
    if case .custom = self { "a type of --push-type" } else { "type \(self)" }
  }

  /// The suffix after the bundle id in `apns-topic`. An MDM topic is not derived from a bundle id: it is the UID of the
  /// push certificate, which then takes the app's place. The suffix of a custom type is in `PushTypes`.
  public var topicSuffix: StaticString {
    switch self {
    case .alert, .background, .mdm, .custom: ""
    case .location: ".location-query"
    case .voip: ".voip"
    case .complication: ".complication"
    case .fileprovider: ".pushkit.fileprovider"
    case .liveactivity: ".push-type.liveactivity"
    case .pushtotalk: ".voip-ptt"
    case .widgets: ".push-type.widgets"
    case .controls: ".push-type.controls"
    case .nowplaying: ".push-type.nowplaying"
    }
  }

  /// The most bytes of a body: 5,120 for VoIP, 4,096 for all others.
  public var payloadLimit: Int { self == .voip ? 5_120 : 4_096 }

  /// The most bytes of a broadcast's body.
  public static let broadcastPayloadLimit = 5_120

  /// The ways to authenticate a request of this type.
  public enum Authentication: UInt8, Sendable {
    /// A provider token or a certificate that lists the topic.
    case either
    case providerToken
    case certificate
  }

  /// Location, widget, control and media pushes accept only a provider token; device management needs the push
  /// certificate whose UID is its topic. Apple documents no certificate for Live Activities, but one that lists their
  /// topic has been seen to work.
  public var authentication: Authentication {
    switch self {
    case .location, .widgets, .controls, .nowplaying: .providerToken
    case .mdm: .certificate
    case .alert, .background, .voip, .complication, .fileprovider, .liveactivity, .pushtotalk,
      .custom:
      .either
    }
  }

  /// The priority of a request that gives none: 5 for background pushes, otherwise 10.
  public var defaultPriority: UInt8 { self == .background ? 5 : 10 }

  /// True if this priority makes sense for the type: APNs accepts it, and it does not defeat the type. A VoIP call that
  /// waits for the device to save power comes too late, and a location query at priority 1 never wakes the device.
  public func suits(priority: Int64) -> Bool {
    switch self {
    case .voip: priority == 10
    case .location: priority == 5 || priority == 10
    default: allows(priority: priority)
    }
  }

  /// True if APNs accepts this priority for the type: 10, 5 or 1; a background push only 5; a Live Activity or media
  /// session not 1.
  public func allows(priority: Int64) -> Bool {
    switch self {
    case .background: priority == 5
    case .liveactivity, .nowplaying: priority == 5 || priority == 10
    default: priority == 1 || priority == 5 || priority == 10
    }
  }

  /// The type with this name, or `nil`.
  public init?(_ name: Span<UInt8>) {
    guard name.count > 0 else { return nil }
    // A literal costs nothing here; making a string of `name` costs more than all the rest.
    let (type, text): (PushType, String)
    switch (name[0], name.count) {
    case (UInt8(ascii: "a"), 5): (type, text) = (.alert, "alert")
    case (UInt8(ascii: "b"), 10): (type, text) = (.background, "background")
    case (UInt8(ascii: "l"), 8): (type, text) = (.location, "location")
    case (UInt8(ascii: "v"), 4): (type, text) = (.voip, "voip")
    case (UInt8(ascii: "c"), 12): (type, text) = (.complication, "complication")
    case (UInt8(ascii: "f"), 12): (type, text) = (.fileprovider, "fileprovider")
    case (UInt8(ascii: "m"), 3): (type, text) = (.mdm, "mdm")
    case (UInt8(ascii: "l"), 12): (type, text) = (.liveactivity, "liveactivity")
    case (UInt8(ascii: "p"), 10): (type, text) = (.pushtotalk, "pushtotalk")
    case (UInt8(ascii: "w"), 7): (type, text) = (.widgets, "widgets")
    case (UInt8(ascii: "c"), 8): (type, text) = (.controls, "controls")
    case (UInt8(ascii: "n"), 10): (type, text) = (.nowplaying, "nowplaying")
    default: return nil
    }
    guard name.spells(text) else { return nil }
    self = type
  }

  /// The type with this name, or `nil`.
  public init?(_ name: String) { self.init(name.utf8.span) }
}
