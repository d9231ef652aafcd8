// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The last state sent to a user's activity, on `push.schedule`: the line `A1`, when it was sent, when its request was
/// written, the event, the activity's channel and the request's `traceparent` (both may be empty), separated by tabs. A
/// newline and the request's JSON follow. It is kept for a day, for update tokens that are registered late. Times are
/// milliseconds since the epoch.
public struct ActivityState: Equatable, Sendable {
  public var sentAt: Int64
  public var accepted: Int64
  public var event: Recipients.Activity.Event
  /// The channel of the activity's start (`input-push-channel`); empty for none.
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

  /// Whether the activity is running, as far as known.
  public var isRunning: Bool { event != .end }

  /// Whether an update token first seen at a time has missed this state: it was sent earlier, to tokens, and not to
  /// start the activity.
  public func isFor(tokenSeenAt time: Int64) -> Bool {
    event != .start && channel.isEmpty && sentAt <= time + 1_000
  }

  /// The record's value.
  public func value(_ json: some Collection<UInt8>) -> [UInt8] {
    Array("A1\t\(sentAt)\t\(accepted)\t\(event.rawValue)\t\(channel)\t\(traceParent)\n".utf8) + json
  }
}

extension ScheduleKey {
  /// The key of an activity's last state: no request id has a tab.
  public init(app: String, environment: Environment, user: ExactText, activity: ExactText) {
    self.init(app: app, environment: environment, id: "\t\(user)\t\(activity)")
  }
}
