// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import SenderDecisions

extension FuzzTarget {
  /// `push.controls` as senders, the HTTP API and `martlet pause` and `pace` take it.
  static func controlRecords() -> FuzzTarget {
    FuzzTarget("control-records") { bytes in
      var script = HostileRecord(bytes)
      var (pauses, paces) = (Pauses(.standard), Paces(.standard))
      while !script.isAtEnd {
        let key = script.pick([
          "a:production", "lane:bulk", "lane:none", "pace:app:a:production", "pace:lane:bulk",
          "pace:group:g\(script.byte())", "pace:device:a:production:background", "campaign:c", "",
        ])
        let rate = script.pick(["1/s", "\(script.number())/m", "0/s", script.number(), "1/d"])
        let value =
          script.pick([#"{"paused":true"#, #"{"pace":"\#(rate)""#, #"{"cancelled":true"#])
          + script.member("at") + #","by":"ann","reason":"x"}"#
        let problem = value.utf8Bytes { value -> String? in
          _ = ControlRecord.Author(of: value)
          _ = ControlRecord.campaign(value)
          if let subject = PauseSubject(key: key) {
            _ = pauses.set(subject, isPaused: ControlRecord.isPaused(value) == true)
          }
          guard let subject = PaceSubject(key: key) else { return nil }
          let rate = (try? ControlRecord.pace(value)) ?? nil
          try? paces.set(subject, rate)
          return paces.count > PaceRoom.subjectsAtMost + Lanes.most ? "more paces than may be" : nil
        }
        if let problem { return problem }
      }
      return nil
    }
  }

  /// `push.requests` with numbers of every size, through ingest: what becomes of a request is a notification or a record
  /// of the schedule that can be read again.
  static func requestRecords() -> FuzzTarget {
    let reader = RequestReader()
    return FuzzTarget("request-records") { bytes in
      var script = HostileRecord(bytes)
      while !script.isAtEnd {
        let numbers = ["expiration", "expires_in", "send_at", "priority"]
          .map { script.member($0) }.joined()
        let text =
          #"{"app":"a","id":"1","token":"\#(HostileRecord.token)","payload":{"aps":{"badge":\#(script.number())}}"#
          + numbers + "}"
        let recordTime = max(-1, min(script.integer(), OutsideTime.last))
        let created = OutsideTime.received(recordTime: recordTime, now: HostileRecord.now)
        let header = Array("\(script.number()) \(script.number())".utf8)
        let problem = text.utf8Bytes { value -> String? in
          guard let request = try? reader.read(value) else { return nil }
          guard (try? request.checkSendAt(received: created)) != nil else { return nil }
          let released = header.lend { ScheduledRequest.released($0) }
          if let sendAt = request.sendAt {
            _ = SendTime.waits(
              sendAt, written: recordTime, requeuedAt: released?.requeuedAt, now: HostileRecord.now)
          }
          var encoder = EnvelopeEncoder()
          encoder.begin(request, created: request.sendAt ?? created)
          return unscheduled(request, released?.accepted ?? created, value)
        }
        if let problem { return problem }
      }
      return nil
    }
  }

  private static func unscheduled(
    _ request: borrowing PushRequest, _ accepted: Int64, _ value: UnsafeRawBufferPointer
  ) -> String? {
    let entry = ScheduledRequest(
      due: request.sendAt ?? accepted, accepted: accepted, requeuedAt: nil)
    var buffer = ByteBuffer()
    entry.append(
      to: &buffer, traceParent: UnsafeRawBufferPointer(start: nil, count: 0), request: value)
    return (try? ScheduleRecord(buffer.bytes)) == .request(entry)
      ? nil : "what waits cannot be read again"
  }
}
