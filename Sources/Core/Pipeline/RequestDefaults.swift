// SPDX-License-Identifier: Apache-2.0

package import APNS

/// What a request means by the fields that it leaves out. Whoever reads requests takes it from here.
package enum RequestDefaults {
  @inlinable package static var environment: Environment { .production }
  @inlinable package static var lane: Lane { .transactional }

  /// A broadcast to a channel is a Live Activity push; a push to devices is an alert.
  package static func type(isBroadcast: Bool) -> PushType { isBroadcast ? .liveactivity : .alert }

  /// 5 for background pushes, else 10.
  @inlinable
  package static func priority(of type: PushType) -> UInt8 { type.defaultPriority }

  /// In epoch seconds; nil for none. APNs wants one of broadcasts, and 0 suits a channel of either storage policy.
  package static func expiration(isBroadcast: Bool) -> Int64? { isBroadcast ? 0 : nil }
}
