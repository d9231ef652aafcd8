// SPDX-License-Identifier: Apache-2.0

public import APNS
public import Contract
public import Identity

/// The last that was sent to an activity of a user, on `push.schedule`: the line `A1`, when it was sent, when its request
/// was written, the event, the channel of the activity and the request's `traceparent` (both may be empty), with tabs
/// between them. A newline and the request's JSON follow. It stays for a day, for update tokens that come late. Times are
/// milliseconds since the epoch.
public struct ActivityState: Equatable, Sendable {
  public var sentAt: Int64
  public var accepted: Int64
  public var event: Recipients.Activity.Event
  /// The channel that the activity was started with (`input-push-channel`); empty for none.
  public var channel: String
  public var traceParent: String

  public init(
    sentAt: Int64, accepted: Int64, event: Recipients.Activity.Event, channel: String,
    traceParent: String
  ) {
    (self.sentAt, self.accepted, self.event) = (sentAt, accepted, event)
    (self.channel, self.traceParent) = (channel, traceParent)
  }

  init(_ fields: [String]) throws(RecordError) {
    guard let event = Recipients.Activity.Event(rawValue: fields[3]), event != .startOrUpdate else {
      throw RecordError(record: "schedule", field: "event", problem: "is none of an activity")
    }
    guard fields[4].isEmpty || (try? ChannelID.validate(Array(fields[4].utf8).span)) != nil else {
      throw RecordError(record: "schedule", field: "channel", problem: "is no channel's id")
    }
    self.init(
      sentAt: try ScheduleRecord.time(fields[1], "sent"),
      accepted: try ScheduleRecord.time(fields[2], "accepted"), event: event, channel: fields[4],
      traceParent: TraceParent.isValid(Array(fields[5].utf8).span) ? fields[5] : "")
  }

  /// Whether the activity is running, as far as is known.
  public var isRunning: Bool { event != .end }

  /// Whether an update token that was seen first at a time has missed it: it was sent before, to tokens, and not to start
  /// the activity.
  public func isFor(tokenSeenAt time: Int64) -> Bool {
    event != .start && channel.isEmpty && sentAt <= time + 1_000
  }

  /// The record's value.
  public func value(_ json: some Collection<UInt8>) -> [UInt8] {
    Array("A1\t\(sentAt)\t\(accepted)\t\(event.rawValue)\t\(channel)\t\(traceParent)\n".utf8) + json
  }
}

extension ScheduleKey {
  /// The key of the last state of an activity: no request has an id with a tab.
  public init(app: String, environment: Environment, user: ExactText, activity: ExactText) {
    self.init(app: app, environment: environment, id: "\t\(user)\t\(activity)")
  }
}
