// SPDX-License-Identifier: Apache-2.0

/// The defaults of the fields that a request omits, for all readers of requests.
public enum RequestDefaults {
  public static var environment: Environment { .production }
  public static var lane: Lane { .first }

  /// A broadcast to a channel is a Live Activity push; a push to devices is an alert.
  public static func type(isBroadcast: Bool) -> PushType { isBroadcast ? .liveactivity : .alert }

  /// 5 for background pushes, otherwise 10.
  public static func priority(of type: PushType) -> UInt8 { type.defaultPriority }

  /// In epoch seconds; nil for none. APNs requires one for broadcasts, and 0 suits a channel of either storage policy.
  public static func expiration(isBroadcast: Bool) -> Int64? { isBroadcast ? 0 : nil }
}
